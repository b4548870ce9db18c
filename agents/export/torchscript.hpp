// Converts trained weights to a TorchScript module, for programs that have LibTorch or PyTorch
// (docs/deploy.md). The critic is left out, since it does not affect decisions.
//
// Shapes: N numbers per observation, B calls side by side, D dimensions of the action, L_d levels
// of dimension d. Floats have 32 bits, integers 64. Methods:
//
// * forward(observation [B, N], h [B, lstm], c [B, lstm]) -> (logits: D times [B, L_d], h', c'):
//   works without masks; each head is given the likeliest levels of the earlier heads
// * logits(observation, h, c, levels [B, D]) -> (logits, h', c'): gives each head the `levels` of
//   the earlier heads
// * decide(observation, h, c, legal [A, D]) -> (levels [B, D], h', c'): takes for each head the
//   likeliest level that some row of `legal` has together with the earlier choices
// * initial_state(B) -> (h, c)
//
// Attributes: rules (Dict[str, Tensor]: the legal actions by "MACHINE/COLLECTIVE"), feature_names,
// knob_names, level_names, environment, action_profile, provenance.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agents/export/policy_export.hpp"
#include "agents/network/policy_weights.hpp"

namespace cclgym {

/// Methods of the module as TorchScript: Python that LibTorch compiles. Tensors are attributes with
/// the tensors' names, in which '_' replaces '.'.
[[nodiscard]] std::string torchscript_source(const PolicyShape& shape, float input_limit);

/// The module as the bytes of its file. Throws UserError if LibTorch is missing, and
/// std::logic_error for the reasons of to_policy_file.
[[nodiscard]] std::string torchscript_module(const PolicyWeights& weights,
                                             const std::vector<PolicyRules>& rules);

/// Results of a module, for tests.
struct ScriptedCalls {
  std::vector<std::int64_t> levels;  ///< [calls x D], from decide
  std::vector<float> logits;         ///< [calls x sum of L_d], from logits, given these levels
  std::vector<float> forward;        ///< [calls x sum of L_d], from forward
  std::vector<float> states;         ///< [calls x 2 lstm]: h, then c, after each call
};
/// Loads a file with torch::jit::load and plays `observations` ([calls x N]) in sequence from the
/// initial state, under the rules of a machine and collective. Throws UserError if the file is
/// no such module or has no such rules.
[[nodiscard]] ScriptedCalls run_torchscript(const std::string& path, const std::string& rules,
                                            std::span<const float> observations);

}  // namespace cclgym
