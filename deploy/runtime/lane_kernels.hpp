// The arithmetic of a small network in vectors of 16 floats, compiled for several instruction sets.
//
// Each sum is taken in an order that depends on the layer only, never on how wide the machine's
// vectors are, and nothing is contracted to fused multiply-add: the same bits everywhere. Ranks of
// a job that decide on machines of different kinds must decide alike, or the job hangs.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace cclgym {

inline constexpr std::size_t kLane = 16;

[[nodiscard]] constexpr std::size_t padded_to_lane(std::size_t n) {
  return (n + kLane - 1) / kLane * kLane;
}

/// Memory that begins with a line of the cache, so that no lane lies in two.
template <class Value>
struct LaneAllocator {
  using value_type = Value;
  static constexpr std::align_val_t kAlignment{4 * kLane};

  LaneAllocator() = default;
  template <class Other>
  explicit LaneAllocator(const LaneAllocator<Other>& /*other*/) {}
  Value* allocate(std::size_t n) {
    return static_cast<Value*>(::operator new(n * sizeof(Value), kAlignment));
  }
  void deallocate(Value* memory, std::size_t /*n*/) { ::operator delete(memory, kAlignment); }
  friend bool operator==(const LaneAllocator&, const LaneAllocator&) { return true; }
};
using LaneVector = std::vector<float, LaneAllocator<float>>;

/// W x + b, its weights in the order in which they are read (pack_affine).
struct AffineLayer {
  std::size_t inputs = 0;
  std::size_t rows = 0;            ///< a multiple of kLane
  const float* bias = nullptr;     ///< [rows]
  const float* weights = nullptr;  ///< [inputs * rows]
};

/// Where row-major weights [rows][inputs] go in AffineLayer::weights.
[[nodiscard]] std::size_t packed_place(const AffineLayer& layer, std::size_t row,
                                       std::size_t input);

/// The functions, for one instruction set.
struct LaneKernels {
  /// out[rows] = W in + b, or tanh of it if `tanh`; `start` in place of b.
  void (*affine)(const AffineLayer& layer, const float* start, const float* in, float* out,
                 bool tanh);
  /// x = clamp((o - shift) * scale, -limit, limit); what is not a number becomes `limit`.
  void (*normalise)(const float* o, const float* shift, const float* scale, float limit, float* x,
                    std::size_t n);
  /// An LSTM's cell: gates i, f, g, o of `units` (a multiple of kLane) numbers each.
  void (*cell)(const float* gates, const float* c, float* c_next, float* h_next, std::size_t units);
};

/// Those of the widest vectors that this machine has.
[[nodiscard]] const LaneKernels& lane_kernels();
/// Each that this machine can run, for tests.
[[nodiscard]] std::size_t lane_kernel_count();
[[nodiscard]] const LaneKernels& lane_kernels_at(std::size_t index);

}  // namespace cclgym
