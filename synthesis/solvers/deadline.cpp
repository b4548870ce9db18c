#include "synthesis/solvers/deadline.hpp"

#include <algorithm>
#include <utility>

namespace cclgym::synthesis {

Deadline::Deadline(double seconds, Clock clock)
    : clock_(std::move(clock)), limit_s_(seconds), end_s_(now_s() + seconds) {}

double Deadline::left_s() const { return end_s_ == kNoTimeLimit ? kNoTimeLimit : end_s_ - now_s(); }

Deadline Deadline::after_part(double part) const { return Deadline(left_s() * part, clock_); }

Deadline Deadline::within(double min_s, double max_s) const {
  if (end_s_ == kNoTimeLimit) return *this;
  return Deadline(std::clamp(left_s(), min_s, max_s), clock_);
}

double Deadline::solver_limit_s() const {
  return clock_ || end_s_ == kNoTimeLimit ? 0 : std::max(left_s(), kMinSolverTime_s);
}

}  // namespace cclgym::synthesis
