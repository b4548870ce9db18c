// Checks that the kernels of all instruction sets give the same bits, and mathematically correct
// results.
#include "deploy/runtime/lane_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/random.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

struct SampleLayer {
  SampleLayer(std::size_t rows, std::size_t inputs, Random& random)
      : weights(rows * inputs), bias(rows), in(inputs) {
    layer = {inputs, rows, nullptr, nullptr};
    dense.resize(rows * inputs);
    for (std::size_t row = 0; row < rows; ++row) {
      bias[row] = static_cast<float>(random.uniform(-1, 1));
      for (std::size_t i = 0; i < inputs; ++i) {
        const auto w = static_cast<float>(random.uniform(-0.2, 0.2));
        dense[row * inputs + i] = w;
        weights[packed_place(inputs, row, i)] = w;
      }
    }
    for (float& x : in) x = static_cast<float>(random.uniform(-1, 1));
    layer.bias = bias.data();
    layer.weights = weights.data();
  }
  std::vector<float> weights;
  std::vector<float> dense;
  std::vector<float> bias;
  std::vector<float> in;
  AffineLayer layer;
};

TEST_CASE("a layer is W x + b, to the same bits with every instruction set",
          "[deploy][lane-kernels]") {
  Random random(1);
  for (const std::size_t rows : {16U, 32U, 48U, 64U, 80U, 112U, 128U, 240U}) {
    for (const std::size_t inputs : {1U, 2U, 3U, 5U, 64U, 93U}) {
      const SampleLayer sample(rows, inputs, random);
      for (const bool tanh : {false, true}) {
        std::vector<float> first(rows);
        lane_kernels_at(0).affine(sample.layer, sample.in.data(), first.data(), tanh);
        for (std::size_t row = 0; row < rows; ++row) {
          double sum = sample.bias[row];
          for (std::size_t i = 0; i < inputs; ++i) {
            sum += double{sample.dense[row * inputs + i]} * sample.in[i];
          }
          CHECK(std::abs(first[row] - (tanh ? std::tanh(sum) : sum)) < 2e-6);
        }
        for (std::size_t k = 1; k < lane_kernel_count(); ++k) {
          std::vector<float> other(rows);
          lane_kernels_at(k).affine(sample.layer, sample.in.data(), other.data(), tanh);
          CHECK(std::memcmp(first.data(), other.data(), 4 * rows) == 0);
        }
      }
    }
  }
}

TEST_CASE("an LSTM's cell, to the same bits with every instruction set", "[deploy][lane-kernels]") {
  Random random(2);
  constexpr std::size_t kUnits = 32;
  std::vector<float> gates(4 * kUnits);
  std::vector<float> c(kUnits);
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  for (int round = 0; round < 1000; ++round) {
    // The gates range from small to saturating values.
    const double wide = round % 2 == 0 ? 3 : 200;
    for (float& gate : gates) gate = static_cast<float>(random.uniform(-wide, wide));
    for (float& value : c) value = static_cast<float>(random.uniform(-2, 2));
    std::vector<float> next(kUnits);
    std::vector<float> h(kUnits);
    lane_kernels_at(0).cell(gates.data(), c.data(), next.data(), h.data(), kUnits);
    for (std::size_t i = 0; i < kUnits; ++i) {
      const double expected = sigmoid(gates[kUnits + i]) * c[i] +
                              sigmoid(gates[i]) * std::tanh(double{gates[2 * kUnits + i]});
      REQUIRE(std::abs(next[i] - expected) < 1e-6);
      REQUIRE(std::abs(h[i] - sigmoid(gates[3 * kUnits + i]) * std::tanh(expected)) < 1e-6);
    }
    for (std::size_t k = 1; k < lane_kernel_count(); ++k) {
      std::vector<float> other_next(kUnits);
      std::vector<float> other_h(kUnits);
      lane_kernels_at(k).cell(gates.data(), c.data(), other_next.data(), other_h.data(), kUnits);
      REQUIRE(std::memcmp(next.data(), other_next.data(), 4 * kUnits) == 0);
      REQUIRE(std::memcmp(h.data(), other_h.data(), 4 * kUnits) == 0);
    }
  }
}

// A head with random weights: hidden(z), three choices, and logits.
struct SampleHead {
  SampleHead(std::size_t units, std::size_t levels, std::size_t inputs, Random& random)
      : hidden(units, inputs, random), out(levels, units, random), choices(3 * units) {
    for (float& x : choices) x = static_cast<float>(random.uniform(-1, 1));
    for (std::size_t i = 0; i < 3; ++i) rows[i] = choices.data() + i * units;
    head = {hidden.layer, out.layer, rows, 3};
  }
  // In double precision.
  [[nodiscard]] std::vector<double> logits() const {
    const std::size_t inputs = hidden.layer.inputs;
    const std::size_t units = hidden.layer.rows;
    std::vector<double> result(out.bias.begin(), out.bias.end());
    for (std::size_t u = 0; u < units; ++u) {
      double sum = hidden.bias[u];
      for (const float* row : rows) sum += row[u];
      for (std::size_t i = 0; i < inputs; ++i) {
        sum += double{hidden.dense[u * inputs + i]} * hidden.in[i];
      }
      for (std::size_t v = 0; v < result.size(); ++v) {
        result[v] += out.dense[v * units + u] * std::tanh(sum);
      }
    }
    return result;
  }
  SampleLayer hidden;
  SampleLayer out;
  std::vector<float> choices;
  const float* rows[3] = {};
  KnobHead head;
};

TEST_CASE("a knob takes its likeliest legal level, to the same bits with every instruction set",
          "[deploy][lane-kernels]") {
  Random random(3);
  for (int round = 0; round < 2000; ++round) {
    const auto units = static_cast<std::size_t>(random.integer(1, 3)) * kLane;
    const auto levels = static_cast<std::size_t>(random.integer(1, 2)) * kLane;
    const auto inputs = static_cast<std::size_t>(random.integer(1, 70));
    SampleHead sample(units, levels, inputs, random);
    const bool twins = round % 3 == 0;  // two levels with the same logit
    const auto twin = static_cast<std::size_t>(random.integer(1, static_cast<int>(levels) - 1));
    if (twins) {
      for (std::size_t u = 0; u < units; ++u) {
        sample.out.dense[twin * units + u] = sample.out.dense[u];
        sample.out.weights[packed_place(units, twin, u)] =
            sample.out.weights[packed_place(units, 0, u)];
      }
      sample.out.bias[twin] = sample.out.bias[0];
    }
    std::uint32_t legal = 0;
    while (legal == 0) {
      legal = static_cast<std::uint32_t>(random.integer(0, 0xffff)) |
              static_cast<std::uint32_t>(random.integer(0, 0xffff)) << 16;
      if (levels == kLane) legal &= 0xffffU;
    }
    const std::vector<double> expected = sample.logits();
    std::vector<float> first(levels);
    const std::size_t chosen =
        lane_kernels_at(0).knob(sample.head, sample.hidden.in.data(), first.data(), legal);
    REQUIRE(((legal >> chosen) & 1U) == 1);
    for (std::size_t v = 0; v < levels; ++v) {
      REQUIRE(std::abs(first[v] - expected[v]) < 1e-5);
      if (((legal >> v) & 1U) == 0) continue;
      REQUIRE(first[v] <= first[chosen]);
      if (v < chosen) REQUIRE(first[v] < first[chosen]);
    }
    if (twins) CHECK(first[0] == first[twin]);
    for (std::size_t k = 1; k < lane_kernel_count(); ++k) {
      std::vector<float> other(levels);
      REQUIRE(lane_kernels_at(k).knob(sample.head, sample.hidden.in.data(), other.data(), legal) ==
              chosen);
      REQUIRE(std::memcmp(first.data(), other.data(), 4 * levels) == 0);
    }
  }
}

TEST_CASE("logits that are no numbers lead to the first legal level", "[deploy][lane-kernels]") {
  Random random(4);
  SampleHead sample(kLane, 2 * kLane, 5, random);
  std::vector<float> logits(2 * kLane);
  const auto choose = [&](const LaneKernels& kernels, std::uint32_t legal) {
    return kernels.knob(sample.head, sample.hidden.in.data(), logits.data(), legal);
  };
  for (std::size_t k = 0; k < lane_kernel_count(); ++k) {
    const LaneKernels& kernels = lane_kernels_at(k);
    sample.out.bias[20] = std::nanf("");
    CHECK(choose(kernels, 1U << 20 | 1U << 9 | 1U << 30) == 9);
    CHECK(choose(kernels, 1U << 20) == 20);
    sample.out.bias[9] = 100;
    CHECK(choose(kernels, 1U << 9 | 1U << 5) == 9);  // the NaN is not legal
    sample.out.bias[20] = INFINITY;
    CHECK(choose(kernels, 1U << 20 | 1U << 9) == 20);
    sample.out.bias[20] = -INFINITY;
    CHECK(choose(kernels, 1U << 20) == 20);
    CHECK(choose(kernels, 1U << 20 | 1U << 31) == 31);
  }
}

TEST_CASE("tanh is within 4e-7, from the smallest numbers to infinity", "[deploy][lane-kernels]") {
  constexpr std::size_t kNumbers = 4096;
  const std::vector<float> weights(kNumbers);
  const float in = 0;
  std::vector<float> x(kNumbers);
  std::vector<float> y(kNumbers);
  const AffineLayer layer{1, kNumbers, x.data(), weights.data()};
  double worst = 0;
  // Every 997th float, of both signs.
  for (std::uint32_t bits = 0; bits <= 0x7f800000U;) {
    for (std::size_t i = 0; i < kNumbers; ++i, bits += 997) {
      const std::uint32_t magnitude = std::min(bits, 0x7f800000U);
      x[i] = std::bit_cast<float>(magnitude | static_cast<std::uint32_t>(i % 2) << 31);
    }
    lane_kernels().affine(layer, &in, y.data(), true);
    for (std::size_t i = 0; i < kNumbers; ++i) {
      worst = std::max(worst, std::abs(y[i] - std::tanh(double{x[i]})));
    }
  }
  CHECK(worst < 4e-7);
}

TEST_CASE("what is no number ends at a bound", "[deploy][lane-kernels]") {
  const float nan = std::nanf("");
  const float inf = INFINITY;
  const std::vector<float> o{nan, inf, -inf, 5, -5, 0.5F};
  const std::vector<float> shift(o.size(), 0);
  const std::vector<float> scale(o.size(), 1);
  std::vector<float> x(o.size());
  for (std::size_t k = 0; k < lane_kernel_count(); ++k) {
    const auto normalise = lane_kernels_at(k).normalise;
    CHECK_FALSE(normalise(o.data(), shift.data(), scale.data(), 3, x.data(), o.size()));
    CHECK(x == std::vector<float>{3, 3, -3, 3, -3, 0.5F});
    // One number that is not finite is noticed at every place.
    for (const float odd : {nan, inf, -inf, std::numeric_limits<float>::max()}) {
      for (std::size_t place = 0; place < 37; ++place) {
        std::vector<float> many(37, -1);
        many[place] = odd;
        std::vector<float> out(37);
        const std::vector<float> zeros(37);
        CHECK(normalise(many.data(), zeros.data(), zeros.data(), 3, out.data(), 37) ==
              std::isfinite(odd));
      }
    }
    std::vector<float> gates(4 * kLane, nan);
    const std::vector<float> c(kLane, 1);
    std::vector<float> next(kLane);
    std::vector<float> h(kLane);
    lane_kernels_at(k).cell(gates.data(), c.data(), next.data(), h.data(), kLane);
    for (const float value : next) CHECK(std::isfinite(value));
    for (const float value : h) CHECK(std::isfinite(value));
  }
}

}  // namespace
}  // namespace cclgym
