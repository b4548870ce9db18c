// Tensor-parallel inference of a transformer: a prompt, then token by token.
#pragma once

#include <cstdint>
#include <optional>

#include "workloads/generators/transformer_job.hpp"

namespace cclgym {

struct InferenceJob {
  TransformerModel model;
  std::int64_t tp = 1;
  std::int64_t dp = 1;          ///< replicas, which do not communicate
  std::int64_t sequences = 8;   ///< sequences of each replica
  std::int64_t prompt = 512;    ///< tokens of a prompt; 0: no prompt is processed
  std::int64_t generated = 16;  ///< tokens generated per sequence
  std::int64_t context = 0;     ///< tokens that precede the prompt
  std::uint64_t element_bytes = 2;

  /// The same cut as a training job, for the checks of both.
  [[nodiscard]] TransformerJob as_training() const;
};

[[nodiscard]] std::optional<JobProblem> find_problem(const InferenceJob& job);

/// The graph of one batch. Per layer there are two AllReduces of the activations, after attention
/// and after the MLP, which block (Shoeybi et al. 2019, section 3); the parallel embedding has
/// another, and logits of the last token are gathered. Each generated token reads all weights and
/// the keys and values of all earlier tokens. Throws UserError if find_problem does.
[[nodiscard]] JobGraph make_inference_job(const InferenceJob& job);

}  // namespace cclgym
