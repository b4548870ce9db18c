#include "env/gym/threaded_vector_env.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <unistd.h>

namespace cclgym {

// A command starts a new round: the threads wait for it, do their share, and report. The caller's
// thread is worker 0.
class ThreadedVectorEnv::Pool {
 public:
  Pool(ThreadedVectorEnv& owner, std::size_t workers) : owner_(owner), workers_(workers) {
    try {
      for (std::size_t worker = 1; worker < workers; ++worker) {
        threads_.emplace_back([this, worker] { work(worker); });
      }
    } catch (...) {  // the system has no more threads
      stop();
      throw;
    }
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { stop(); }

  [[nodiscard]] std::size_t workers() const { return workers_; }
  /// True in a process that was forked from the pool's: it has none of the threads.
  [[nodiscard]] bool forked() const { return ::getpid() != process_; }

  void run(Command command) {
    {
      const std::lock_guard lock(mutex_);
      command_ = command;
      working_ = threads_.size();
      ++round_;
    }
    begun_.notify_all();
    run_share(command, 0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return working_ == 0; });
  }

 private:
  /// Gives each worker a contiguous block, whose rows are adjacent in memory.
  void run_share(Command command, std::size_t worker) {
    const std::size_t end = owner_.size() * (worker + 1) / workers_;
    for (std::size_t i = owner_.size() * worker / workers_; i < end; ++i) {
      owner_.run_one(command, i);
    }
  }

  void work(std::size_t worker) {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      begun_.wait(lock, [&] { return stopping_ || round_ != seen; });
      if (stopping_) return;
      seen = round_;
      const Command command = command_;
      lock.unlock();
      run_share(command, worker);
      lock.lock();
      if (--working_ == 0) done_.notify_one();
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    begun_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  ThreadedVectorEnv& owner_;
  std::size_t workers_;
  pid_t process_ = ::getpid();
  std::mutex mutex_;
  std::condition_variable begun_;
  std::condition_variable done_;
  Command command_ = Command::Reset;
  std::uint64_t round_ = 0;
  std::size_t working_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

ThreadedVectorEnv::ThreadedVectorEnv(const std::vector<EnvironmentMaker>& makers,
                                     std::size_t workers, Autoreset autoreset)
    : VectorEnv(makers, autoreset) {
  if (workers < 1) throw std::invalid_argument("ThreadedVectorEnv: expected at least one worker");
  pool_ = std::make_unique<Pool>(*this, std::min(workers, size()));
}

ThreadedVectorEnv::~ThreadedVectorEnv() {
  // In a forked process, the threads cannot be joined, nor the mutex be used.
  if (pool_->forked()) static_cast<void>(pool_.release());
}

std::size_t ThreadedVectorEnv::workers() const { return pool_->workers(); }

void ThreadedVectorEnv::run_all(Command command) {
  if (pool_->forked()) {
    throw std::runtime_error(
        single_spec().name +
        ": the vector was made in another process, which has its threads; make it in this process, "
        "or start processes with spawn instead of fork");
  }
  pool_->run(command);
}

}  // namespace cclgym
