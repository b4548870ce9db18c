// Time and bounded waits inside kernels. Every loop that waits for another thread uses a Watch, so
// that a protocol error ends the kernel and never hangs the device.
#pragma once

#ifndef CCLGYM_EMULATED_DEVICE
#include "calibration/cuda/kernels/device_primitives.cuh"
#endif

namespace cclgym::device {

/// Limit of a kernel's waits: a deadline, and a word that the first thread to give up sets, so that
/// all others give up, too.
class Watch {
 public:
  __device__ Watch(unsigned int* stopped, unsigned long long limit_ns)
      : stopped_(stopped), deadline_ns_(global_ns() + limit_ns) {}

  /// Called in each turn of a waiting loop; reads the clock only now and then.
  __device__ bool expired() {
    wait_a_turn();
    if ((++turns_ & 127u) != 0) return false;
    if (load_volatile(stopped_) != 0) return true;
    if (global_ns() < deadline_ns_) return false;
    atomicExch(stopped_, 1u);
    return true;
  }

 private:
  unsigned int* stopped_;
  unsigned long long deadline_ns_;
  unsigned int turns_ = 0;
};

/// Barrier over all `blocks` blocks of a kernel; `arrived` starts at 0. Returns false, in all
/// threads of the block, if the wait was given up.
__device__ inline bool meet(unsigned int* arrived, unsigned int blocks, Watch& watch) {
  bool met = true;
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    while (met && load_volatile(arrived) < blocks) met = !watch.expired();
    __threadfence();
  }
  return __syncthreads_and(met ? 1 : 0) != 0;
}

}  // namespace cclgym::device
