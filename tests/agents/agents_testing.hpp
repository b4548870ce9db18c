// Helpers shared by the tests of agents.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "agents/network/policy_weights.hpp"
#include "agents/network/rollout.hpp"
#include "core/random.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {

/// A small network with every kind of layer.
[[nodiscard]] inline PolicyShape small_shape() {
  return {
      .observations = 5, .encoder = {7, 6}, .lstm = 4, .head = 5, .value = 3, .levels = {3, 2, 4}};
}

/// Random weights, none of which is zero.
[[nodiscard]] inline PolicyWeights random_weights(const PolicyShape& shape, std::uint64_t seed) {
  Random random(seed);
  PolicyWeights weights = initial_policy_weights(shape, random);
  for (PolicyTensor& tensor : weights.tensors) {
    for (float& value : tensor.values) value = static_cast<float>(random.uniform(-0.7, 0.7));
  }
  for (float& shift : weights.input_shift) shift = static_cast<float>(random.uniform(-1, 1));
  for (float& scale : weights.input_scale) scale = static_cast<float>(random.uniform(0.5, 2));
  return weights;
}

/// A rollout of random numbers, in which the level in `levels` is legal in every dimension.
[[nodiscard]] inline Rollout random_rollout(const PolicyShape& shape, std::size_t environments,
                                            std::size_t steps, std::uint64_t seed) {
  Rollout rollout({.environments = environments,
                   .steps = steps,
                   .observations = shape.observations,
                   .lstm = shape.lstm,
                   .levels = shape.levels});
  Random random(seed);
  const auto number = [&] { return static_cast<float>(random.uniform(-1, 1)); };
  for (float& x : rollout.observations) x = 2 * number();
  for (float& x : rollout.states) x = number();
  for (std::size_t row = 0; row < rollout.rows(); ++row) {
    rollout.starts[row] = random.uniform() < 0.2 ? 1 : 0;
    std::size_t offset = row * rollout.shape.mask_size();
    for (std::size_t d = 0; d < shape.levels.size(); ++d) {
      const auto last = static_cast<std::int64_t>(shape.levels[d]) - 1;
      const std::int64_t level = random.integer(0, last);
      rollout.levels[row * shape.levels.size() + d] = static_cast<std::int32_t>(level);
      for (std::int64_t i = 0; i <= last; ++i) {
        rollout.masks[offset + static_cast<std::size_t>(i)] =
            i == level || random.uniform() < 0.6 ? 1 : 0;
      }
      offset += shape.levels[d];
    }
    rollout.log_probability[row] = -1 + number();
    rollout.prior[row] = number();
    rollout.advantage[row] = number();
    rollout.target[row] = number();
  }
  return rollout;
}

}  // namespace cclgym::test
