// Floating-point operations and memory traffic of a transformer's parts on one GPU.
#pragma once

#include <cstdint>

#include "workloads/generators/transformer_models.hpp"

namespace cclgym {

/// Cost of a forward pass. A backward pass costs twice as much.
struct PartCost {
  double flop = 0;
  double memory_bytes = 0;
  /// Share of `flop` in the first, column-parallel matrix: work of its gradient in the backward
  /// pass, which nothing but the gradient's reduction waits for.
  double column_flop = 0;
  double scores_flop = 0;  ///< share of `flop` in scores and their product with the values
};

/// Tokens that a GPU processes, and the cut of the model.
struct PartSize {
  double sequences = 1;
  double queries = 1;  ///< tokens per sequence that are processed
  double keys = 1;     ///< tokens per sequence that each of them attends to
  std::uint64_t tp = 1;
  bool sequence_parallel = false;
  double element_bytes = 2;
};

/// FLOP as in Narayanan et al. 2021 (appendix): 2 per element of a matrix and token, and 4 h per
/// token and key in attention; causal masks save nothing, as in the paper. Memory traffic is an
/// assumption: weights are read once; a matrix product reads its input and writes its output;
/// norms, residual additions and dropout pass over the activations five times; attention is fused
/// (Dao et al. 2022), so scores never reach memory, but keys and values are read.
[[nodiscard]] PartCost attention_cost(const TransformerModel& model, const PartSize& size);
/// A dense MLP with its norm; of a mixture of experts, the norm and the router.
[[nodiscard]] PartCost mlp_cost(const TransformerModel& model, const PartSize& size);
/// Experts of one GPU, with tokens spread evenly over all experts.
[[nodiscard]] PartCost experts_cost(const TransformerModel& model, const PartSize& size,
                                    std::uint64_t ep);
[[nodiscard]] PartCost embedding_cost(const TransformerModel& model, const PartSize& size);
/// The last norm, logits of a part of the padded vocabulary, and their cross-entropy.
[[nodiscard]] PartCost head_cost(const TransformerModel& model, const PartSize& size);

/// Adam with half-precision parameters (Kingma and Ba 2014; Rajbhandari et al. 2019, section 3.1):
/// reads the gradient and three values of 4 B (parameter, two moments), writes those three and the
/// parameter. About 12 FLOP per parameter.
[[nodiscard]] PartCost adam_cost(double parameters, double gradient_bytes, double element_bytes);

}  // namespace cclgym
