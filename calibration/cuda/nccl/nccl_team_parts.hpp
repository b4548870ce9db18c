// Parts of NcclTeam. Internal to nccl_team.cpp and nccl_calls.cpp.
#pragma once

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "calibration/cuda/nccl/nccl_team.hpp"

namespace cclgym {

/// One rank's device, stream and memory.
struct NcclTeam::Rank {
  int device = 0;
  std::unique_ptr<CudaStream> stream;
  std::unique_ptr<CudaEvent> begin;
  std::unique_ptr<CudaEvent> end;
  CudaMemory send;
  CudaMemory receive;
  CudaMemory wrong;
  CudaMemory start;  ///< one byte for the calls of NcclTeam::starts_
};

struct NcclTeam::Communicator {
  TeamConfig config;
  std::vector<ncclComm_t> ranks;
};

/// A barrier of threads that spins, so that all leave it at once; with fewer cores than threads it
/// yields. After one thread fails, all that arrive or wait throw.
class NcclTeam::Meeting {
 public:
  explicit Meeting(std::size_t threads) : threads_(threads) {}

  void wait() {
    const std::size_t round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    for (unsigned int turn = 1; round_.load(std::memory_order_acquire) == round; ++turn) {
      if (failed()) throw std::runtime_error("another rank failed");
      if (turn % 2048 == 0) std::this_thread::yield();
    }
  }
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_relaxed); }
  /// True for the first thread that reports a failure.
  bool fail() { return !failed_.exchange(true); }

 private:
  std::size_t threads_;
  std::atomic<std::size_t> arrived_{0};
  std::atomic<std::size_t> round_{0};
  std::atomic<bool> failed_{false};
};

}  // namespace cclgym
