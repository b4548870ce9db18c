// Store-and-forward schedules on a time grid (TE-CCL) as satisfiability.
#pragma once

#include <cstdint>
#include <string>

#include "synthesis/demand.hpp"
#include "synthesis/solvers/sat_solver.hpp"
#include "synthesis/symmetry/automorphisms.hpp"
#include "synthesis/timed_schedule.hpp"

namespace cclgym::synthesis {

struct TimedOptions {
  Deadline deadline{};
  std::int64_t conflicts = 0;  ///< <= 0: any number; the result does not depend on the clock
  int seed = 0;
  /// Automorphisms under which the schedule must be invariant. Unsatisfiable then only says that no
  /// invariant schedule exists.
  InstanceGroup group{};
  /// File for a DRAT proof; empty: none. The formula is returned with the result.
  std::string proof_path{};
};

struct TimedResult {
  SatResult status = SatResult::Unknown;
  TimedSchedule schedule{};  ///< if satisfiable
  int variables = 0;
  std::int64_t clauses = 0;
  std::string formula{};  ///< DIMACS, if a proof was written
};

/// Searches for a schedule that meets all demands by `ticks`. The formula has a variable for each
/// chunk, rank and tick (the rank holds the chunk) and for each chunk, hop and start. Its clauses
/// say: a rank sends what it holds, no limit carries two chunks at once, and a switch sends at the
/// tick of an arrival. Ticks that the distances exclude have no variables. Without loss, a rank
/// receives a chunk once, and of interchangeable chunks the first is the first to reach their first
/// target.
///
/// Throws UserError if ranks disagree, the proof cannot be written, or a symmetry does not fit the
/// demand.
[[nodiscard]] TimedResult solve_ticks(const TimedInstance& timed, const Demand& demand, int ticks,
                                      const TimedOptions& options = {});

}  // namespace cclgym::synthesis
