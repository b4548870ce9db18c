// Fills rollouts: a policy acts in environments, each in a thread's hands from beginning to end.
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

/// A place in which episodes are played: an environment, and its expert if there is one.
struct CollectSlot {
  std::unique_ptr<Environment> environment;
  Expert* expert = nullptr;
};

struct CollectOptions {
  std::uint64_t seed = 0;  ///< of this rollout: slot i plays with streams (seed, i)
  /// Behaviour cloning: rows are labelled with the expert's choice, and the environment is stepped
  /// with it in this share of the calls, else with the policy's own (DAgger, Ross et al. 2011).
  /// Negative: no expert; rows have the policy's own draws.
  double expert_share = -1;
  /// DQN: the policy's likeliest levels, but random legal ones in this share of the calls.
  /// Negative: draws.
  double epsilon = -1;
  bool prior = true;  ///< does the critic have value_prior? Else 0
  /// If there are any, they fill rollout.entropy; where none fits, it is `entropy`.
  std::span<const ExplorationRule> exploration{};
  double entropy = 0;
  std::size_t threads = 1;
};

/// Every slot is reset and plays rollout.shape.steps steps; ended episodes are followed by new
/// ones. What comes out depends on the weights and the seed, not on `threads`.
///
/// Vector environments (env/gym/vector_env.hpp) would step all environments between two decisions
/// of the policy; here each thread carries whole environments, decisions included, and threads meet
/// once a rollout.
void collect(const std::shared_ptr<const PolicyNetwork>& network, std::vector<CollectSlot>& slots,
             const CollectOptions& options, Rollout& rollout);

}  // namespace cclgym
