#include "sim/noise/noise_random.hpp"

namespace cclgym {

Random machine_stream(const NoiseSeed& seed, NoiseDraw draw, std::uint64_t thing,
                      std::uint64_t part) {
  return Random::stream(seed.seed, {static_cast<std::uint64_t>(draw), thing, part});
}

Random call_stream(const NoiseSeed& seed, NoiseDraw draw, std::uint64_t thing, std::uint64_t part) {
  return Random::stream(seed.seed,
                        {seed.repetition, static_cast<std::uint64_t>(draw), thing, part});
}

double lognormal(Random& random, double median, double sigma) {
  return median * portable_exp(random.normal(0, sigma));
}

double pareto(Random& random, double least, double shape) {
  // 1 - u is in (0, 1].
  return least * portable_exp(-portable_log(1 - random.uniform()) / shape);
}

}  // namespace cclgym
