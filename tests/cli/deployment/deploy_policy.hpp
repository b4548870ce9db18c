// Policies for the tests of cclgym deploy.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "agents/export/policy_export.hpp"
#include "agents/training/training_environment.hpp"
#include "deploy/sample_policy.hpp"

namespace cclgym::test {

// A policy with random weights for a fabric. `profile` may have more
// options after the name of the actions. `wanted` is a
// level to choose wherever it is legal, for all knobs that have it.
inline std::string policy_for(const std::string& fabric, const std::string& profile,
                              std::uint64_t seed, const std::vector<std::string>& wanted = {},
                              const std::string& collectives = "allreduce") {
  const YamlValue options = parse_yaml("{fabric: " + fabric + ", actions: " + profile +
                                           ", window: 2, workload: {name: sweep, collectives: [" +
                                           collectives + "], sizes: 1MiB}}",
                                       "t.yaml");
  const TrainingEnvironment where("CollectiveTuning-v0", options, {});
  PolicyWeights weights = sample_weights(
      where.network_shape({.encoder = {8}, .lstm = 4, .head = 6, .value = 2, .levels = {}}), seed);
  where.describe(weights);
  for (std::size_t k = 0; k < weights.knobs.size(); ++k) {
    for (PolicyTensor& tensor : weights.tensors) {
      if (tensor.name != "head." + std::to_string(k) + ".out.bias") continue;
      for (std::size_t v = 0; v < tensor.values.size(); ++v) {
        const std::string& level = weights.knobs[k].levels[v];
        if (std::find(wanted.begin(), wanted.end(), level) != wanted.end()) tensor.values[v] = 1e4F;
      }
    }
  }
  return format_policy(
      to_policy_file(weights, policy_rules(*where.setup()->actions, where.setup()->fabric_label)));
}

}  // namespace cclgym::test
