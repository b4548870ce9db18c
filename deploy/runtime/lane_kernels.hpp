// The arithmetic of a small network in vectors of 16 floats, compiled for several instruction sets.
//
// Results are the same bits everywhere: the order of each sum depends only on the layer, never on
// the width of the CPU's vectors, and nothing is contracted to fused multiply-add. Ranks of a job
// on nodes with different CPUs must make the same decisions; otherwise the job hangs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace cclgym {

inline constexpr std::size_t kLane = 16;

[[nodiscard]] constexpr std::size_t padded_to_lane(std::size_t n) {
  return (n + kLane - 1) / kLane * kLane;
}

/// Allocates memory aligned to cache lines, so that no lane spans two lines.
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

/// W x + b. The weights of kLane rows are adjacent, in the order of the inputs (packed_place).
struct AffineLayer {
  std::size_t inputs = 0;
  std::size_t rows = 0;            ///< a multiple of kLane
  const float* bias = nullptr;     ///< [rows]
  const float* weights = nullptr;  ///< [inputs * rows]
};

/// Index in AffineLayer::weights of an element of row-major weights [rows][inputs].
[[nodiscard]] constexpr std::size_t packed_place(std::size_t inputs, std::size_t row,
                                                 std::size_t input) {
  return (row / kLane * inputs + input) * kLane + row % kLane;
}

/// A knob's head: logits = out(tanh(hidden(z) + the sum of `choices`)).
struct KnobHead {
  AffineLayer hidden;
  AffineLayer out;  ///< inputs: hidden.rows; rows: the knob's levels, padded, one or two lanes
  const float* const* choices = nullptr;  ///< [count], each of hidden.rows numbers
  std::size_t count = 0;
};

/// The functions for one instruction set.
struct LaneKernels {
  /// out[rows] = W in + b, or tanh of it if `tanh`.
  void (*affine)(const AffineLayer& layer, const float* in, float* out, bool tanh);
  /// x = clamp((o - shift) * scale, -limit, limit); NaN becomes `limit`. Returns whether all n
  /// numbers o are finite.
  bool (*normalise)(const float* o, const float* shift, const float* scale, float limit, float* x,
                    std::size_t n);
  /// An LSTM's cell: gates i, f, g, o of `units` (a multiple of kLane) numbers each.
  void (*cell)(const float* gates, const float* c, float* c_next, float* h_next, std::size_t units);
  /// Computes a knob's logits, all lanes. Returns the level with the largest logit, the first of
  /// equal ones, among those whose bit in `legal` is set (at least one).
  std::size_t (*knob)(const KnobHead& head, const float* z, float* logits, std::uint32_t legal);
};

/// The functions for the widest vectors of this CPU.
[[nodiscard]] const LaneKernels& lane_kernels();
/// All instruction sets that this CPU can run, for tests.
[[nodiscard]] std::size_t lane_kernel_count();
[[nodiscard]] const LaneKernels& lane_kernels_at(std::size_t index);

}  // namespace cclgym
