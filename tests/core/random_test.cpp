#include "core/random.hpp"

#include <bit>
#include <cmath>
#include <set>
#include <vector>

#include "support/catch.hpp"

using namespace cclgym;

namespace {

// A second implementation of xoshiro256**, from the paper's figure, with plain shifts and seeded by
// splitmix64. It is an oracle for the generator.
struct Reference {
  std::uint64_t s[4];

  explicit Reference(std::uint64_t seed) {
    for (auto& word : s) {
      seed += 0x9e3779b97f4a7c15U;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
      word = z ^ (z >> 31);
    }
  }
  static std::uint64_t rotate(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  std::uint64_t next() {
    const std::uint64_t result = rotate(s[1] * 5, 7) * 9;
    const std::uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
  }
};

}  // namespace

TEST_CASE("the generator is xoshiro256** seeded by splitmix64", "[core][random]") {
  for (const std::uint64_t seed : {0ULL, 1ULL, 42ULL, ~0ULL}) {
    Reference reference(seed);
    Random random(seed);
    for (int i = 0; i < 1000; ++i) REQUIRE(random() == reference.next());
  }
  // Published first values of splitmix64 for seed 0 (Vigna's splitmix64.c), which fill the state.
  CHECK(Reference(0).s[0] == 0xe220a8397b1dcdafU);
  CHECK(Reference(0).s[1] == 0x6e789e6aa1b965f4U);
}

TEST_CASE("golden values: the same bits everywhere, for ever", "[core][random]") {
  Random random(2024);
  CHECK(random() == 0xe48715a13d7772eU);
  CHECK(std::bit_cast<std::uint64_t>(random.uniform()) == 0x3fe906fe7dd14f42U);
  CHECK(random.integer(-5, 1'000'000) == 584070);
  CHECK(std::bit_cast<std::uint64_t>(random.exponential(3.5)) == 0x3fe37d5d187e8efaU);
  CHECK(std::bit_cast<std::uint64_t>(random.normal(1, 2)) == 0x40049ab53d0ddf11U);
  CHECK(Random::stream(7, {1, 2, 3})() == 0xda247634063267ffU);
  CHECK(Random::stream(7, {})() == 0xbc5a7717fb71f109U);
}

TEST_CASE("streams differ for every key, order and count", "[core][random]") {
  std::set<std::uint64_t> firsts;
  std::size_t streams = 0;
  const auto add = [&](Random random) {
    firsts.insert(random());
    ++streams;
  };
  add(Random(1));
  add(Random::stream(1, {}));
  add(Random::stream(1, {0, 0}));
  add(Random::stream(1, {0, 0, 0}));
  for (std::uint64_t a = 0; a < 200; ++a) {
    add(Random::stream(1, {a}));
    add(Random::stream(2, {a}));
    for (std::uint64_t b = 1; b < 50; ++b) add(Random::stream(1, {a, b}));
  }
  CHECK(firsts.size() == streams);
  CHECK(Random::stream(9, {4, 5}) == Random::stream(9, {4, 5}));
}

TEST_CASE("neighbouring streams are uncorrelated", "[core][random]") {
  double sum = 0;
  constexpr int kSamples = 20'000;
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    sum += (Random::stream(3, {i}).uniform() - 0.5) * (Random::stream(3, {i + 1}).uniform() - 0.5);
  }
  // The mean is 0 and its standard deviation 1/12 / sqrt(n).
  CHECK(std::fabs(sum / kSamples) < 5.0 / 12 / std::sqrt(kSamples));
}

TEST_CASE("moments of the distributions", "[core][random]") {
  Random random(11);
  constexpr int kSamples = 200'000;
  const double root = std::sqrt(kSamples);
  double uniform = 0, exponential = 0, exponential2 = 0, normal = 0, normal2 = 0, normal4 = 0;
  for (int i = 0; i < kSamples; ++i) {
    const double u = random.uniform();
    REQUIRE(u >= 0);
    REQUIRE(u < 1);
    uniform += u;
    const double e = random.exponential(2);
    REQUIRE(e >= 0);
    exponential += e;
    exponential2 += e * e;
    const double n = random.normal(0, 1);
    normal += n;
    normal2 += n * n;
    normal4 += n * n * n * n;
  }
  // Each bound is five standard errors.
  CHECK(std::fabs(uniform / kSamples - 0.5) < 5 * 0.2887 / root);
  CHECK(std::fabs(exponential / kSamples - 2) < 5 * 2 / root);
  CHECK(std::fabs(exponential2 / kSamples - 8) < 5 * std::sqrt(20.0 * 16) / root);
  CHECK(std::fabs(normal / kSamples) < 5 / root);
  CHECK(std::fabs(normal2 / kSamples - 1) < 5 * std::sqrt(2.0) / root);
  CHECK(std::fabs(normal4 / kSamples - 3) < 5 * std::sqrt(96.0) / root);
}

TEST_CASE("integers cover their range evenly, ends included", "[core][random]") {
  Random random(5);
  std::vector<int> counts(7);
  for (int i = 0; i < 70'000; ++i) {
    ++counts[static_cast<std::size_t>(random.integer(-3, 3) + 3)];
  }
  double chi2 = 0;
  for (const int count : counts) chi2 += (count - 10'000.0) * (count - 10'000.0) / 10'000.0;
  CHECK(chi2 < 30);  // 6 degrees of freedom: P(chi2 > 30) < 5e-5
  CHECK(random.integer(4, 4) == 4);
  constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();
  bool negative = false, positive = false;
  for (int i = 0; i < 100; ++i) (random.integer(kLow, kHigh) < 0 ? negative : positive) = true;
  CHECK((negative && positive));
  // A range of three quarters of 2^64 values: without rejection, the lower part would be twice as
  // frequent.
  const std::int64_t top = (1LL << 62) - 1;
  int low_third = 0;
  for (int i = 0; i < 30'000; ++i) {
    if (random.integer(kLow, top) < kLow + (1LL << 62)) ++low_third;
  }
  CHECK(std::abs(low_third - 10'000) < 5 * 82);
  CHECK(random.uniform(2, 2) == 2);
}

TEST_CASE("portable_log agrees with the C library's logarithm", "[core][random]") {
  Random random(17);
  CHECK(portable_log(1) == 0);
  CHECK(portable_log2(1) == 0);
  CHECK(portable_log2(1024) == Approx(10));
  for (int i = 0; i < 100'000; ++i) {
    const double x =
        std::ldexp(random.uniform() + 0x1p-60, static_cast<int>(random.integer(-900, 900)));
    const double expected = std::log(x);
    REQUIRE(std::fabs(portable_log(x) - expected) <= 2.3e-16 * std::fabs(expected));
  }
  for (const double x : {5e-324, 1e-310, 0.7071067811865475, 0.7071067811865476, 1 - 0x1p-53,
                         1 + 0x1p-52, 1.7976931348623157e308}) {
    CHECK(std::fabs(portable_log(x) - std::log(x)) <= 2.3e-16 * std::fabs(std::log(x)));
  }
}
