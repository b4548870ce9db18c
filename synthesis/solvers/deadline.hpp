// Deadlines of searches, on the machine's clock or on one that a test moves.
#pragma once

#include <limits>

#include "core/progress.hpp"

namespace cclgym::synthesis {

inline constexpr double kNoTimeLimit = std::numeric_limits<double>::infinity();
/// Time that a solver gets even after the deadline of all searches, s: enough for small programs.
inline constexpr double kMinSolverTime_s = 0.001;

/// Moment at which a search has to stop. By default it never comes, so that the result does not
/// depend on the speed of the machine.
class Deadline {
 public:
  Deadline() = default;
  /// `seconds` from now on; kNoTimeLimit: never. `clock`: empty: the machine's steady clock.
  explicit Deadline(double seconds, Clock clock = {});

  /// Seconds that are left: infinite if it never comes, at most 0 once it is over.
  [[nodiscard]] double left_s() const;
  [[nodiscard]] bool over() const { return left_s() <= 0; }
  /// Seconds between its making and its end, for messages.
  [[nodiscard]] double limit_s() const { return limit_s_; }
  /// Deadline that comes after this part of the time that is left.
  [[nodiscard]] Deadline after_part(double part) const;
  /// Deadline in at least `min_s` and at most `max_s` seconds; one that never comes stays so.
  [[nodiscard]] Deadline within(double min_s, double max_s = kNoTimeLimit) const;
  /// Time limit for a solver that looks at the machine's clock itself, s, > 0; 0: none. There is
  /// none on another clock, which the solver does not know.
  [[nodiscard]] double solver_limit_s() const;

 private:
  [[nodiscard]] double now_s() const { return clock_ ? clock_() : steady_now_s(); }

  Clock clock_{};
  double limit_s_ = kNoTimeLimit;
  double end_s_ = kNoTimeLimit;
};

}  // namespace cclgym::synthesis
