// A time limit for calls into NCCL and CUDA.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <fmt/core.h>
#include <iostream>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "calibration/cuda/worker_lines.hpp"

namespace cclgym {

/// Ends the process if a call into NCCL or CUDA takes too long: such a call cannot be cancelled,
/// but its kernels end with the process.
class Watchdog {
 public:
  explicit Watchdog(double limit_s) : limit_(limit_s), thread_([this] { watch(); }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Starts the time limit of a call.
  void busy(const std::string& what) {
    const std::lock_guard lock(mutex_);
    what_ = what;
    since_ = std::chrono::steady_clock::now();
    changed_.notify_all();
  }
  void idle() { busy({}); }
  /// The request that is answered with an error if its call hangs.
  void request(std::int64_t id) {
    const std::lock_guard lock(mutex_);
    id_ = id;
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!ended_) {
      changed_.wait_for(lock, std::chrono::milliseconds(200));
      if (ended_ || what_.empty()) continue;
      if (std::chrono::steady_clock::now() - since_ < limit_) continue;
      // The main thread is in the hanging call, so no other thread writes.
      const std::string why =
          fmt::format("{}: hung, given up after {:.0f} s", what_, limit_.count());
      std::ostringstream line;
      if (id_ >= 0) {
        std::istringstream request(fmt::format("{{\"id\":{},\"cell\":{{}}}}\n", id_));
        serve(request, line,
              [&](const WorkerRequest&) -> WorkerAnswer { throw std::runtime_error(why); });
      }
      std::cout << line.str() << std::flush;
      std::cerr << "cclgym-nccl-worker: " << why << std::endl;
      std::_Exit(1);
    }
  }

  std::chrono::duration<double> limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  std::int64_t id_ = -1;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace cclgym
