// A trained policy as plain numbers, from which it runs without LibTorch.
// The network, for an observation o and the state (h, c) of the LSTM; W x + b of tensor pairs
// NAME.weight [rows, columns] and NAME.bias [rows]:
//
//   x_i = clamp((o_i - shift_i) * scale_i, -limit, limit)           input.shift, input.scale
//   e_0 = x, e_k = tanh(W e_(k-1) + b)                              encoder.K, K = 0, 1, …
//   [i f g o] = lstm.weight_ih e + lstm.weight_hh h + lstm.bias     four blocks of `lstm` rows
//   c' = sigmoid(f) c + sigmoid(i) tanh(g),  h' = sigmoid(o) tanh(c')
//   z = [e h']                                                      (z = e if lstm = 0)
//   for dimension d = 0, 1, … of the action, given the choices a_j of the earlier ones:
//     q_d = tanh(W z + b + sum over j < d of head.D.choice.J[a_j])  head.D, head.D.choice.J
//     logits_d = W q_d + b                                          head.D.out
//     a_d: among the levels that the conditional mask allows, the one of the largest logit (the
//          first of equals), or a draw from their softmax
//   value = W tanh(W [z p] + b) + b + value.prior * p               value, value.out, value.prior
//
// where p is the prior of the critic (agents/training/training_environment.hpp); actions do not
// depend on the value. The state is zero when an episode begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.hpp"

namespace cclgym {

/// Sizes of the layers.
struct PolicyShape {
  std::size_t observations = 0;
  std::vector<std::size_t> encoder{64};  ///< units of each layer; at least one layer
  std::size_t lstm = 32;                 ///< units; 0: no LSTM
  std::size_t head = 24;                 ///< hidden units of each dimension's head
  std::size_t value = 64;                ///< hidden units of the critic
  std::vector<std::size_t> levels;       ///< per dimension of the action

  [[nodiscard]] std::size_t encoded() const { return encoder.back(); }
  /// Numbers in z.
  [[nodiscard]] std::size_t features() const { return encoded() + lstm; }
  friend bool operator==(const PolicyShape&, const PolicyShape&) = default;
};

struct PolicyTensor {
  std::string name;
  std::vector<std::size_t> shape;
  std::vector<float> values;  ///< row-major

  friend bool operator==(const PolicyTensor&, const PolicyTensor&) = default;
};

/// Name and shape of every trained tensor, in the order of PolicyWeights::tensors.
[[nodiscard]] std::vector<PolicyTensor> policy_tensors(const PolicyShape& shape);

/// A dimension of the action and its levels.
struct PolicyKnob {
  std::string name;                 ///< "algorithm"
  std::vector<std::string> levels;  ///< "nccl-default", "ring", …

  friend bool operator==(const PolicyKnob&, const PolicyKnob&) = default;
};

struct PolicyWeights {
  PolicyShape shape;
  /// Names of the observation's numbers, in order; they must be the same in training and use.
  std::vector<std::string> features;
  std::vector<float> input_shift;  ///< [observations]
  std::vector<float> input_scale;  ///< [observations]
  float input_limit = 10;
  std::vector<PolicyTensor> tensors;  ///< named as in policy_tensors(shape)
  // Meaning of the actions.
  std::string environment;  ///< "CollectiveTuning-v0"
  std::string
      action_profile;  ///< "stock-nccl", "nccl-2.30", "offline"; empty for other environments
  std::vector<PolicyKnob> knobs;  ///< [dimensions]
  // Origin of the weights.
  std::string provenance;  ///< text: the training file, its hash, seed, steps, version

  /// The tensor of this name. Throws std::logic_error if there is none.
  [[nodiscard]] const PolicyTensor& tensor(std::string_view name) const;
  friend bool operator==(const PolicyWeights&, const PolicyWeights&) = default;
};

/// Reason why these weights cannot run: "tensor 'lstm.bias' has 12 numbers, expected 128", "tensor
/// 'encoder.0.weight' has a number that is not finite"; empty if they can.
[[nodiscard]] std::string policy_weights_fault(const PolicyWeights& weights);

/// Initial weights: uniform in +-sqrt(3 / columns), with biases 0 except the LSTM's forget gate
/// (1), and the last layers of heads a hundredth of that, so that all choices start about equally
/// likely. input_shift is 0, input_scale 1. Depends only on `random`.
[[nodiscard]] PolicyWeights initial_policy_weights(const PolicyShape& shape, Random& random);

}  // namespace cclgym
