#include "deploy/runtime/lane_kernels.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <array>
#include <bit>
#include <limits>

namespace cclgym {

namespace {

// Inlined, so that each instruction set gets its own body.
#define CCLGYM_INLINE __attribute__((always_inline)) inline

// A vector register of `floats` numbers. GCC computes wider vectors in memory, at a tenth of the
// speed. States are the caller's memory and only as aligned as a float.
template <std::size_t floats>
struct Register;
#define CCLGYM_REGISTER(floats)                                                                 \
  template <>                                                                                   \
  struct Register<floats> {                                                                     \
    using Float = float __attribute__((vector_size(4 * (floats)), aligned(4), may_alias));      \
    using Int = std::int32_t __attribute__((vector_size(4 * (floats)), aligned(4), may_alias)); \
  };
CCLGYM_REGISTER(4)
CCLGYM_REGISTER(8)
CCLGYM_REGISTER(16)

template <std::size_t floats>
using FloatVector = typename Register<floats>::Float;
template <std::size_t floats>
using IntVector = typename Register<floats>::Int;

// The numbers at a pointer that is only as aligned as a float. Clang forgets the alignment of a
// vector type in a template, but not that of a packed member.
template <std::size_t floats>
struct __attribute__((packed, aligned(4), may_alias)) Unaligned {
  FloatVector<floats> lanes;
};
template <std::size_t floats>
CCLGYM_INLINE Unaligned<floats>* vector_at(float* p) {
  return reinterpret_cast<Unaligned<floats>*>(p);
}
template <std::size_t floats>
CCLGYM_INLINE const Unaligned<floats>* vector_at(const float* p) {
  return reinterpret_cast<const Unaligned<floats>*>(p);
}

// tanh within 4e-7: an odd polynomial of degree 13 by an even one of degree 6, a rational minimax
// approximation (Eigen, ptanh_float), with its terms in pairs (Estrin), so that multiplications
// wait less for each other. NaN becomes 1 or -1.
template <std::size_t floats>
CCLGYM_INLINE void hyperbolic_tangent(FloatVector<floats>& x) {
  using Vector = FloatVector<floats>;
  using Ints = IntVector<floats>;
  // tanh rounds to 1 from here on. The bits of numbers without sign are ordered as the numbers are.
  constexpr auto kMost = std::bit_cast<std::int32_t>(7.90531110763549805F);
  constexpr std::int32_t kSign = std::numeric_limits<std::int32_t>::min();
  const Ints bits = reinterpret_cast<const Ints&>(x);
  const Ints above = (bits & ~kSign) - kMost;
  const Ints clamped = (kMost + (above & (above >> 31))) | (bits & kSign);
  x = reinterpret_cast<const Vector&>(clamped);
  const Vector u = x * x;
  const Vector u2 = u * u;
  const Vector u4 = u2 * u2;
  const Vector p1 = u * 6.37261928875436e-04F + 4.89352455891786e-03F;
  const Vector p5 = u * 5.12229709037114e-08F + 1.48572235717979e-05F;
  const Vector p9 = u * 2.00018790482477e-13F + -8.60467152213735e-11F;
  const Vector p = (p1 + p5 * u2) + (p9 + u2 * -2.76076847742355e-16F) * u4;
  const Vector q0 = u * 2.26843463243900e-03F + 4.89352518554385e-03F;
  const Vector q4 = u * 1.19825839466702e-06F + 1.18534705686654e-04F;
  x = (x * p) / (q0 + q4 * u2);
}

// 1 / (1 + exp(-x)) = (1 + tanh(x / 2)) / 2.
template <std::size_t floats>
CCLGYM_INLINE void sigmoid(FloatVector<floats>& x) {
  x *= 0.5F;
  hyperbolic_tangent<floats>(x);
  x = x * 0.5F + 0.5F;
}

// The sums of `floats` rows of a layer from `row` on. A sum has four parts, so that additions do
// not wait for each other.
template <std::size_t floats>
CCLGYM_INLINE void affine_rows(const AffineLayer& layer, std::size_t row, const float* in,
                               FloatVector<floats>& sum) {
  using Vector = FloatVector<floats>;
  const float* w = layer.weights + packed_place(layer.inputs, row, 0);
  Vector parts[4] = {vector_at<floats>(layer.bias + row)->lanes, Vector{}, Vector{}, Vector{}};
  std::size_t input = 0;
  for (; input + 4 <= layer.inputs; input += 4, w += 4 * kLane) {
    for (std::size_t part = 0; part < 4; ++part) {
      parts[part] += vector_at<floats>(w + part * kLane)->lanes * in[input + part];
    }
  }
  for (; input < layer.inputs; ++input, w += kLane)
    parts[0] += vector_at<floats>(w)->lanes * in[input];
  sum = (parts[0] + parts[1]) + (parts[2] + parts[3]);
}

template <std::size_t floats>
CCLGYM_INLINE void affine_body(const AffineLayer& layer, const float* in, float* out, bool tanh) {
  for (std::size_t row = 0; row < layer.rows; row += floats) {
    FloatVector<floats> sum;
    affine_rows<floats>(layer, row, in, sum);
    if (tanh) hyperbolic_tangent<floats>(sum);
    vector_at<floats>(out + row)->lanes = sum;
  }
}

CCLGYM_INLINE bool normalise_body(const float* o, const float* shift, const float* scale,
                                  float limit, float* x, std::size_t n) {
  std::uint32_t odd = 0;
  for (std::size_t i = 0; i < n; ++i) {
    float value = (o[i] - shift[i]) * scale[i];
    value = value < limit ? value : limit;
    x[i] = value > -limit ? value : -limit;
    // The exponent of infinity and of what is no number has all bits set.
    const std::uint32_t exponent = std::bit_cast<std::uint32_t>(o[i]) << 1;
    odd |= static_cast<std::uint32_t>(exponent >= 0xff000000U);
  }
  return odd == 0;
}

template <std::size_t floats>
CCLGYM_INLINE void cell_body(const float* gates, const float* c, float* c_next, float* h_next,
                             std::size_t units) {
  using Vector = FloatVector<floats>;
  for (std::size_t at = 0; at < units; at += floats) {
    Vector i = vector_at<floats>(gates + at)->lanes;
    Vector f = vector_at<floats>(gates + units + at)->lanes;
    Vector g = vector_at<floats>(gates + 2 * units + at)->lanes;
    Vector o = vector_at<floats>(gates + 3 * units + at)->lanes;
    sigmoid<floats>(i);
    sigmoid<floats>(f);
    hyperbolic_tangent<floats>(g);
    sigmoid<floats>(o);
    const Vector next = f * vector_at<floats>(c + at)->lanes + i * g;
    vector_at<floats>(c_next + at)->lanes = next;
    Vector h = next;
    hyperbolic_tangent<floats>(h);
    vector_at<floats>(h_next + at)->lanes = o * h;
  }
}

// Puts the largest number of a register into all of its places.
template <std::size_t floats>
CCLGYM_INLINE void spread_largest(FloatVector<floats>& x) {
#define CCLGYM_FOLD(...)                                                          \
  {                                                                               \
    const FloatVector<floats> moved = __builtin_shufflevector(x, x, __VA_ARGS__); \
    x = x > moved ? x : moved;                                                    \
  }
  if constexpr (floats == 16) {
    CCLGYM_FOLD(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
    CCLGYM_FOLD(4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11)
    CCLGYM_FOLD(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)
    CCLGYM_FOLD(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)
  } else if constexpr (floats == 8) {
    CCLGYM_FOLD(4, 5, 6, 7, 0, 1, 2, 3)
    CCLGYM_FOLD(2, 3, 0, 1, 6, 7, 4, 5)
    CCLGYM_FOLD(1, 0, 3, 2, 5, 4, 7, 6)
  } else {
    CCLGYM_FOLD(2, 3, 0, 1)
    CCLGYM_FOLD(1, 0, 3, 2)
  }
#undef CCLGYM_FOLD
}

// The set of places at which two registers are equal, one bit per place.
#define CCLGYM_TWO(floats) const FloatVector<floats>&x, const FloatVector<floats>&y
CCLGYM_INLINE std::uint32_t equal_plain(CCLGYM_TWO(4)) {
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < 4; ++i) bits |= static_cast<std::uint32_t>(x[i] == y[i]) << i;
  return bits;
}
#if defined(__x86_64__)
#define CCLGYM_AVX2 __attribute__((target("avx2")))
#define CCLGYM_AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
CCLGYM_AVX2 CCLGYM_INLINE std::uint32_t equal_avx2(CCLGYM_TWO(8)) {
  return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(x, y, _CMP_EQ_OQ)));
}
CCLGYM_AVX512 CCLGYM_INLINE std::uint32_t equal_avx512(CCLGYM_TWO(16)) {
  return _mm512_cmp_ps_mask(x, y, _CMP_EQ_OQ);
}
#endif

// The logits of a knob, and in `best` the largest legal one, in all places. `lanes` is the number
// of lanes of logits, `hidden_lanes` that of hidden units, or 0 for any number: one lane of each,
// which is the usual size, needs fewer instructions.
template <std::size_t floats, std::size_t lanes, std::size_t hidden_lanes>
CCLGYM_INLINE void knob_body(const KnobHead& head, const float* z, float* logits,
                             std::uint32_t legal, FloatVector<floats>& best) {
  using Vector = FloatVector<floats>;
  constexpr std::size_t kOut = lanes * kLane / floats;
  Vector sums[kOut][4];
  for (std::size_t i = 0; i < kOut; ++i) {
    sums[i][0] = vector_at<floats>(head.out.bias + i * floats)->lanes;
    for (std::size_t part = 1; part < 4; ++part) sums[i][part] = Vector{};
  }
  const std::size_t rows = hidden_lanes > 0 ? hidden_lanes * kLane : head.hidden.rows;
  for (std::size_t lane = 0; lane < rows; lane += kLane) {
    alignas(4 * kLane) float units[kLane];
    for (std::size_t i = 0; i < kLane; i += floats) {
      const std::size_t row = lane + i;
      Vector x;
      affine_rows<floats>(head.hidden, row, z, x);
      // Last, so that the CPU computes the sum above while it still decides the knob before.
      for (std::size_t j = 0; j < head.count; ++j)
        x += vector_at<floats>(head.choices[j] + row)->lanes;
      hyperbolic_tangent<floats>(x);
      vector_at<floats>(units + i)->lanes = x;
    }
    const float* w = head.out.weights + lane * kLane;
#pragma GCC unroll 16
    for (std::size_t unit = 0; unit < kLane; ++unit) {
      for (std::size_t i = 0; i < kOut; ++i) {
        const std::size_t row = i * floats;
        sums[i][unit % 4] +=
            vector_at<floats>(w + packed_place(rows, row, unit))->lanes * units[unit];
      }
    }
  }
  IntVector<floats> bits;
  for (std::size_t i = 0; i < floats; ++i) bits[i] = 1 << i;
  const Vector least = Vector{} - std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < kOut; ++i) {
    Vector sum = (sums[i][0] + sums[i][1]) + (sums[i][2] + sums[i][3]);
    vector_at<floats>(logits + i * floats)->lanes = sum;
    const auto here = static_cast<std::int32_t>(legal >> (i * floats));
    sum = (bits & here) != 0 ? sum : least;
    if (i == 0) {
      best = sum;
    } else {
      best = best > sum ? best : sum;
    }
  }
  spread_largest<floats>(best);
}

// The first of the legal levels whose logit is `best`. If a legal logit is no number, the largest
// one depends on the order of comparisons: then the first legal level.
#define CCLGYM_FIRST(set, floats, rows)                                   \
  std::uint32_t found = 0;                                                \
  std::uint32_t numbers = 0;                                              \
  for (std::size_t row = 0; row < (rows); row += (floats)) {              \
    const FloatVector<floats> x = vector_at<floats>(logits + row)->lanes; \
    found |= equal_##set(x, best) << row;                                 \
    numbers |= equal_##set(x, x) << row;                                  \
  }                                                                       \
  found = (numbers & legal) == legal ? found & legal : legal;             \
  return static_cast<std::size_t>(std::countr_zero(found));

// The functions for one instruction set. The attribute is empty for the baseline.
#define CCLGYM_KERNELS(set, Set, floats, attribute)                                               \
  attribute void affine_##set(const AffineLayer& layer, const float* in, float* out, bool tanh) { \
    affine_body<floats>(layer, in, out, tanh);                                                    \
  }                                                                                               \
  attribute bool normalise_##set(const float* o, const float* shift, const float* scale,          \
                                 float limit, float* x, std::size_t n) {                          \
    return normalise_body(o, shift, scale, limit, x, n);                                          \
  }                                                                                               \
  attribute void cell_##set(const float* gates, const float* c, float* c_next, float* h_next,     \
                            std::size_t units) {                                                  \
    cell_body<floats>(gates, c, c_next, h_next, units);                                           \
  }                                                                                               \
  attribute std::size_t knob_##set(const KnobHead& head, const float* z, float* logits,           \
                                   std::uint32_t legal) {                                         \
    FloatVector<floats> best;                                                                     \
    if (head.out.rows == kLane && head.hidden.rows == kLane) {                                    \
      knob_body<floats, 1, 1>(head, z, logits, legal, best);                                      \
      CCLGYM_FIRST(set, floats, kLane)                                                            \
    }                                                                                             \
    if (head.out.rows == kLane) {                                                                 \
      knob_body<floats, 1, 0>(head, z, logits, legal, best);                                      \
    } else {                                                                                      \
      knob_body<floats, 2, 0>(head, z, logits, legal, best);                                      \
    }                                                                                             \
    CCLGYM_FIRST(set, floats, head.out.rows)                                                      \
  }                                                                                               \
  constexpr LaneKernels k##Set##Kernels{affine_##set, normalise_##set, cell_##set, knob_##set};

CCLGYM_KERNELS(plain, Plain, 4, )
#if defined(__x86_64__)
CCLGYM_KERNELS(avx2, Avx2, 8, CCLGYM_AVX2)
CCLGYM_KERNELS(avx512, Avx512, 16, CCLGYM_AVX512)
#endif

struct Available {
  std::array<const LaneKernels*, 3> kernels{};
  std::size_t count = 0;
};

Available find_available() {
  Available found;
  found.kernels[found.count++] = &kPlainKernels;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") != 0) found.kernels[found.count++] = &kAvx2Kernels;
  if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0) {
    found.kernels[found.count++] = &kAvx512Kernels;
  }
#endif
  return found;
}

const Available& available() {
  static const Available found = find_available();
  return found;
}

}  // namespace

const LaneKernels& lane_kernels() { return *available().kernels[available().count - 1]; }
std::size_t lane_kernel_count() { return available().count; }
const LaneKernels& lane_kernels_at(std::size_t index) { return *available().kernels[index]; }

}  // namespace cclgym
