// Synthesis of programs for a collective on a fabric: SCCL's front, and trees at full throughput.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "synthesis/certificates/certificate.hpp"
#include "synthesis/strategies/synthesized_program.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym::synthesis {

struct SynthesisOptions {
  int root = 0;              ///< for rooted collectives
  std::vector<int> group{};  ///< participating ranks, ascending; empty: all
  bool pareto = true;        ///< step schedules on SCCL's front, for up to kMaxParetoRanks ranks
  bool throughput = true;    ///< trees at full throughput; AllToAll has none
  double time_limit_s = 20;
  bool certificates = false;  ///< also record the evidence, for which searches are proven again
  std::string prefix{};       ///< beginning of the names of programs
  bool fuse = true;           ///< lowered_compile_options: false under cost model hockney
  /// Called with a sentence about each finished piece of work. May be empty.
  std::function<void(const std::string&)> on_progress{};
};
inline constexpr int kMaxParetoRanks = 16;

/// Programs and bounds of a collective on a fabric. No schedule has fewer steps, or fewer rounds
/// per chunk.
struct Synthesis {
  std::vector<SynthesizedProgram> programs{};
  int min_steps = 0;       ///< 0: no bound known
  Rational min_rounds{0};  ///< per chunk (C of SCCL); 0: no bound known
  /// Evidence for all bounds, schedules and trees (check_certificate), if asked for.
  std::vector<Certificate> certificates{};
  std::vector<std::string>
      notes{};  ///< sentences: what was left out, and which limits were reached
};

/// Throws UserError if the collective has no synthesis (AllToNext, Custom), if the group or the
/// root is wrong, or if a rank cannot reach another.
[[nodiscard]] Synthesis synthesize(const Fabric& fabric, CollectiveKind collective,
                                   const SynthesisOptions& options = {});

}  // namespace cclgym::synthesis
