// A policy distilled to the CSV of NCCL's stock tuner plugin.
#pragma once

#include <string>

#include "deploy/policy_file.hpp"
#include "env/collective_tuning.hpp"

namespace cclgym {

struct TunerCsv {
  std::string text;
  int lines = 0;
  /// Ranges of sizes that are left out, as the policy chooses what such a line cannot say.
  int left_out = 0;
};

/// Lines "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks" for the
/// machine of `setup`: what the policy chooses for a call once it has been made a few times on a
/// machine without noise, at sizes in steps of 2^(1/4) from 256 B to 8 GiB; neighbours of the same
/// choice are one line. A range goes up to the next tested size. Only NCCL's own algorithms (tree,
/// ring, pat, nvls, nvls_tree), without instances, threads, chunks or NICs, and only NCCL's five
/// collectives: what else the policy wants is left to NCCL, and said in a comment.
///
/// Throws UserError if the policy has no rules for this machine.
[[nodiscard]] TunerCsv tuner_csv(const PolicyFile& policy, const TuningSetup& setup);

}  // namespace cclgym
