// Networks with names and rules, for the tests of exported policies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "agents/agents_testing.hpp"
#include "agents/network/policy_network.hpp"

namespace cclgym::test {

[[nodiscard]] inline PolicyWeights named_weights(const PolicyShape& shape, std::uint64_t seed) {
  PolicyWeights weights = random_weights(shape, seed);
  for (std::size_t i = 0; i < shape.observations; ++i) weights.features.push_back("o");
  for (const std::size_t n : shape.levels) {
    weights.knobs.push_back({"knob", std::vector<std::string>(n, "level")});
  }
  return weights;
}

/// A random subset of the actions with 3, 2 and 4 levels.
[[nodiscard]] inline std::vector<std::int32_t> some_actions(Random& random) {
  std::vector<std::int32_t> actions;
  for (std::int32_t code = 0; code < 24; ++code) {
    if (random.uniform() < 0.5 && code != 13) continue;
    actions.insert(actions.end(), {code / 8, code / 4 % 2, code % 4});
  }
  return actions;
}

/// Allows these actions of three dimensions.
class LegalActions : public ConditionalMasks {
 public:
  explicit LegalActions(std::vector<std::int32_t> actions) : actions_(std::move(actions)) {}
  void mask(std::span<const std::int32_t> prefix, std::span<std::uint8_t> out) const override {
    std::ranges::fill(out, std::uint8_t{0});
    for (std::size_t at = 0; at < actions_.size(); at += 3) {
      const auto* const action = actions_.data() + at;
      if (!std::equal(prefix.begin(), prefix.end(), action)) continue;
      out[static_cast<std::size_t>(action[prefix.size()])] = 1;
    }
  }

 private:
  std::vector<std::int32_t> actions_;
};

/// Allows every level of every dimension.
class AllLegal : public ConditionalMasks {
 public:
  void mask(std::span<const std::int32_t> /*prefix*/, std::span<std::uint8_t> out) const override {
    std::ranges::fill(out, std::uint8_t{1});
  }
};

}  // namespace cclgym::test
