// Distributions of the noise, bit-identical on every platform (core/random.hpp says why and how).
#pragma once

#include <cstdint>

#include "core/random.hpp"

namespace cclgym {

/// Seed of a simulation. The seed alone determines the machine (slow GPUs, degraded links); the
/// seed and the repetition determine the events during one call.
struct NoiseSeed {
  std::uint64_t seed = 0;
  std::uint64_t repetition = 0;
};

/// Purpose of a random stream. It is part of the stream's key, so that adding one kind of noise
/// leaves the draws of the others unchanged. Never renumber.
enum class NoiseDraw : std::uint64_t {
  SlowGpu = 0x6e6f697365000001,
  DegradedLink,
  LinkLoad,
  MessageJitter,
  Background,
};

/// The stream of one object (a link, a message, …) that lasts as long as the machine.
[[nodiscard]] Random machine_stream(const NoiseSeed& seed, NoiseDraw draw, std::uint64_t thing,
                                    std::uint64_t part = 0);
/// The stream of one object during one call.
[[nodiscard]] Random call_stream(const NoiseSeed& seed, NoiseDraw draw, std::uint64_t thing,
                                 std::uint64_t part = 0);

/// Lognormal: exp(N(ln median, sigma)); median >= 0, sigma >= 0.
[[nodiscard]] double lognormal(Random& random, double median, double sigma);
/// Pareto: P(X > x) = (least / x)^shape for x >= least; shape > 0.
[[nodiscard]] double pareto(Random& random, double least, double shape);

}  // namespace cclgym
