// Fills rollouts: a policy acts in environments, each of which stays in one thread throughout.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "agents/network/policy_network.hpp"
#include "agents/network/rollout.hpp"
#include "agents/training/expert.hpp"
#include "agents/training/exploration.hpp"
#include "agents/training/training_environment.hpp"

namespace cclgym {

/// An environment for episodes, and its expert if there is one.
struct CollectSlot {
  std::unique_ptr<Environment> environment;
  Expert* expert = nullptr;
};

struct CollectOptions {
  std::uint64_t seed = 0;  ///< seed of this rollout: slot i uses streams (seed, i)
  /// Behaviour cloning: rows are labelled with the expert's choice, and the environment is stepped
  /// with it in this fraction of the calls, otherwise with the policy's own (DAgger, Ross et al.
  /// 2011). Negative: no expert; rows have the policy's own draws.
  double expert_share = -1;
  /// DQN: takes the policy's likeliest levels, but random legal ones in this fraction of the calls.
  /// Negative: draws.
  double epsilon = -1;
  bool prior = true;  ///< true if the critic has value_prior; else the prior is 0
  /// If there are rules, they fill rollout.entropy; calls that match none get `entropy`.
  std::span<const ExplorationRule> exploration{};
  double entropy = 0;
  std::size_t threads = 1;
};

/// Resets every slot and plays rollout.shape.steps steps; ended episodes are followed by new ones.
/// The result depends on the weights and the seed, not on `threads`.
///
/// A vector environment (env/gym/vector_env.hpp) would step all environments between two decisions
/// of the policy; here each thread runs complete environments, including decisions, and threads
/// synchronise once per rollout.
void collect(const std::shared_ptr<const PolicyNetwork>& network, std::vector<CollectSlot>& slots,
             const CollectOptions& options, Rollout& rollout);

}  // namespace cclgym
