// A policy distilled to the CSV of NCCL's stock tuner plugin.
#pragma once

#include <string>

#include "agents/export/deployed_machine.hpp"
#include "env/tuning/collective_tuning.hpp"

namespace cclgym {

struct TunerCsv {
  std::string text;
  int lines = 0;
  /// Ranges of sizes that are left out, as the policy chooses what such a line cannot say.
  int left_out = 0;
};

/// Lines "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks" for the
/// machine of `setup`: what the policy chooses at the sizes of `choices`; neighbours of the same
/// choice are one line. A range goes up to the next tested size. Only NCCL's own algorithms (tree,
/// ring, pat, nvls, nvls_tree), without instances, threads, chunks or NICs, and only NCCL's five
/// collectives: what else the policy wants is left to NCCL, and said in a comment.
[[nodiscard]] TunerCsv tuner_csv(const DeployedChoices& choices, const TuningSetup& setup);
/// The same for what deployed_choices(policy, setup) finds.
[[nodiscard]] TunerCsv tuner_csv(const PolicyFile& policy, const TuningSetup& setup);

}  // namespace cclgym
