// A policy for CollectiveTuning-v0 whose choices are set by hand.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "agents/training/training_environment.hpp"
#include "core/random.hpp"

namespace cclgym::test {

/// Weights that choose tree, LL and 4 channels below a size, and ring, Simple and 8 channels from
/// that size on. If `tuner`, they choose the first level of every knob, which is NCCL's default.
inline PolicyWeights hand_made(const YamlValue& options, bool tuner) {
  const TrainingEnvironment where("CollectiveTuning-v0", options, {});
  Random random(1);
  PolicyWeights weights = initial_policy_weights(
      where.network_shape({.encoder = {1}, .lstm = 0, .head = 2, .value = 1, .levels = {}}),
      random);
  where.describe(weights);
  for (PolicyTensor& tensor : weights.tensors) {
    std::fill(tensor.values.begin(), tensor.values.end(), 0.0F);
  }
  const auto set = [&](const std::string& name, std::size_t at, float value) {
    for (PolicyTensor& tensor : weights.tensors) {
      if (tensor.name == name) tensor.values.at(at) = value;
    }
  };
  // The encoder's only unit is -1 below 2^20 bytes and 1 above, because "size" is log2(bytes) / 30.
  for (std::size_t i = 0; i < weights.features.size(); ++i) {
    if (weights.features[i] == "size") set("encoder.0.weight", i, 3000);
  }
  set("encoder.0.bias", 0, -3000.0F * 19.9F / 30);
  for (std::size_t d = 0; d < 3; ++d) {
    const std::string head = "head." + std::to_string(d);
    set(head + ".weight", 0, 5);
    const std::vector<std::string>& levels = weights.knobs[d].levels;
    const auto wants = [&](const std::string& small, const std::string& large) {
      for (std::size_t v = 0; v < levels.size(); ++v) {
        float base = -3;
        if (levels[v] == small || levels[v] == large) base = 0;
        if (tuner && d == 0 && v == 0) base = 9;
        set(head + ".out.bias", v, base);
        set(head + ".out.weight", v * 2,
            levels[v] == small   ? -1.0F
            : levels[v] == large ? 1.0F
                                 : 0);
      }
    };
    if (d == 0) wants("tree", "ring");
    if (d == 1) wants("LL", "Simple");
    if (d == 2) wants("4", "8");
  }
  return weights;
}

}  // namespace cclgym::test
