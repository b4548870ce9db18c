// Device primitives of the kernels. A test has the same functions on the host, so that everything
// built on them runs there as well (tests/calibration/cuda/emulated_device.hpp).
#pragma once

#include <cuda_runtime.h>

namespace cclgym::device {

/// Nanoseconds of a clock shared by all SMs. Its resolution depends on the device (device_facts).
__device__ inline unsigned long long global_ns() {
  unsigned long long value;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value)::"memory");
  return value;
}

__device__ inline unsigned int sm_id() {
  unsigned int value;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(value));
  return value;
}

// Accesses that are neither cached in L1 nor moved by the compiler.
__device__ inline unsigned int load_volatile(const unsigned int* from) {
  return *static_cast<const volatile unsigned int*>(from);
}
__device__ inline unsigned long long load_volatile(const unsigned long long* from) {
  return *static_cast<const volatile unsigned long long*>(from);
}
__device__ inline void store_volatile(unsigned long long* to, unsigned long long value) {
  *static_cast<volatile unsigned long long*>(to) = value;
}

__device__ inline unsigned long long load_acquire(const unsigned long long* from) {
  unsigned long long value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];"
               : "=l"(value)
               : "l"(__cvta_generic_to_global(from))
               : "memory");
  return value;
}
__device__ inline void store_release(unsigned long long* to, unsigned long long value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "l"(value)
               : "memory");
}

struct Words {
  unsigned long long low;
  unsigned long long high;
};

__device__ inline Words load_words(const void* from) {
  Words words;
  asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(words.low), "=l"(words.high)
               : "l"(__cvta_generic_to_global(from))
               : "memory");
  return words;
}
__device__ inline void store_words(void* to, const Words& words) {
  asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)),
               "l"(words.low), "l"(words.high)
               : "memory");
}

/// A fixed word of the thread block's shared memory.
__device__ inline unsigned long long* shared_word() {
  __shared__ unsigned long long word;
  return &word;
}

/// Called in each turn of a waiting loop.
__device__ inline void wait_a_turn() {}

}  // namespace cclgym::device
