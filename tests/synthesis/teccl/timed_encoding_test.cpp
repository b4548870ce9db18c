// Tests of timed schedules by satisfiability on TE-CCL's published cases.
#include "synthesis/teccl/timed_encoding.hpp"

#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/thrown.hpp"
#include "synthesis/teccl/epochs.hpp"
#include "synthesis/teccl/greedy_schedule.hpp"
#include "synthesis/teccl/minimum_ticks.hpp"
#include "synthesis/teccl/published_topologies.hpp"
#include "synthesis/teccl/tick_bounds.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

TimedInstance dgx1_25kb() { return make_timed_instance(teccl_dgx1(), 25e3); }

// NDv2 with chunks of 1 GB on epochs of the fastest link, which has no latency then.
TimedInstance ndv2_fast(int chassis) {
  const Instance instance = teccl_ndv2(chassis).instance;
  const double epoch = epoch_length_s(instance, 1e9, EpochChoice::FastestLink);
  return make_epoch_grid(instance, 1e9, epoch).timed;
}

InstanceGroup largest_group(const Instance& instance) {
  const std::vector<InstanceGroup> groups = semiregular_groups(instance);
  return groups.empty() ? InstanceGroup{} : groups.front();
}

TEST_CASE("TE-CCL's Table 3 on the exact grid", "[synthesis][teccl]") {
  const TimedInstance timed = dgx1_25kb();
  CHECK(timed.tick_s == Approx(1e-7));
  const Demand one = make_demand(CollectiveKind::AllGather, 8, 1);
  const Demand two = make_demand(CollectiveKind::AllGather, 8, 2);
  CHECK(solve_ticks(timed, one, 28).status == SatResult::Unsatisfiable);
  const TimedResult best_of_one = solve_ticks(timed, one, 29);
  REQUIRE(best_of_one.status == SatResult::Satisfiable);
  CHECK(check_schedule(timed, one, best_of_one.schedule) == "");
  CHECK(solve_ticks(timed, two, 35).status == SatResult::Unsatisfiable);
  const TimedResult best_of_two = solve_ticks(timed, two, 36);
  REQUIRE(best_of_two.status == SatResult::Satisfiable);
  CHECK(check_schedule(timed, two, best_of_two.schedule) == "");
}

TEST_CASE("three chunks on a DGX-1 take at most 4.7 us", "[synthesis][teccl]") {
  const TimedInstance timed = dgx1_25kb();
  const Demand demand = make_demand(CollectiveKind::AllGather, 8, 3);
  const TimedResult result =
      solve_ticks(timed, demand, 47, {.group = largest_group(timed.instance)});
  REQUIRE(result.status == SatResult::Satisfiable);
  CHECK(check_schedule(timed, demand, result.schedule) == "");
}

TEST_CASE("AllGather on two and four NDv2 chassis", "[synthesis][teccl]") {
  for (const auto& [chassis, ticks] : {std::pair{2, 35}, std::pair{4, 99}}) {
    const TimedInstance timed = ndv2_fast(chassis);
    const Demand demand = make_demand(CollectiveKind::AllGather, 8 * chassis, 1);
    CHECK(lower_bound_ticks(timed, demand).ticks == ticks);
    const TimedResult result =
        solve_ticks(timed, demand, ticks, {.group = largest_group(timed.instance)});
    REQUIRE(result.status == SatResult::Satisfiable);
    CHECK(check_schedule(timed, demand, result.schedule) == "");
  }
}

}  // namespace
}  // namespace cclgym::test
