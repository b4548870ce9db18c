// Policies with random weights for the tests of deploy/, and the network in double precision, line
// by line as agents/network/policy_weights.hpp describes it.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "agents/export/policy_export.hpp"
#include "agents/network/policy_weights.hpp"
#include "core/random.hpp"
#include "deploy/runtime/policy_runtime.h"

namespace cclgym::test {

inline PolicyShape small_shape() {
  return {.observations = 7, .encoder = {9}, .lstm = 5, .head = 6, .value = 3, .levels = {3, 2, 4}};
}
/// The shape for CollectiveTuning-v0 with profile offline.
inline PolicyShape full_shape() {
  return {.observations = 93, .levels = {13, 5, 3, 7, 6, 4, 6, 3}};
}

/// Random weights that differ enough for the choices to vary.
inline PolicyWeights sample_weights(const PolicyShape& shape, std::uint64_t seed) {
  Random random(seed);
  PolicyWeights weights = initial_policy_weights(shape, random);
  for (PolicyTensor& tensor : weights.tensors) {
    const bool last = tensor.name.ends_with(".out.weight");
    const bool bias = tensor.name.ends_with("bias");
    for (float& value : tensor.values) {
      if (last) value *= 100;
      if (bias) value = static_cast<float>(random.uniform(-0.5, 0.5));
    }
  }
  for (std::size_t i = 0; i < shape.observations; ++i) {
    weights.input_shift[i] = static_cast<float>(random.uniform(-0.5, 0.5));
    weights.input_scale[i] = static_cast<float>(random.uniform(0.5, 2));
    weights.features.push_back("feature" + std::to_string(i));
  }
  weights.input_limit = 3;
  for (std::size_t d = 0; d < shape.levels.size(); ++d) {
    PolicyKnob knob{"knob" + std::to_string(d), {}};
    for (std::size_t v = 0; v < shape.levels[d]; ++v) {
      knob.levels.push_back("level" + std::to_string(v));
    }
    weights.knobs.push_back(knob);
  }
  weights.environment = "Test-v0";
  weights.provenance = "made by a test";
  return weights;
}

struct FreePolicy {
  void operator()(cclgym_policy* policy) const { cclgym_policy_free(policy); }
};
using LoadedPolicy = std::unique_ptr<cclgym_policy, FreePolicy>;

inline LoadedPolicy load(const std::string& bytes, std::string* message = nullptr) {
  cclgym_policy* policy = nullptr;
  char error[300] = "";
  const int status = cclgym_policy_parse(bytes.data(), bytes.size(), &policy, error, sizeof(error));
  if (message != nullptr) *message = error;
  if (status != CCLGYM_POLICY_OK && policy != nullptr) std::abort();
  return LoadedPolicy(policy);
}

/// The network in double precision.
class ReferenceNetwork {
 public:
  explicit ReferenceNetwork(const PolicyWeights& weights)
      : weights_(weights), h_(weights.shape.lstm, 0), c_(weights.shape.lstm, 0) {}

  using Vector = std::vector<double>;

  /// Advances the state by one observation, and computes z.
  void see(const std::vector<float>& observation) {
    Vector x;
    for (std::size_t i = 0; i < observation.size(); ++i) {
      const double limit = weights_.input_limit;
      x.push_back(
          std::clamp((double{observation[i]} - weights_.input_shift[i]) * weights_.input_scale[i],
                     -limit, limit));
    }
    for (std::size_t k = 0; k < weights_.shape.encoder.size(); ++k) {
      x = tanh_of(linear("encoder." + std::to_string(k), x));
    }
    z_ = x;
    const std::size_t n = weights_.shape.lstm;
    if (n == 0) return;
    Vector gates = product("lstm.weight_ih", x);
    const Vector recurrent = product("lstm.weight_hh", h_);
    const auto& bias = weights_.tensor("lstm.bias").values;
    for (std::size_t i = 0; i < 4 * n; ++i) gates[i] += recurrent[i] + bias[i];
    for (std::size_t i = 0; i < n; ++i) {
      c_[i] = sigmoid(gates[n + i]) * c_[i] + sigmoid(gates[i]) * std::tanh(gates[2 * n + i]);
      h_[i] = sigmoid(gates[3 * n + i]) * std::tanh(c_[i]);
    }
    z_.insert(z_.end(), h_.begin(), h_.end());
  }

  Vector logits(std::size_t d, const std::vector<std::int32_t>& choices) const {
    const std::string head = "head." + std::to_string(d);
    Vector q = linear(head, z_);
    for (std::size_t j = 0; j < d; ++j) {
      const auto& rows = weights_.tensor(head + ".choice." + std::to_string(j)).values;
      for (std::size_t i = 0; i < q.size(); ++i) {
        q[i] += rows[static_cast<std::size_t>(choices[j]) * q.size() + i];
      }
    }
    return linear(head + ".out", tanh_of(q));
  }

 private:
  static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
  static Vector tanh_of(Vector x) {
    for (double& value : x) value = std::tanh(value);
    return x;
  }
  [[nodiscard]] Vector product(const std::string& name, const Vector& x) const {
    const PolicyTensor& w = weights_.tensor(name);
    Vector out(w.shape[0], 0);
    for (std::size_t i = 0; i < out.size(); ++i) {
      for (std::size_t j = 0; j < x.size(); ++j)
        out[i] += double{w.values[i * x.size() + j]} * x[j];
    }
    return out;
  }
  [[nodiscard]] Vector linear(const std::string& name, const Vector& x) const {
    Vector out = product(name + ".weight", x);
    const auto& bias = weights_.tensor(name + ".bias").values;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += bias[i];
    return out;
  }

  const PolicyWeights& weights_;
  Vector h_;
  Vector c_;
  Vector z_;
};

}  // namespace cclgym::test
