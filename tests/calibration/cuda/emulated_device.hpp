// Thread blocks, warps, barriers and votes of a GPU on the host: each thread is a fiber, and all
// fibers run in turn in one thread of the host. A fiber runs until it waits, and the fibers of a
// warp follow each other, so that everything a warp stores between two waits appears at once, as
// LL128 requires.
//
// Include this header before the headers of kernels.
#pragma once

#define CCLGYM_EMULATED_DEVICE

#include <cstdint>
#include <cstring>
#include <cuda_runtime_api.h>
#include <functional>
#include <memory>
#include <ucontext.h>
#include <vector>

#undef __launch_bounds__
#define __launch_bounds__(...)

namespace cclgym::emulated {

/// Threads that meet at a barrier: all threads of a block or of a warp.
struct Group {
  unsigned int members = 0;
  unsigned int arrived = 0;
  bool all = true;
  bool any = false;
  bool last_all = false;
  bool last_any = false;
  std::uint64_t round = 0;
};

struct Block {
  unsigned int index = 0;
  Group group;
  std::vector<Group> warps;
  unsigned long long shared_word = 0;
};

struct Fiber {
  ucontext_t context{};
  std::vector<char> stack;
  Block* block = nullptr;
  unsigned int thread = 0;
  bool ended = false;
};

struct Index {
  unsigned int x = 0;
};

class Device {
 public:
  /// Runs `kernel` on the blocks of a grid of `blocks` for which `present` is true. Returns when
  /// all fibers have ended.
  void run(
      unsigned int blocks, unsigned int threads, const std::function<void()>& kernel,
      const std::function<bool(unsigned int)>& present = [](unsigned int) { return true; });

  void yield() { ::swapcontext(&current_->context, &scheduler_); }
  void meet(Group& group, bool value) {
    group.all = group.all && value;
    group.any = group.any || value;
    const std::uint64_t round = group.round;
    if (++group.arrived == group.members) {
      group.last_all = group.all;
      group.last_any = group.any;
      group.all = true;
      group.any = false;
      group.arrived = 0;
      ++group.round;
      yield();  // keeps the fibers of a warp in order
    }
    while (group.round == round) yield();
  }
  [[nodiscard]] Fiber& current() const { return *current_; }
  unsigned long long clock_ns = 0;
  unsigned int blocks = 0;
  unsigned int threads = 0;

 private:
  static void enter();
  static void prepare(Fiber& fiber, Block& block, unsigned int thread);
  ucontext_t scheduler_{};
  Fiber* current_ = nullptr;
  const std::function<void()>* kernel_ = nullptr;
};

/// The device of the kernel that is running.
inline Device*& device() {
  static Device* running = nullptr;
  return running;
}

inline void Device::enter() {
  Device& self = *device();
  (*self.kernel_)();
  self.current_->ended = true;
  self.yield();
}

inline void Device::prepare(Fiber& fiber, Block& block, unsigned int thread) {
  constexpr std::size_t kStack = 64 * 1024;
  fiber.stack.resize(kStack);
  fiber.block = &block;
  fiber.thread = thread;
  ::getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.data();
  fiber.context.uc_stack.ss_size = kStack;
  ::makecontext(&fiber.context, &Device::enter, 0);
}

inline void Device::run(unsigned int block_count, unsigned int thread_count,
                        const std::function<void()>& kernel,
                        const std::function<bool(unsigned int)>& present) {
  constexpr unsigned int kWarp = 32;
  device() = this;
  kernel_ = &kernel;
  blocks = block_count;
  threads = thread_count;
  std::vector<Block> grid(block_count);
  std::vector<std::unique_ptr<Fiber>> fibers;
  for (unsigned int b = 0; b < block_count; ++b) {
    grid[b].index = b;
    grid[b].group.members = thread_count;
    grid[b].warps.resize(thread_count / kWarp);
    for (Group& warp : grid[b].warps) warp.members = kWarp;
    for (unsigned int t = 0; present(b) && t < thread_count; ++t) {
      fibers.push_back(std::make_unique<Fiber>());
      prepare(*fibers.back(), grid[b], t);
    }
  }
  for (bool left = true; left;) {
    left = false;
    for (const auto& fiber : fibers) {
      if (fiber->ended) continue;
      left = true;
      current_ = fiber.get();
      ::swapcontext(&scheduler_, &fiber->context);
    }
  }
  device() = nullptr;
}

}  // namespace cclgym::emulated

// Names defined by CUDA.
// NOLINTBEGIN
#define threadIdx (cclgym::emulated::Index{cclgym::emulated::device()->current().thread})
#define blockIdx (cclgym::emulated::Index{cclgym::emulated::device()->current().block->index})
#define blockDim (cclgym::emulated::Index{cclgym::emulated::device()->threads})
#define gridDim (cclgym::emulated::Index{cclgym::emulated::device()->blocks})

inline int __syncthreads_and(int value) {
  auto& device = *cclgym::emulated::device();
  auto& group = device.current().block->group;
  device.meet(group, value != 0);
  return group.last_all ? 1 : 0;
}
inline void __syncthreads() { (void)__syncthreads_and(1); }
inline int __any_sync(unsigned int, bool value) {
  auto& device = *cclgym::emulated::device();
  auto& warp = device.current().block->warps[device.current().thread / 32];
  device.meet(warp, value);
  return warp.last_any ? 1 : 0;
}
inline void __threadfence() {}
inline void __threadfence_system() {}
inline unsigned int atomicAdd(unsigned int* to, unsigned int value) {
  const unsigned int before = *to;
  *to += value;
  return before;
}
inline unsigned int atomicExch(unsigned int* to, unsigned int value) {
  const unsigned int before = *to;
  *to = value;
  return before;
}
inline float __uint_as_float(unsigned int bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline unsigned int __float_as_uint(float value) {
  unsigned int bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
// NOLINTEND

// The primitives of device_primitives.cuh.
namespace cclgym::device {

inline unsigned long long global_ns() { return emulated::device()->clock_ns += 10; }
inline unsigned int sm_id() { return emulated::device()->current().block->index; }
inline unsigned int load_volatile(const unsigned int* from) { return *from; }
inline unsigned long long load_volatile(const unsigned long long* from) { return *from; }
inline void store_volatile(unsigned long long* to, unsigned long long value) { *to = value; }
inline unsigned long long load_acquire(const unsigned long long* from) { return *from; }
inline void store_release(unsigned long long* to, unsigned long long value) { *to = value; }
struct Words {
  unsigned long long low;
  unsigned long long high;
};
inline Words load_words(const void* from) {
  Words words;
  std::memcpy(&words, from, sizeof words);
  return words;
}
inline void store_words(void* to, const Words& words) { std::memcpy(to, &words, sizeof words); }
inline unsigned long long* shared_word() {
  return &emulated::device()->current().block->shared_word;
}
inline void wait_a_turn() { emulated::device()->yield(); }

}  // namespace cclgym::device
