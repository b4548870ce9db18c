// Synthesis of programs for a collective on a fabric: SCCL's front, and trees at full throughput.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "synthesis/certificates/certificate.hpp"
#include "synthesis/solvers/deadline.hpp"
#include "synthesis/strategies/search_memory.hpp"
#include "synthesis/strategies/synthesized_program.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym::synthesis {

/// A search for a step schedule that begins; chunks are counted as SCCL counts them (C).
struct SearchedTriple {
  CollectiveKind collective = CollectiveKind::AllGather;  ///< one of the halves of an AllReduce
  int chunks = 0;
  int steps = 0;
  int rounds = 0;
  Rational bound{0};  ///< lower bound on the rounds per chunk of a schedule with so many steps
};

struct SynthesisOptions {
  int root = 0;              ///< for rooted collectives
  std::vector<int> group{};  ///< participating ranks, ascending; empty: all
  bool pareto = true;        ///< step schedules on SCCL's front, for up to kMaxParetoRanks ranks
  bool throughput = true;    ///< trees at full throughput; AllToAll has none
  /// Time for all searches together, proofs included, s. Without a limit, the programs are the same
  /// on every machine.
  double time_limit_s = kNoTimeLimit;
  Clock clock{};  ///< the limit's; empty: the machine's steady clock
  /// Max conflicts of each search for a step schedule (StepSearchOptions); 0: no limit.
  std::int64_t max_conflicts = 0;
  /// Max iterations of the search for shares of an AllReduce (AllReduceOptions); 0: no limit.
  std::int64_t max_iterations = 0;
  std::size_t max_points = 0;  ///< points of a front (ParetoOptions); 0: no limit
  bool certificates = false;   ///< also record the evidence, for which searches are proven again
  /// Answers of earlier searches with the same fabric and root; new ones are added. May be null.
  SearchMemory* memory = nullptr;
  /// Certificates of an earlier synthesis with the same fabric, collective and root: refutations
  /// among them are not proven again.
  std::vector<Certificate> proofs{};
  std::string prefix{};  ///< beginning of the names of programs
  bool fuse = true;      ///< lowered_compile_options: false under cost model hockney
  /// Called with a sentence about each finished piece of work. May be empty.
  std::function<void(const std::string&)> on_progress{};
  /// Called before each search for a step schedule. May be empty.
  std::function<void(const SearchedTriple&)> on_search{};
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

/// Throws UserError like check_request, and if a rank cannot reach another. At the time limit it
/// returns what it has; notes tell the distance from the bounds.
[[nodiscard]] Synthesis synthesize(const Fabric& fabric, CollectiveKind collective,
                                   const SynthesisOptions& options = {});

}  // namespace cclgym::synthesis
