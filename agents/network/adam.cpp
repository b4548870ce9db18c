#include <cmath>
#include <stdexcept>

#include "agents/network/policy_gradient.hpp"

namespace cclgym {

AdamState initial_adam_state(const PolicyWeights& weights) {
  AdamState state;
  for (const PolicyTensor& tensor : weights.tensors) {
    state.mean.emplace_back(tensor.values.size(), 0.0F);
    state.square.emplace_back(tensor.values.size(), 0.0F);
  }
  return state;
}

double adam_step(PolicyWeights& weights, AdamState& state, PolicyGradient& gradient,
                 double learning_rate, double largest_norm) {
  constexpr float kMeanDecay = 0.9F;
  constexpr float kSquareDecay = 0.999F;
  constexpr double kEpsilon = 1e-8;
  double squares = 0;
  for (const auto& tensor : gradient.gradients) {
    for (const float g : tensor) squares += static_cast<double>(g) * static_cast<double>(g);
  }
  const double norm = std::sqrt(squares);
  if (!std::isfinite(norm)) throw std::runtime_error("training diverged: a gradient is not finite");
  const float scale = norm > largest_norm ? static_cast<float>(largest_norm / norm) : 1.0F;
  ++state.steps;
  const double count = static_cast<double>(state.steps);
  const double mean_correction = 1 - std::pow(static_cast<double>(kMeanDecay), count);
  const double square_correction = 1 - std::pow(static_cast<double>(kSquareDecay), count);
  const auto rate = static_cast<float>(learning_rate / mean_correction);
  const auto square_scale = static_cast<float>(1 / square_correction);
  for (std::size_t i = 0; i < weights.tensors.size(); ++i) {
    std::vector<float>& values = weights.tensors[i].values;
    std::vector<float>& mean = state.mean[i];
    std::vector<float>& square = state.square[i];
    const std::vector<float>& slope = gradient.gradients[i];
    for (std::size_t j = 0; j < values.size(); ++j) {
      const float g = slope[j] * scale;
      mean[j] = kMeanDecay * mean[j] + (1 - kMeanDecay) * g;
      square[j] = kSquareDecay * square[j] + (1 - kSquareDecay) * g * g;
      values[j] -=
          rate * mean[j] / (std::sqrt(square[j] * square_scale) + static_cast<float>(kEpsilon));
    }
  }
  return norm;
}

}  // namespace cclgym
