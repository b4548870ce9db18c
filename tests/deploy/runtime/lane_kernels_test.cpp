// Checks that the kernels of all instruction sets give the same bits, and mathematically correct
// results.
#include "deploy/runtime/lane_kernels.hpp"

#include <cmath>
#include <cstring>

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
        weights[packed_place(layer, row, i)] = w;
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
        lane_kernels_at(0).affine(sample.layer, sample.layer.bias, sample.in.data(), first.data(),
                                  tanh);
        for (std::size_t row = 0; row < rows; ++row) {
          double sum = sample.bias[row];
          for (std::size_t i = 0; i < inputs; ++i) {
            sum += double{sample.dense[row * inputs + i]} * sample.in[i];
          }
          CHECK(std::abs(first[row] - (tanh ? std::tanh(sum) : sum)) < 2e-6);
        }
        for (std::size_t k = 1; k < lane_kernel_count(); ++k) {
          std::vector<float> other(rows);
          lane_kernels_at(k).affine(sample.layer, sample.layer.bias, sample.in.data(), other.data(),
                                    tanh);
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

TEST_CASE("what is no number ends at a bound", "[deploy][lane-kernels]") {
  const float nan = std::nanf("");
  const float inf = INFINITY;
  const std::vector<float> o{nan, inf, -inf, 5, -5, 0.5F};
  const std::vector<float> shift(o.size(), 0);
  const std::vector<float> scale(o.size(), 1);
  std::vector<float> x(o.size());
  for (std::size_t k = 0; k < lane_kernel_count(); ++k) {
    lane_kernels_at(k).normalise(o.data(), shift.data(), scale.data(), 3, x.data(), o.size());
    CHECK(x == std::vector<float>{3, 3, -3, 3, -3, 0.5F});
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
