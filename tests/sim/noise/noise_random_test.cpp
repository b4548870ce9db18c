#include "sim/noise/noise_random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/catch.hpp"

using namespace cclgym;

namespace {

double order_statistic(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(p * static_cast<double>(values.size() - 1))];
}

}  // namespace

TEST_CASE("portable_exp is the exponential, within an ulp of the C library's",
          "[sim][noise-random]") {
  CHECK(portable_exp(0) == 1);
  CHECK(portable_exp(-746) == 0);
  CHECK(portable_exp(710) == std::numeric_limits<double>::infinity());
  Random random(1);
  double worst = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double x = i % 2 == 0 ? random.uniform(-1, 1) : random.uniform(-700, 700);
    const double exact = std::exp(x);
    worst = std::max(worst, std::abs(portable_exp(x) - exact) / exact);
  }
  CHECK(worst < 2.5e-16);
  // These results are subnormal.
  CHECK(portable_exp(-720) == Approx(std::exp(-720.0)).epsilon(1e-9));
}

TEST_CASE("lognormal and Pareto have the right quantiles", "[sim][noise-random]") {
  Random random = Random::stream(2, {7});
  std::vector<double> normal;
  std::vector<double> tail;
  for (int i = 0; i < 200'000; ++i) {
    normal.push_back(lognormal(random, 3, 0.5));
    tail.push_back(pareto(random, 2, 1.5));
  }
  CHECK(order_statistic(normal, 0.5) == Approx(3).epsilon(0.01));
  CHECK(order_statistic(normal, 0.8413447) == Approx(3 * std::exp(0.5)).epsilon(0.01));
  CHECK(order_statistic(normal, 0.0227501) == Approx(3 * std::exp(-1.0)).epsilon(0.02));
  CHECK(*std::min_element(tail.begin(), tail.end()) >= 2);
  CHECK(order_statistic(tail, 0.5) == Approx(2 * std::pow(2, 1 / 1.5)).epsilon(0.01));
  CHECK(order_statistic(tail, 0.99) == Approx(2 * std::pow(100, 1 / 1.5)).epsilon(0.05));
  CHECK(lognormal(random, 3, 0) == 3);
  CHECK(lognormal(random, 0, 2) == 0);
}

TEST_CASE("streams of noise: machines by seed, calls by seed and repetition",
          "[sim][noise-random]") {
  const auto of_machine = [](const NoiseSeed& seed, NoiseDraw draw, std::uint64_t thing) {
    return machine_stream(seed, draw, thing)();
  };
  const auto of_call = [](const NoiseSeed& seed, NoiseDraw draw, std::uint64_t thing) {
    return call_stream(seed, draw, thing)();
  };
  CHECK(of_machine({1, 2}, NoiseDraw::SlowGpu, 3) == of_machine({1, 5}, NoiseDraw::SlowGpu, 3));
  CHECK(of_machine({1, 2}, NoiseDraw::SlowGpu, 3) != of_machine({2, 2}, NoiseDraw::SlowGpu, 3));
  CHECK(of_call({1, 2}, NoiseDraw::LinkLoad, 3) == of_call({1, 2}, NoiseDraw::LinkLoad, 3));
  CHECK(of_call({1, 2}, NoiseDraw::LinkLoad, 3) != of_call({1, 3}, NoiseDraw::LinkLoad, 3));
  CHECK(of_call({1, 2}, NoiseDraw::LinkLoad, 3) != of_call({1, 2}, NoiseDraw::LinkLoad, 4));
  CHECK(of_call({1, 2}, NoiseDraw::LinkLoad, 3) != of_call({1, 2}, NoiseDraw::MessageJitter, 3));
}
