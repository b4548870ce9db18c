// Distils a policy to the CSV of NCCL's stock tuner plugin.
#pragma once

#include <string>

#include "agents/export/deployed_machine.hpp"
#include "env/tuning/collective_tuning.hpp"

namespace cclgym {

struct TunerCsv {
  std::string text;
  int lines = 0;
  /// Number of size ranges left out because a line cannot express the policy's choice.
  int left_out = 0;
};

/// Lines "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks" for the
/// machine of `setup`: the policy's choices at the sizes of `choices`, where neighbours with equal
/// choices are merged. A range extends to the next tested size. A line can express only NCCL's own
/// algorithms (tree, ring, pat, nvls, nvls_tree) without instances, threads, chunks or NICs, and
/// NCCL's five collectives; other choices are left to NCCL and noted in a comment.
[[nodiscard]] TunerCsv tuner_csv(const DeployedChoices& choices, const TuningSetup& setup);
/// Lines for the result of deployed_choices(policy, setup).
[[nodiscard]] TunerCsv tuner_csv(const PolicyFile& policy, const TuningSetup& setup);

}  // namespace cclgym
