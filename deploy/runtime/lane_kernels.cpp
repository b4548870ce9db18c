#include "deploy/runtime/lane_kernels.hpp"

#include <array>
#include <cstdint>

namespace cclgym {

namespace {

// GCC and Clang map these vectors to 4 SSE, 2 AVX or 1 AVX-512 registers. States are the caller's
// memory and only as aligned as a float.
using Lane = float __attribute__((vector_size(4 * kLane), aligned(4), may_alias));
using IntLane = std::int32_t __attribute__((vector_size(4 * kLane), aligned(4), may_alias));
static_assert(sizeof(Lane) == 4 * kLane);

// Inlined, so that each instruction set gets its own body.
#define CCLGYM_INLINE __attribute__((always_inline)) inline

CCLGYM_INLINE Lane* lane_at(float* p) { return reinterpret_cast<Lane*>(p); }
CCLGYM_INLINE const Lane* lane_at(const float* p) { return reinterpret_cast<const Lane*>(p); }

CCLGYM_INLINE void fill(Lane& x, float value) { x = Lane{} + value; }

// NaN becomes `high`.
CCLGYM_INLINE void clamp(Lane& x, float low, float high) {
  Lane lows;
  Lane highs;
  fill(lows, low);
  fill(highs, high);
  x = x < highs ? x : highs;
  x = x > lows ? x : lows;
}

// exp within 2 ulp for |x| <= 87: 2^n exp(r), |r| <= ln 2 / 2, by the polynomial of Cephes' expf
// (S. Moshier, http://www.netlib.org/cephes).
CCLGYM_INLINE void exponential(Lane& x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to a whole number
  const Lane n = (x * 1.44269504088896341F + kRound) - kRound;
  const Lane r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
  Lane p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  const IntLane bits = (__builtin_convertvector(n, IntLane) + 127) << 23;
  x = p * reinterpret_cast<const Lane&>(bits);
}

CCLGYM_INLINE void hyperbolic_tangent(Lane& x) {
  clamp(x, -9.5F, 9.5F);  // beyond these bounds, tanh rounds to 1 or -1 in a float
  Lane e = x + x;
  exponential(e);
  x = 1.0F - 2.0F / (e + 1.0F);
}

CCLGYM_INLINE void sigmoid(Lane& x) {
  clamp(x, -80.0F, 80.0F);
  Lane e = -x;
  exponential(e);
  x = 1.0F / (1.0F + e);
}

// Rows [first, first + lanes * kLane) of a layer. For few rows, the sum is split into several
// parts, so that the additions do not wait for each other.
template <std::size_t lanes, std::size_t parts>
CCLGYM_INLINE void affine_block(const float* weights, std::size_t inputs, const float* start,
                                const float* in, float* out, bool tanh) {
  Lane sums[parts][lanes];
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    sums[0][lane] = lane_at(start)[lane];
    for (std::size_t part = 1; part < parts; ++part) fill(sums[part][lane], 0.0F);
  }
  const Lane* w = lane_at(weights);
  std::size_t input = 0;
  for (; input + parts <= inputs; input += parts) {
    for (std::size_t part = 0; part < parts; ++part) {
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        sums[part][lane] += w[part * lanes + lane] * in[input + part];
      }
    }
    w += parts * lanes;
  }
  for (; input < inputs; ++input, w += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[0][lane] += w[lane] * in[input];
  }
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    for (std::size_t part = 1; part < parts; ++part) sums[0][lane] += sums[part][lane];
    if (tanh) hyperbolic_tangent(sums[0][lane]);
    lane_at(out)[lane] = sums[0][lane];
  }
}

CCLGYM_INLINE void affine_body(const AffineLayer& layer, const float* start, const float* in,
                               float* out, bool tanh) {
  const float* weights = layer.weights;
  std::size_t row = 0;
  for (; row + 4 * kLane <= layer.rows; row += 4 * kLane) {
    affine_block<4, 1>(weights, layer.inputs, start + row, in, out + row, tanh);
    weights += 4 * kLane * layer.inputs;
  }
  for (; row + 2 * kLane <= layer.rows; row += 2 * kLane) {
    affine_block<2, 2>(weights, layer.inputs, start + row, in, out + row, tanh);
    weights += 2 * kLane * layer.inputs;
  }
  for (; row < layer.rows; row += kLane) {
    affine_block<1, 4>(weights, layer.inputs, start + row, in, out + row, tanh);
    weights += kLane * layer.inputs;
  }
}

CCLGYM_INLINE void normalise_body(const float* o, const float* shift, const float* scale,
                                  float limit, float* x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    float value = (o[i] - shift[i]) * scale[i];
    value = value < limit ? value : limit;
    x[i] = value > -limit ? value : -limit;
  }
}

CCLGYM_INLINE void cell_body(const float* gates, const float* c, float* c_next, float* h_next,
                             std::size_t units) {
  for (std::size_t at = 0; at < units; at += kLane) {
    Lane i = *lane_at(gates + at);
    Lane f = *lane_at(gates + units + at);
    Lane g = *lane_at(gates + 2 * units + at);
    Lane o = *lane_at(gates + 3 * units + at);
    sigmoid(i);
    sigmoid(f);
    hyperbolic_tangent(g);
    sigmoid(o);
    const Lane next = f * *lane_at(c + at) + i * g;
    *lane_at(c_next + at) = next;
    Lane h = next;
    hyperbolic_tangent(h);
    *lane_at(h_next + at) = o * h;
  }
}

// The three functions for one instruction set. The attribute is empty for the baseline.
#define CCLGYM_KERNELS(set, Set, attribute)                                                   \
  attribute void affine_##set(const AffineLayer& layer, const float* start, const float* in,  \
                              float* out, bool tanh) {                                        \
    affine_body(layer, start, in, out, tanh);                                                 \
  }                                                                                           \
  attribute void normalise_##set(const float* o, const float* shift, const float* scale,      \
                                 float limit, float* x, std::size_t n) {                      \
    normalise_body(o, shift, scale, limit, x, n);                                             \
  }                                                                                           \
  attribute void cell_##set(const float* gates, const float* c, float* c_next, float* h_next, \
                            std::size_t units) {                                              \
    cell_body(gates, c, c_next, h_next, units);                                               \
  }                                                                                           \
  constexpr LaneKernels k##Set##Kernels{affine_##set, normalise_##set, cell_##set};

CCLGYM_KERNELS(plain, Plain, )
#if defined(__x86_64__)
CCLGYM_KERNELS(avx2, Avx2, __attribute__((target("avx2"))))
CCLGYM_KERNELS(avx512, Avx512, __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"))))
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

std::size_t packed_place(const AffineLayer& layer, std::size_t row, std::size_t input) {
  const std::size_t wide = layer.rows / (4 * kLane) * (4 * kLane);
  const std::size_t half = wide + (layer.rows - wide) / (2 * kLane) * (2 * kLane);
  const std::size_t block = row < wide ? 4 * kLane : row < half ? 2 * kLane : kLane;
  const std::size_t base = row < wide ? 0 : row < half ? wide : half;
  const std::size_t first = base + (row - base) / block * block;
  return first * layer.inputs + input * block + (row - first);
}

const LaneKernels& lane_kernels() { return *available().kernels[available().count - 1]; }
std::size_t lane_kernel_count() { return available().count; }
const LaneKernels& lane_kernels_at(std::size_t index) { return *available().kernels[index]; }

}  // namespace cclgym
