// A trained policy as plain numbers, from which it runs without LibTorch. docs/agents.md, "The
// equations of the network", defines the network and the names of its tensors.
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
  std::size_t head = 24;                 ///< hidden units of the head of each dimension
  std::size_t value = 64;                ///< hidden units of the critic
  std::vector<std::size_t> levels;       ///< by dimension of the action

  [[nodiscard]] std::size_t encoded() const { return encoder.back(); }
  /// Length of z.
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
  std::string name;                 ///< name, such as "algorithm"
  std::vector<std::string> levels;  ///< names, such as "nccl-default" or "ring"

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
  std::string environment;  ///< name of the environment: "CollectiveTuning-v0"
  std::string
      action_profile;  ///< for example "stock-nccl" or "offline"; empty for other environments
  std::vector<PolicyKnob> knobs;  ///< [dimensions]
  // Origin of the weights.
  std::string provenance;  ///< text: the training file, its hash, seed, steps, version

  /// The tensor of this name. Throws std::logic_error if there is none.
  [[nodiscard]] const PolicyTensor& tensor(std::string_view name) const;
  friend bool operator==(const PolicyWeights&, const PolicyWeights&) = default;
};

/// Reason why these weights cannot run, such as "tensor 'lstm.bias' has 12 numbers, expected 128"
/// or "tensor 'encoder.0.weight' has a number that is not finite"; empty if they can run.
[[nodiscard]] std::string policy_weights_fault(const PolicyWeights& weights);

/// Initial weights: uniform in +-sqrt(3 / columns). The last layers of heads have a hundredth of
/// that, so that all choices start about equally likely. Biases are 0, except that those of the
/// LSTM's forget gate are 1. input_shift is 0, input_scale 1. Depends only on `random`.
[[nodiscard]] PolicyWeights initial_policy_weights(const PolicyShape& shape, Random& random);

}  // namespace cclgym
