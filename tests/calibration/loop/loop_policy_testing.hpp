// Policies for OpenMPI with random weights, for the tests of the loop.
#pragma once

#include <cstdint>
#include <string>

#include "agents/agents_testing.hpp"
#include "agents/export/policy_export.hpp"
#include "agents/training/training_environment.hpp"
#include "core/yaml/yaml.hpp"

namespace cclgym::test {

/// The environment of `options` (a YAML mapping), without its braces.
[[nodiscard]] inline TrainingEnvironment loop_environment(const std::string& options) {
  return {"CollectiveTuning-v0", parse_yaml("{" + options + "}", "t.yaml"), {}};
}

[[nodiscard]] inline PolicyWeights loop_weights(const TrainingEnvironment& where,
                                                std::uint64_t seed) {
  PolicyWeights weights = random_weights(
      where.network_shape(
          {.observations = 0, .encoder = {12}, .lstm = 6, .head = 8, .value = 4, .levels = {}}),
      seed);
  where.describe(weights);
  return weights;
}

[[nodiscard]] inline PolicyFile loop_policy_file(const TrainingEnvironment& where,
                                                 std::uint64_t seed) {
  return to_policy_file(loop_weights(where, seed),
                        policy_rules(*where.setup()->actions, where.setup()->fabric_label));
}

}  // namespace cclgym::test
