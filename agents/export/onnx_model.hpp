// Converts trained weights to an ONNX model, for programs that have an ONNX runtime
// (docs/deploy.md). The critic is left out, since it does not affect decisions.
//
// Shapes: N numbers per observation, B calls side by side, A legal actions, D dimensions of the
// action, L_d levels of dimension d. Floats have 32 bits, integers 64.
//
// * Inputs: observation [B, N]; h and c [B, lstm], which a network without LSTM lacks; legal [A, D]
// * Outputs: levels [B, D], for each head the likeliest level that some row of `legal` has together
//   with the earlier choices; logits_d [B, L_d] for each d from 0, without masks, given the earlier
//   levels; h_next and c_next [B, lstm]
//
// Metadata (texts; all but the first four are JSON): cclgym_version, environment, action_profile,
// provenance, features, knobs, levels, lstm, and for each rule rules/MACHINE/COLLECTIVE, the rows
// of `legal`.
#pragma once

#include <string>
#include <vector>

#include "agents/export/policy_export.hpp"
#include "agents/network/policy_weights.hpp"

namespace cclgym {

/// Versions that onnxruntime 1.0 (2019) and everything newer read.
inline constexpr int kOnnxOpset = 11;
inline constexpr int kOnnxIrVersion = 6;

/// Throws UserError if this build has no ONNX.
void need_onnx();

/// The model as the bytes of its file; equal arguments give equal bytes. Throws what
/// need_onnx throws, and std::logic_error for the reasons of to_policy_file.
[[nodiscard]] std::string onnx_model(const PolicyWeights& weights,
                                     const std::vector<PolicyRules>& rules);

}  // namespace cclgym
