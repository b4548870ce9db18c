#include "synthesis/teccl/minimum_ticks.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "core/error.hpp"
#include "synthesis/teccl/greedy_schedule.hpp"
#include "synthesis/teccl/schedule_tools.hpp"
#include "synthesis/teccl/tick_bounds.hpp"
#include "synthesis/teccl/timed_encoding.hpp"

namespace cclgym::synthesis {

namespace {

constexpr std::int64_t kFirstConflicts = 2'000;
constexpr std::int64_t kConflictGrowth = 4;

class TickSearch {
 public:
  TickSearch(const TimedInstance& timed, const Demand& demand, const MinimumTicksOptions& options)
      : timed_(timed), demand_(demand), options_(options) {}

  MinimumTicks run() {
    TickBound bound = lower_bound_ticks(timed_, demand_);
    if (bound.ticks >= kNeverTick) {
      throw UserError(fmt::format("the demand cannot be met: {}", bound.reason));
    }
    result_.lower_bound = bound.ticks;
    result_.reason = std::move(bound.reason);
    invariant_bound_ = result_.lower_bound;
    result_.schedule = greedy_schedule(timed_, demand_);
    if (auto other = forward_schedule(timed_, demand_);
        other && (!result_.schedule || other->ticks < result_.schedule->ticks)) {
      result_.schedule = std::move(other);
    }
    for (conflicts_ = kFirstConflicts; !done(); conflicts_ *= kConflictGrowth) {
      find_schedules();
      if (options_.prove || options_.group.empty()) refute();
    }
    return std::move(result_);
  }

 private:
  const TimedInstance& timed_;
  const Demand& demand_;
  const MinimumTicksOptions& options_;
  MinimumTicks result_{};
  int invariant_bound_ = 0;  // no invariant schedule is shorter
  std::int64_t conflicts_ = 0;

  bool late() const { return options_.deadline.over(); }
  bool done() const {
    if (late() || result_.optimal()) return true;
    const bool proves = options_.prove || options_.group.empty();
    return !proves && result_.schedule && invariant_bound_ >= result_.schedule->ticks;
  }

  SatResult attempt(int ticks, bool invariant) {
    TimedOptions options{
        .deadline = options_.deadline, .conflicts = conflicts_, .seed = options_.seed};
    if (invariant) options.group = options_.group;
    TimedResult found = solve_ticks(timed_, demand_, ticks, options);
    if (found.status == SatResult::Satisfiable) {
      found.schedule.ticks = finish_tick(timed_, demand_, found.schedule);
      if (!result_.schedule || found.schedule.ticks < result_.schedule->ticks) {
        result_.schedule = std::move(found.schedule);
      }
    } else if (found.status == SatResult::Unsatisfiable) {
      if (!invariant || options_.group.empty()) raise_bound(ticks + 1);
      invariant_bound_ = std::max(invariant_bound_, ticks + 1);
    }
    return found.status;
  }

  void raise_bound(int ticks) {
    if (ticks <= result_.lower_bound) return;
    result_.lower_bound = ticks;
    result_.reason = fmt::format("a schedule of {} ticks is refuted by search", ticks - 1);
  }

  // Tries the lower bound, then bisects; a call without an answer counts as a refutation in this
  // round.
  void find_schedules() {
    int low = std::max(invariant_bound_, result_.lower_bound);
    int step = 0;
    for (bool first = true; !late() && (!result_.schedule || low < result_.schedule->ticks);
         first = false) {
      int ticks = low;
      if (!result_.schedule) {
        ticks = low + step;
        step = 2 * step + 1;
      } else if (!first) {
        ticks = low + (result_.schedule->ticks - 1 - low) / 2;
      }
      if (attempt(ticks, true) != SatResult::Satisfiable) low = ticks + 1;
    }
  }

  // Refutes the best schedule's ticks - 1, or else as many ticks as possible from the bound up.
  void refute() {
    while (!done() && result_.schedule) {
      const SatResult shorter = attempt(result_.schedule->ticks - 1, false);
      if (shorter == SatResult::Satisfiable) continue;
      if (shorter == SatResult::Unsatisfiable) return;
      break;
    }
    while (!done() && result_.schedule && result_.lower_bound < result_.schedule->ticks - 1) {
      if (attempt(result_.lower_bound, false) == SatResult::Unknown) return;
    }
  }
};

}  // namespace

MinimumTicks minimum_ticks(const TimedInstance& timed, const Demand& demand,
                           const MinimumTicksOptions& options) {
  return TickSearch(timed, demand, options).run();
}

}  // namespace cclgym::synthesis
