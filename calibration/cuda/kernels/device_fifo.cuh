// Messages between thread blocks through FIFOs of 8 slots, by the three protocols of NCCL:
//
// LL      every 8 bytes of a slot are 4 of data and a flag of 4, written at once. The receiver
//         waits until the flag has the number of the step.
// LL128   every 128 bytes of a slot are 120 of data and a flag of 8, written by 8 lanes of a warp
//         at once. The eighth lane checks the flag; the warp votes.
// Simple  the slot has data only; when all of it is written, a fence and a step counter follow.
//
// A sender may be 8 steps ahead of the head, the count of slots handed back by the receiver. As in
// NCCL it reads the head only when its last known value does not suffice.
#pragma once

#include <cstddef>

#include "calibration/cuda/kernels/device_clock.cuh"
#include "calibration/cuda/kernels/exchange_kernels.hpp"

namespace cclgym::device {

// Adds two floats per word.
__device__ inline unsigned long long add_floats(unsigned long long a, unsigned long long b) {
  const float low =
      __uint_as_float(static_cast<unsigned int>(a)) + __uint_as_float(static_cast<unsigned int>(b));
  const float high = __uint_as_float(static_cast<unsigned int>(a >> 32)) +
                     __uint_as_float(static_cast<unsigned int>(b >> 32));
  return static_cast<unsigned long long>(__float_as_uint(low)) |
         (static_cast<unsigned long long>(__float_as_uint(high)) << 32);
}
__device__ inline Words add_floats(const Words& a, const Words& b) {
  return {add_floats(a.low, b.low), add_floats(a.high, b.high)};
}

/// One block's ends of two FIFOs: it receives from one and sends into the other. All threads of the
/// block (a multiple of 32) take part in every step.
template <FifoProtocol kProtocol>
class Exchange {
 public:
  __device__ Exchange(const Fifo& from, const Fifo& to, const Watch& watch)
      : from_(from), to_(to), watch_(watch) {}

  /// Moves the next message, `bytes` (a multiple of 16, at most a slot's) of floats:
  ///   value = received (if kReceive) + input (if kInput), sent on if kSend, stored if kOutput.
  /// Returns false, in all threads, if a wait was given up.
  template <bool kReceive, bool kSend, bool kInput, bool kOutput>
  __device__ bool step(const float* input, float* output, std::size_t bytes) {
    bool good = true;
    if constexpr (kProtocol == FifoProtocol::Simple) {
      if (kReceive && threadIdx.x == 0) {
        while (good && load_acquire(from_.tail) <= received_) good = !watch_.expired();
      }
      if (kSend) good = wait_for_slot() && good;
      if (__syncthreads_and(good ? 1 : 0) == 0) return false;
      learn_head<kSend>();
      move_simple<kReceive, kSend, kInput, kOutput>(input, output, bytes);
    } else {
      if (kSend) good = wait_for_slot();
      if (__syncthreads_and(good ? 1 : 0) == 0) return false;
      learn_head<kSend>();
      if constexpr (kProtocol == FifoProtocol::LL) {
        good = move_ll<kReceive, kSend, kInput, kOutput>(input, output, bytes);
      } else {
        good = move_ll128<kReceive, kSend, kInput, kOutput>(input, output, bytes);
      }
    }
    if (__syncthreads_and(good ? 1 : 0) == 0) return false;
    if (kSend) {
      ++sent_;
      if (kProtocol == FifoProtocol::Simple && threadIdx.x == 0) {
        __threadfence_system();
        store_release(to_.tail, sent_);
      }
    }
    if (kReceive) {
      ++received_;
      if (threadIdx.x == 0) store_volatile(from_.head, received_);
    }
    return true;
  }

 private:
  static constexpr unsigned int kWarp = 32;
  static constexpr unsigned int kAllLanes = 0xffffffffu;

  __device__ const char* received_slot() const {
    return from_.slots + (received_ % kFifoSlots) * from_.slot_bytes;
  }
  __device__ char* sent_slot() const { return to_.slots + (sent_ % kFifoSlots) * to_.slot_bytes; }

  // The last thread reads the head; learn_head() tells the others after the following barrier.
  __device__ bool wait_for_slot() {
    if (sent_ - head_seen_ < kFifoSlots || threadIdx.x != blockDim.x - 1) return true;
    unsigned long long head = load_volatile(to_.head);
    while (sent_ - head >= kFifoSlots) {
      if (watch_.expired()) return false;
      head = load_volatile(to_.head);
    }
    *shared_word() = head;
    return true;
  }
  // The barrier at the end of the step separates this read from the next write of the shared word.
  template <bool kSend>
  __device__ void learn_head() {
    if (kSend && sent_ - head_seen_ >= kFifoSlots) head_seen_ = *shared_word();
  }

  template <bool kReceive, bool kSend, bool kInput, bool kOutput>
  __device__ void move_simple(const float* input, float* output, std::size_t bytes) {
    constexpr int kUnroll = 4;
    const std::size_t vectors = bytes / sizeof(Words);
    const char* in = reinterpret_cast<const char*>(input);
    const char* received = received_slot();
    char* sent = sent_slot();
    char* out = reinterpret_cast<char*>(output);
    const std::size_t lane = threadIdx.x % kWarp;
    const std::size_t stride = std::size_t{blockDim.x} * kUnroll;
    for (std::size_t base = std::size_t{threadIdx.x / kWarp} * kWarp * kUnroll; base < vectors;
         base += stride) {
      Words values[kUnroll];
      Words added[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {  // all loads before the first use
        const std::size_t at = base + lane + static_cast<std::size_t>(u) * kWarp;
        if (at >= vectors) continue;
        values[u] = kReceive ? load_words(received + at * sizeof(Words))
                             : load_words(in + at * sizeof(Words));
        if (kReceive && kInput) added[u] = load_words(in + at * sizeof(Words));
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const std::size_t at = base + lane + static_cast<std::size_t>(u) * kWarp;
        if (at >= vectors) continue;
        if (kReceive && kInput) values[u] = add_floats(values[u], added[u]);
        if (kSend) store_words(sent + at * sizeof(Words), values[u]);
        if (kOutput) store_words(out + at * sizeof(Words), values[u]);
      }
    }
  }

  template <bool kReceive, bool kSend, bool kInput, bool kOutput>
  __device__ bool move_ll(const float* input, float* output, std::size_t bytes) {
    const std::size_t lines = bytes / sizeof(unsigned long long);
    const auto* in = reinterpret_cast<const unsigned long long*>(input);
    auto* out = reinterpret_cast<unsigned long long*>(output);
    const char* received = received_slot();
    char* sent = sent_slot();
    const auto receive_flag = static_cast<unsigned int>(received_ + 1);
    const auto send_flag = static_cast<unsigned long long>(static_cast<unsigned int>(sent_ + 1));
    for (std::size_t line = threadIdx.x; line < lines; line += blockDim.x) {
      unsigned long long value = 0;
      if (kInput) value = load_volatile(in + line);
      if (kReceive) {
        Words words = load_words(received + line * sizeof(Words));
        while (static_cast<unsigned int>(words.low >> 32) != receive_flag ||
               static_cast<unsigned int>(words.high >> 32) != receive_flag) {
          if (watch_.expired()) return false;
          words = load_words(received + line * sizeof(Words));
        }
        const unsigned long long data = (words.low & 0xffffffffull) | (words.high << 32);
        value = kInput ? add_floats(data, value) : data;
      }
      if (kSend) {
        store_words(sent + line * sizeof(Words), {(value & 0xffffffffull) | (send_flag << 32),
                                                  (value >> 32) | (send_flag << 32)});
      }
      if (kOutput) store_volatile(out + line, value);
    }
    return true;
  }

  // A warp moves kLl128SliceBytes of data (120 vectors of 16 bytes) in 2,048 bytes of a slot: four
  // vectors per lane. A flag lane has room for 8 bytes in each of its vectors, so it takes one
  // vector of data for two of the slot; the vector's second half goes into the second.
  template <bool kReceive, bool kSend, bool kInput, bool kOutput>
  __device__ bool move_ll128(const float* input, float* output, std::size_t bytes) {
    constexpr int kVectors = 4;
    const unsigned int lane = threadIdx.x % kWarp;
    const bool flag_lane = lane % 8 == 7;
    const std::size_t warp = threadIdx.x / kWarp;
    const std::size_t warps = blockDim.x / kWarp;
    const unsigned long long receive_flag = received_ + 1;
    const unsigned long long send_flag = sent_ + 1;
    // Index of this lane's vector v among the slice's data vectors. Odd vectors of flag lanes have
    // no data.
    const auto place = [&](int v) -> unsigned int {
      const unsigned int pair = static_cast<unsigned int>(v / 2) * 60;
      return v % 2 == 0 ? pair + lane : pair + kWarp + lane - lane / 8;
    };
    const auto has_data = [&](int v) { return v % 2 == 0 || !flag_lane; };
    for (std::size_t slice = warp; slice * kLl128SliceBytes < bytes; slice += warps) {
      const std::size_t left = (bytes - slice * kLl128SliceBytes) / sizeof(Words);
      const char* in = reinterpret_cast<const char*>(input) + slice * kLl128SliceBytes;
      char* out = reinterpret_cast<char*>(output) + slice * kLl128SliceBytes;
      const std::size_t wire = slice * kLl128WireBytes + lane * sizeof(Words);
      Words values[kVectors];
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        values[v] = {0, 0};
        if (kInput && has_data(v) && place(v) < left) {
          values[v] = load_words(in + place(v) * sizeof(Words));
        }
      }
      Words arrived[kVectors];
      if (kReceive) {
        const char* slot = received_slot() + wire;
        while (true) {
          bool missing = false;
#pragma unroll
          for (int v = 0; v < kVectors; ++v) {
            arrived[v] = load_words(slot + static_cast<std::size_t>(v) * kWarp * sizeof(Words));
            missing |= flag_lane && arrived[v].high != receive_flag;
          }
          if (__any_sync(kAllLanes, missing) == 0) break;
          if (__any_sync(kAllLanes, watch_.expired()) != 0) return false;
        }
        // Data that other lanes loaded beside the flags may be older than the flags: load it again.
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
          arrived[v] = load_words(slot + static_cast<std::size_t>(v) * kWarp * sizeof(Words));
        }
      }
      if (flag_lane) {  // the layout in the slot
#pragma unroll
        for (int v = 0; v < kVectors; v += 2) values[v + 1].low = values[v].high;
      }
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        if (kReceive) values[v] = kInput ? add_floats(arrived[v], values[v]) : arrived[v];
        if (kSend) {
          store_words(sent_slot() + wire + static_cast<std::size_t>(v) * kWarp * sizeof(Words),
                      {values[v].low, flag_lane ? send_flag : values[v].high});
        }
      }
      if (kOutput) {
        if (flag_lane) {
#pragma unroll
          for (int v = 0; v < kVectors; v += 2) values[v].high = values[v + 1].low;
        }
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
          if (has_data(v) && place(v) < left) {
            store_words(out + place(v) * sizeof(Words), values[v]);
          }
        }
      }
    }
    return true;
  }

  Fifo from_;
  Fifo to_;
  Watch watch_;
  unsigned long long received_ = 0;   ///< steps received
  unsigned long long sent_ = 0;       ///< steps sent
  unsigned long long head_seen_ = 0;  ///< last known number of steps that the receiver has handed
                                      ///< back
};

}  // namespace cclgym::device
