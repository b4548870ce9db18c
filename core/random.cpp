#include "core/random.hpp"

#include <bit>
#include <cmath>

#include "core/hash.hpp"

namespace cclgym {

Random::Random(std::uint64_t seed) {
  for (std::uint64_t& word : state_) word = splitmix64_finaliser(seed += kGoldenRatio);
}

Random Random::stream(std::uint64_t seed, std::initializer_list<std::uint64_t> keys) {
  // Absorb the keys one by one, then their number, so that {0} and {0, 0} differ. The rotation and
  // the factor keep the seed and the keys from cancelling each other where they are equal.
  std::uint64_t hash = splitmix64_finaliser(seed + kGoldenRatio);
  for (const std::uint64_t key : keys)
    hash = splitmix64_finaliser(std::rotl(hash, 23) * 5 + splitmix64_finaliser(key + kGoldenRatio));
  return Random(splitmix64_finaliser(hash + keys.size() + 1));
}

Random::result_type Random::operator()() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }

double Random::uniform(double low, double high) {
  const double value = low + (high - low) * uniform();
  // Rounding can reach `high`.
  return value < high ? value : low;
}

std::int64_t Random::integer(std::int64_t low, std::int64_t high) {
  const std::uint64_t base = static_cast<std::uint64_t>(low);
  const std::uint64_t span = static_cast<std::uint64_t>(high) - base + 1;
  if (span == 0) return static_cast<std::int64_t>((*this)());  // all 2^64 values
  // Drop the incomplete copy of the span at the low end: 2^64 mod span values.
  const std::uint64_t incomplete = (0 - span) % span;
  std::uint64_t bits = (*this)();
  while (bits < incomplete) bits = (*this)();
  return static_cast<std::int64_t>(base + bits % span);
}

double Random::exponential(double mean) {
  // 1 - u is in (0, 1]: the logarithm is finite.
  return -mean * portable_log(1 - uniform());
}

double Random::normal(double mean, double standard_deviation) {
  double x = 0;
  double square = 0;
  do {
    x = 2 * uniform() - 1;
    const double y = 2 * uniform() - 1;
    square = x * x + y * y;
  } while (square >= 1 || square == 0);
  return mean + standard_deviation * x * std::sqrt(-2 * portable_log(square) / square);
}

double portable_log(double x) {
  // fdlibm's e_log.c (Sun Microsystems, 1993): x = 2^k (1 + f) with sqrt(2)/2 < 1 + f < sqrt(2),
  // and log(1 + f) = f - (f^2/2 - s (f^2/2 + R)), s = f / (2 + f), R a polynomial in s^2.
  // x = mantissa * 2^exponent with a mantissa in [0.5, 1), exactly. For normal numbers, the bits
  // are taken apart here: std::frexp is a call of the C library, which takes as long as the rest.
  constexpr std::uint64_t kUnit = std::uint64_t{1} << 52U;  // one in the exponent
  constexpr std::uint64_t kHalf = 0x3fe * kUnit;            // bits of 0.5
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits / kUnit) - 0x3fe;
  double mantissa = std::bit_cast<double>(bits % kUnit | kHalf);
  if (bits - kUnit >= 0x7fe * kUnit) mantissa = std::frexp(x, &exponent);
  if (mantissa < 0.70710678118654752440) {
    mantissa *= 2;
    --exponent;
  }
  const double f = mantissa - 1;
  const double k = exponent;
  const double s = f / (2 + f);
  const double z = s * s;
  const double w = z * z;
  const double odd = w * (3.999999999940941908e-01 +
                          w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double even = z * (6.666666666666735130e-01 +
                           w * (2.857142874366239149e-01 +
                                w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const double half_square = 0.5 * f * f;
  constexpr double kLn2High = 6.93147180369123816490e-01;  // its product with k is exact
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  return k * kLn2High - ((half_square - (s * (half_square + (odd + even)) + k * kLn2Low)) - f);
}

double portable_log2(double x) {
  constexpr double kLn2 = 0.69314718055994530942;
  return portable_log(x) / kLn2;
}

double portable_exp(double x) {
  if (x > 709.782712893384) return std::numeric_limits<double>::infinity();
  if (x < -745.1332191019412) return 0;
  // fdlibm's e_exp.c (Sun Microsystems, 2004): x = k ln 2 + r with |r| <= ln 2 / 2, and
  // exp(r) = 1 + 2 r / (R - r) with R = r (exp(r) + 1) / (exp(r) - 1), a polynomial in r^2.
  constexpr double kLn2High = 6.93147180369123816490e-01;  // its product with k is exact
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  constexpr double kInverseLn2 = 1.44269504088896338700e+00;
  const double k = std::floor(kInverseLn2 * x + 0.5);
  const double high = x - k * kLn2High;
  const double low = k * kLn2Low;
  const double r = high - low;
  const double t = r * r;
  const double c =
      r - t * (1.66666666666666019037e-01 +
               t * (-2.77777777770155933842e-03 +
                    t * (6.61375632143793436117e-05 +
                         t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08))));
  const double exp_r = 1 - ((low - r * c / (2 - c)) - high);
  return std::ldexp(exp_r, static_cast<int>(k));
}

}  // namespace cclgym
