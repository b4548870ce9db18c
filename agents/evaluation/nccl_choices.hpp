// Choices of policies that a job cannot make through a tuner of NCCL.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agents/evaluation/evaluation.hpp"

namespace cclgym {

/// The cells of a policy over all seeds, by whether NCCL could run their most frequent choice.
struct NcclShare {
  std::string policy;
  std::size_t cells = 0;
  std::size_t not_asked = 0;    ///< choices for a collective about which NCCL asks no tuner
  std::size_t not_offered = 0;  ///< choices that NCCL does not offer on the machine
  /// Geometric mean of time / time of the default over the calls of the other cells, which are what
  /// a deployed policy can gain; nullopt if there are none.
  std::optional<double> default_ratio{};
};

/// The policies that have such choices, in the order of the runs. Empty for action profiles other
/// than stock-nccl and nccl-2.30, which are not deployed as a tuner of NCCL, and if NCCL does not
/// run on the machine. The release is that of the environment's first tuner of NCCL.
[[nodiscard]] std::vector<NcclShare> nccl_shares(const TuningSetup& setup,
                                                 std::span<const PolicyRun> runs);

/// Sets EvaluatedCell::not_nccl of every cell by the same rule.
void mark_nccl_choices(const TuningSetup& setup, std::span<PolicyRun> runs);

/// A line for each of them, or nothing.
[[nodiscard]] std::string nccl_shares_text(std::span<const NcclShare> shares);

}  // namespace cclgym
