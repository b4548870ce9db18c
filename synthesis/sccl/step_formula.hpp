// Clauses that both encodings of SCCL share: rounds of steps and the loads of limits.
#pragma once

#include <span>
#include <vector>

#include "synthesis/demand.hpp"
#include "synthesis/instance.hpp"
#include "synthesis/solvers/sat_solver.hpp"
#include "synthesis/step_schedule.hpp"

namespace cclgym::synthesis {

/// The constant literals of a formula under construction.
inline constexpr Literal kFalse = 0;
inline constexpr Literal kTrue = 1 << 30;

[[nodiscard]] constexpr Literal negated(Literal literal) {
  if (literal == kFalse) return kTrue;
  if (literal == kTrue) return kFalse;
  return -literal;
}

/// Adds a clause whose literals may be constants.
void add_simplified(SatSolver& solver, std::span<const Literal> literals);
inline void add_simplified(SatSolver& solver, std::initializer_list<Literal> literals) {
  add_simplified(solver, std::span<const Literal>(literals.begin(), literals.size()));
}

/// Rounds of each step (SCCL, constraint C6 and the sum of C5): step t has 1 + extra rounds, and
/// all steps together at most `rounds`.
class RoundBits {
 public:
  RoundBits(SatSolver& solver, int steps, int rounds);
  /// Bounds the literals of one limit in one step: at most units x rounds of the step are true.
  void add_load(SatSolver& solver, std::span<const Literal> sends, std::int64_t units, int step);

 private:
  int extra_ = 0;                           ///< rounds - steps
  std::vector<std::vector<Literal>> bits_;  ///< by step and i: it has at least i + 2 rounds
};

/// Sorts the sends, removes those that contribute to no delivery, and gives each step as few rounds
/// as its loads need.
[[nodiscard]] StepSchedule tidy_schedule(const Instance& instance, const Demand& demand, int steps,
                                         std::vector<StepSend> sends);

}  // namespace cclgym::synthesis
