// Losses of the policy's network and their gradients, by LibTorch. A build without it has
// everything else but TorchScript.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "agents/network/policy_weights.hpp"
#include "agents/network/rollout.hpp"

namespace cclgym {

/// Was LibTorch there when this was built?
[[nodiscard]] bool training_available();
/// "LibTorch 1.13.1", or what is missing.
[[nodiscard]] std::string training_library();

struct LossOptions {
  /// The heads' Q values should be those of the batch (agents/network/dqn.hpp), in place of all
  /// else.
  bool q_values = false;
  /// Behaviour cloning: -log probability of the levels, in place of PPO's objective.
  bool clone = false;
  double clip = 0.2;      ///< of the probability ratio (Schulman et al. 2017, equation 7)
  double entropy = 0.01;  ///< weight of the entropy of the choices; a factor on those of the batch
                          ///< if it has weights of its own
  double value_weight = 0.5;  ///< weight of the critic's squared error
};

struct LossStatistics {
  double policy = 0;      ///< PPO's objective, negative; cloning: mean -log probability; DQN: mean
                          ///< over steps of the heads' Huber losses, added up
  double value = 0;       ///< mean squared error of the critic
  double entropy = 0;     ///< mean over steps, of all dimensions together, nat
  double divergence = 0;  ///< mean of (ratio - 1) - log ratio: Kullback-Leibler, nat
  double clipped = 0;     ///< share of steps whose ratio was clipped
};

struct PolicyGradient {
  std::vector<std::vector<float>> gradients;  ///< of each of weights.tensors
  LossStatistics statistics;
};

/// Gradient of the mean loss over the steps of a batch. The batch is cut into kGradientShards parts
/// of whole sequences, whose sums are added in order, so that the bits do not depend on `threads`
/// (1 or more). Throws UserError if there is no LibTorch.
[[nodiscard]] PolicyGradient policy_gradient(const PolicyWeights& weights,
                                             const SequenceBatch& batch, const LossOptions& options,
                                             std::size_t threads);
inline constexpr std::size_t kGradientShards = 2;

/// What the network says about a batch, for tests: [steps x sequences] each.
struct PolicyOutputs {
  std::vector<float> log_probability;
  std::vector<float> value;
};
[[nodiscard]] PolicyOutputs policy_outputs(const PolicyWeights& weights,
                                           const SequenceBatch& batch);

/// Adam (Kingma and Ba 2015, algorithm 1) on plain numbers, so that its state can be kept to the
/// bit.
struct AdamState {
  std::vector<std::vector<float>> mean;    ///< of each tensor: first moment
  std::vector<std::vector<float>> square;  ///< second moment
  std::uint64_t steps = 0;

  friend bool operator==(const AdamState&, const AdamState&) = default;
};
[[nodiscard]] AdamState initial_adam_state(const PolicyWeights& weights);
/// Scales the gradients down to norm `largest_norm` where theirs is larger, and takes a step.
/// Returns the norm that they had. Throws std::runtime_error if it is not finite.
double adam_step(PolicyWeights& weights, AdamState& state, PolicyGradient& gradient,
                 double learning_rate, double largest_norm);

}  // namespace cclgym
