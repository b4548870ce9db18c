// Search for a synchronous schedule with given steps and rounds (SCCL, section 3.4).
#pragma once

#include <cstdint>
#include <string>

#include "synthesis/demand.hpp"
#include "synthesis/instance.hpp"
#include "synthesis/solvers/deadline.hpp"
#include "synthesis/solvers/sat_solver.hpp"
#include "synthesis/step_schedule.hpp"

namespace cclgym::synthesis {

struct StepSearchOptions {
  Deadline deadline{};
  /// Max conflicts of the SAT solver in a turn of the race; unlike the time, they are the same on
  /// every machine. 0: no limit.
  std::int64_t max_conflicts = 0;
  int seed = 0;
  /// Searches among schedules that are invariant under a group of automorphisms, or whose chunks
  /// take shortest paths, too: much faster if there are some.
  bool restricted = true;
  /// Searches among all schedules, which alone can prove that there is none.
  bool full = true;
};

struct StepAnswer {
  /// Unknown: the time or the conflicts were used up, or only restricted schedules were searched
  /// and none exist.
  SatResult status = SatResult::Unknown;
  StepSchedule schedule{};  ///< if satisfiable
  int group_order = 1;      ///< order of the group under which the schedule is invariant by search
};

/// Finds a schedule that meets the demand in `steps` steps and at most `rounds` rounds, or proves
/// that there is none. Restricted searches and the full one take turns of growing
/// numbers of conflicts, so that the answer does not depend on the clock unless the deadline comes.
/// Every schedule has been replayed (check_schedule). Throws UserError for steps < 1, rounds <
/// steps, or ranks that differ.
[[nodiscard]] StepAnswer solve_steps(const Instance& instance, const Demand& demand, int steps,
                                     int rounds, const StepSearchOptions& options = {});

/// A formula in DIMACS and a proof in binary DRAT that it cannot be satisfied.
struct UnsatCertificate {
  std::string formula{};
  std::string proof{};
};

/// Proves that there is no schedule of `steps` steps and `rounds` rounds, and returns the proof:
/// every step of it follows by unit propagation (RUP). The formula excludes schedules by distance
/// and orders interchangeable chunks, so that the certificate rests on these two rules.
/// `certificate` is set if the result is Unsatisfiable.
[[nodiscard]] SatResult prove_infeasible(const Instance& instance, const Demand& demand, int steps,
                                         int rounds, UnsatCertificate& certificate,
                                         const StepSearchOptions& options = {});

/// The formula that prove_infeasible() refutes, in DIMACS. Throws UserError like solve_steps.
[[nodiscard]] std::string step_formula(const Instance& instance, const Demand& demand, int steps,
                                       int rounds);

}  // namespace cclgym::synthesis
