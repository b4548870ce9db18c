// Random numbers that are the same bits on every machine, compiler and C library.
//
// The standard library's engines are portable but its distributions are not, and std::log may
// differ in the last bit between C libraries. The distributions and logarithms here use only + - *
// / and sqrt, which IEEE 754 defines exactly (the project is compiled without contraction to fused
// multiply-add).
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace cclgym {

/// xoshiro256** 1.0 (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021),
/// with its state from splitmix64 of a 64-bit seed. It is a UniformRandomBitGenerator.
class Random {
 public:
  using result_type = std::uint64_t;

  explicit Random(std::uint64_t seed);
  /// An independent stream for every distinct list of keys under a seed, e.g.
  /// stream(seed, {cell, repetition, rank}). Differs from Random(seed), even without keys.
  [[nodiscard]] static Random stream(std::uint64_t seed, std::initializer_list<std::uint64_t> keys);

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  /// The next 64 bits.
  result_type operator()();

  /// Uniform in [0, 1): a multiple of 2^-53.
  double uniform();
  /// Uniform in [low, high).
  double uniform(double low, double high);
  /// Uniform over the integers low..high, both included, without bias. low <= high.
  std::int64_t integer(std::int64_t low, std::int64_t high);
  /// Exponential with the given mean (>= 0), by inversion.
  double exponential(double mean);
  /// Normal by Marsaglia's polar method. The second variate of a pair is dropped, so that the
  /// generator has no hidden state.
  double normal(double mean, double standard_deviation);

  friend bool operator==(const Random&, const Random&) = default;

 private:
  std::array<std::uint64_t, 4> state_{};
};

/// Natural logarithm of a finite x > 0 within 1 ulp, the same bits everywhere.
[[nodiscard]] double portable_log(double x);
/// portable_log(x) / ln 2.
[[nodiscard]] double portable_log2(double x);
/// exp(x) within 1 ulp, the same bits everywhere. 0 below -745.2, infinite above 709.7.
[[nodiscard]] double portable_exp(double x);

}  // namespace cclgym
