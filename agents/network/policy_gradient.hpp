// Losses of the policy's network and their gradients, computed by LibTorch. A build without
// LibTorch lacks only this and TorchScript.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "agents/network/policy_weights.hpp"
#include "agents/network/rollout.hpp"

namespace cclgym {

/// True if the build has LibTorch.
[[nodiscard]] bool training_available();
/// Version of the library ("LibTorch 1.13.1"), or a message that it is missing.
[[nodiscard]] std::string training_library();

struct LossOptions {
  /// Trains the heads' Q values towards those of the batch (agents/network/dqn.hpp); all other
  /// losses are off.
  bool q_values = false;
  /// Behaviour cloning: minimises -log probability of the levels instead of PPO's objective.
  bool clone = false;
  double clip = 0.2;      ///< limit of the probability ratio (Schulman et al. 2017, equation 7)
  double entropy = 0.01;  ///< weight of the entropy of the choices; if the batch has weights of its
                          ///< own, they are multiplied by this number
  double value_weight = 0.5;  ///< weight of the critic's squared error
};

struct LossStatistics {
  double policy = 0;      ///< PPO: negative objective; cloning: mean of -log probability; DQN: mean
                          ///< over steps of the heads' summed Huber losses
  double value = 0;       ///< mean squared error of the critic
  double entropy = 0;     ///< mean over steps, summed over dimensions, nat
  double divergence = 0;  ///< mean of (ratio - 1) - log ratio: Kullback-Leibler, nat
  double clipped = 0;     ///< fraction of steps with a clipped ratio
};

struct PolicyGradient {
  std::vector<std::vector<float>> gradients;  ///< gradients in the order of weights.tensors
  LossStatistics statistics;
};

/// Gradient of the mean loss over the steps of a batch. The batch is cut into kGradientShards parts
/// of complete sequences, and their sums are added in order, so that the bits do not depend on
/// `threads` (at least 1). Throws UserError if the build has no LibTorch.
[[nodiscard]] PolicyGradient policy_gradient(const PolicyWeights& weights,
                                             const SequenceBatch& batch, const LossOptions& options,
                                             std::size_t threads);
inline constexpr std::size_t kGradientShards = 2;

/// Outputs of the network for a batch, for tests: [steps x sequences] each.
struct PolicyOutputs {
  std::vector<float> log_probability;
  std::vector<float> value;
};
[[nodiscard]] PolicyOutputs policy_outputs(const PolicyWeights& weights,
                                           const SequenceBatch& batch);

/// Adam (Kingma and Ba 2015, algorithm 1) on plain numbers, so that checkpoints keep its state
/// exactly.
struct AdamState {
  std::vector<std::vector<float>> mean;    ///< first moment of each tensor
  std::vector<std::vector<float>> square;  ///< second moment of each tensor
  std::uint64_t steps = 0;

  friend bool operator==(const AdamState&, const AdamState&) = default;
};
[[nodiscard]] AdamState initial_adam_state(const PolicyWeights& weights);
/// Takes a step; first scales the gradients down to norm `largest_norm` if theirs is larger.
/// Returns the original norm. Throws std::runtime_error if it is not finite.
double adam_step(PolicyWeights& weights, AdamState& state, PolicyGradient& gradient,
                 double learning_rate, double largest_norm);

}  // namespace cclgym
