#include "sim/noise_random.hpp"

#include <cmath>
#include <limits>

namespace cclgym {

Random machine_stream(const NoiseSeed& seed, NoiseDraw draw, std::uint64_t thing,
                      std::uint64_t part) {
  return Random::stream(seed.seed, {static_cast<std::uint64_t>(draw), thing, part});
}

Random call_stream(const NoiseSeed& seed, NoiseDraw draw, std::uint64_t thing, std::uint64_t part) {
  return Random::stream(seed.seed,
                        {seed.repetition, static_cast<std::uint64_t>(draw), thing, part});
}

double portable_exp(double x) {
  if (x > 709.782712893384) return std::numeric_limits<double>::infinity();
  if (x < -745.1332191019412) return 0;
  // fdlibm's e_exp.c (Sun Microsystems, 2004): x = k ln 2 + r with |r| <= ln 2 / 2, and
  // exp(r) = 1 + 2 r / (R - r) with R = r (exp(r) + 1) / (exp(r) - 1), a polynomial in r^2.
  constexpr double kLn2High = 6.93147180369123816490e-01;  // k times it is exact
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

double lognormal(Random& random, double median, double sigma) {
  return median * portable_exp(random.normal(0, sigma));
}

double pareto(Random& random, double least, double shape) {
  // 1 - u is in (0, 1].
  return least * portable_exp(-portable_log(1 - random.uniform()) / shape);
}

}  // namespace cclgym
