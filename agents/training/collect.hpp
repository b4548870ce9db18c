// Fills rollouts: a policy acts in environments, each of which stays in one thread throughout.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "agents/experts/experience.hpp"
#include "agents/experts/expert.hpp"
#include "agents/network/policy_network.hpp"
#include "agents/network/rollout.hpp"
#include "agents/training/exploration.hpp"
#include "agents/training/training_environment.hpp"

namespace cclgym {

/// An environment for episodes, and its expert if there is one.
struct CollectSlot {
  std::unique_ptr<Environment> environment;
  Expert* expert = nullptr;
  const Experience* experience = nullptr;  ///< earlier trials on this machine; may be null
  std::size_t sharing = 1;                 ///< slots that explore for this experience
  Experience::Notes notes{};               ///< trials of this rollout, if there is experience
};

struct CollectOptions {
  std::uint64_t seed = 0;  ///< seed of this rollout: slot i uses streams (seed, i)
  /// Behaviour cloning: rows are labelled with the expert's choice. The environment is stepped with
  /// it in this fraction of the calls, and otherwise with the policy's own choice (DAgger, Ross et
  /// al. 2011). Negative without an expert; rows then have the policy's own draws.
  double expert_share = -1;
  /// DQN: fraction of the calls with random legal levels; the others take the policy's likeliest
  /// levels. Negative without DQN: levels are drawn.
  double epsilon = -1;
  /// Imitation of the slots' experience: rows are labelled with its best action. This fraction of
  /// the calls is explored, as far as the budget allows; the policy plays the others. Negative
  /// without imitation.
  double explored_share = -1;
  ValuePrior prior = ValuePrior::Programs;
  /// Rules that fill rollout.entropy; calls that match none of them get `entropy`. May be empty.
  std::span<const ExplorationRule> exploration{};
  double entropy = 0;
  std::size_t threads = 1;
};

/// Resets every slot and plays rollout.shape.steps steps; after an episode ends, a new one begins.
/// The result depends on the weights and the seed, not on `threads`.
///
/// A vector environment (env/gym/vector_env.hpp) would step all environments between two decisions
/// of the policy; here each thread runs complete environments, including decisions, and threads
/// synchronise once per rollout.
void collect(const std::shared_ptr<const PolicyNetwork>& network, std::vector<CollectSlot>& slots,
             const CollectOptions& options, Rollout& rollout);

}  // namespace cclgym
