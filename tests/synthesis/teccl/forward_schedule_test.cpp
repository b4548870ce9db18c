// Tests of schedules made forwards in time: the bound on chassis, and validity on random instances.
#include <random>

#include "support/catch.hpp"
#include "synthesis/teccl/greedy_schedule.hpp"
#include "synthesis/teccl/published_topologies.hpp"
#include "synthesis/teccl/random_timed.hpp"
#include "synthesis/teccl/tick_bounds.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

TEST_CASE("chassis of any number are served at the bound of their network links",
          "[synthesis][teccl]") {
  const auto is_optimal = [](const SwitchedInstance& fabric) {
    const TimedInstance timed = make_timed_instance(fabric.instance, 25e3);
    const Demand demand =
        make_demand(CollectiveKind::AllGather, fabric.instance.ranks, 1, 0, fabric.gpu_ranks());
    const auto schedule = forward_schedule(timed, demand);
    REQUIRE(schedule.has_value());
    CHECK(check_schedule(timed, demand, *schedule) == "");
    CHECK(schedule->ticks == lower_bound_ticks(timed, demand).ticks);
  };
  is_optimal(teccl_internal1(4));
  is_optimal(teccl_internal1(16));
  is_optimal(teccl_internal2(16));
  is_optimal({teccl_dgx1(), 8, {}});
  is_optimal(teccl_ndv2(4));
}

TEST_CASE("random instances get valid schedules, not shorter than the bound",
          "[synthesis][teccl]") {
  std::mt19937 random(7);
  for (int k = 0; k < 500; ++k) {
    const int ranks = 2 + draw(random, 6);
    const TimedInstance timed = random_timed(random, ranks, draw(random, 8));
    const Demand demand =
        make_demand(draw(random, 2) == 0 ? CollectiveKind::AllGather : CollectiveKind::AllToAll,
                    ranks, 1 + draw(random, 2));
    CAPTURE(k, ranks);
    const auto schedule = forward_schedule(timed, demand);
    REQUIRE(schedule.has_value());
    REQUIRE(check_schedule(timed, demand, *schedule) == "");
    REQUIRE(schedule->ticks >= lower_bound_ticks(timed, demand).ticks);
  }
}

TEST_CASE("unreachable targets and switches that hold nothing have no schedule",
          "[synthesis][teccl]") {
  TimedInstance timed;
  timed.instance = link_instance("one way", {{0, 1}, {0, 0}});
  timed.occupancy.assign(timed.instance.limits.size(), 1);
  timed.duration.assign(timed.instance.hops.size(), 1);
  const Demand back = make_demand(CollectiveKind::Broadcast, 2, 1, 1);
  CHECK_FALSE(forward_schedule(timed, back).has_value());
  const Demand there = make_demand(CollectiveKind::Broadcast, 2, 3, 0);
  const auto schedule = forward_schedule(timed, there);
  REQUIRE(schedule.has_value());
  CHECK(schedule->ticks == 3);
  timed.switches = {0, 1};
  CHECK_FALSE(forward_schedule(timed, there).has_value());
}

}  // namespace
}  // namespace cclgym::test
