// Vector environment with worker threads.
#pragma once

#include <memory>

#include "env/gym/vector_env.hpp"

namespace cclgym {

/// Divides the environments into one contiguous block per worker: the caller's thread and threads
/// that live as long as the object. The results are bit-identical to those of SyncVectorEnv for any
/// number of workers.
class ThreadedVectorEnv : public VectorEnv {
 public:
  /// `workers` >= 1; at most one per environment is started. In a process forked from the one that
  /// made the vector, reset and step throw std::runtime_error.
  ThreadedVectorEnv(const std::vector<EnvironmentMaker>& makers, std::size_t workers,
                    Autoreset autoreset = Autoreset::NextStep);
  ~ThreadedVectorEnv() override;

  [[nodiscard]] std::size_t workers() const;

 private:
  void run_all(Command command) override;

  class Pool;
  std::unique_ptr<Pool> pool_;
};

}  // namespace cclgym
