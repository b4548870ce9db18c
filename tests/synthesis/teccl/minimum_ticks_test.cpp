// Tests of the shortest timed schedules: against exhaustive search, and on published cases.
#include "synthesis/teccl/minimum_ticks.hpp"

#include <array>
#include <filesystem>
#include <numeric>

#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/thorough.hpp"
#include "support/thrown.hpp"
#include "synthesis/teccl/exhaustive_ticks.hpp"
#include "synthesis/teccl/greedy_schedule.hpp"
#include "synthesis/teccl/published_topologies.hpp"
#include "synthesis/teccl/random_timed.hpp"
#include "synthesis/teccl/schedule_tools.hpp"
#include "synthesis/teccl/tick_bounds.hpp"
#include "synthesis/teccl/timed_encoding.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

Demand demand_in_group(std::mt19937& random, int ranks, const std::vector<int>& group) {
  constexpr std::array kKinds{CollectiveKind::Broadcast, CollectiveKind::Gather,
                              CollectiveKind::Scatter, CollectiveKind::AllGather,
                              CollectiveKind::AllToAll};
  // With all chunks of four ranks, there are too many states.
  const CollectiveKind kind = kKinds[at(draw(random, ranks < 4 ? 5 : 3))];
  const bool many = kind == CollectiveKind::AllGather || kind == CollectiveKind::AllToAll;
  const int root = group[at(draw(random, static_cast<int>(group.size())))];
  return make_demand(kind, ranks, many ? 1 : 1 + draw(random, 2), is_rooted(kind) ? root : 0,
                     group);
}

void check_against_exhaustive(std::mt19937& random, int ranks, bool has_switch) {
  const TimedInstance timed = random_timed(random, ranks, draw(random, 3), has_switch);
  std::vector<int> group(at(has_switch ? ranks - 1 : ranks));
  std::iota(group.begin(), group.end(), 0);
  const Demand demand = demand_in_group(random, ranks, group);
  const MinimumTicks found = minimum_ticks(timed, demand);
  REQUIRE(found.optimal());
  const int expected = exhaustive_ticks(timed, demand, found.schedule->ticks);
  CHECK(lower_bound_ticks(timed, demand).ticks <= expected);
  CHECK(found.schedule->ticks == expected);
  CHECK(check_schedule(timed, demand, *found.schedule) == "");
  if (const auto greedy = greedy_schedule(timed, demand)) {
    CHECK(check_schedule(timed, demand, *greedy) == "");
    CHECK(greedy->ticks >= expected);
    const TimedSchedule again = earliest_schedule(timed, demand, greedy->sends);
    CHECK(check_schedule(timed, demand, again) == "");
    CHECK(again.ticks <= greedy->ticks);
  }
}

TEST_CASE("minimum ticks equal those of an exhaustive search", "[synthesis][teccl][thorough]") {
  std::mt19937 random(1);
  const int count = thorough() ? 2000 : 80;
  for (int k = 0; k < count; ++k) {
    INFO("instance " << k);
    check_against_exhaustive(random, k % 8 == 0 ? 4 : 3, false);
  }
}

TEST_CASE("minimum ticks through a copying switch equal those of an exhaustive search",
          "[synthesis][teccl][thorough]") {
  std::mt19937 random(2);
  const int count = thorough() ? 2000 : 100;
  for (int k = 0; k < count; ++k) {
    INFO("instance " << k);
    check_against_exhaustive(random, 3, true);
  }
}

TEST_CASE("two hops over one limit may be used early and late", "[synthesis][teccl]") {
  // Chunks from 0 over 1 to 2, slow at the end, and from 3 over 4 to 2, slow at the start; the fast
  // hops 0 -> 1 and 4 -> 2 share a limit. They use it at ticks 0 and 4.
  TimedInstance timed;
  timed.instance.ranks = 5;
  timed.instance.limits.assign(3, {.name = "limit"});
  timed.instance.add_hop({.source = 0, .target = 1, .limits = {0}});
  timed.instance.add_hop({.source = 4, .target = 2, .limits = {0}});
  timed.instance.add_hop({.source = 1, .target = 2, .limits = {1}});
  timed.instance.add_hop({.source = 3, .target = 4, .limits = {2}});
  timed.occupancy = {1, 4, 4};
  timed.duration = {1, 1, 4, 4};
  const Demand demand{.ranks = 5, .chunks = {{0, {2}}, {3, {2}}}};
  CHECK(lower_bound_ticks(timed, demand).ticks == 5);
  const MinimumTicks found = minimum_ticks(timed, demand);
  REQUIRE(found.optimal());
  CHECK(found.schedule->ticks == 5);
}

TEST_CASE("shortest AllGathers of TE-CCL's Table 3", "[synthesis][teccl]") {
  const TimedInstance timed = make_timed_instance(teccl_dgx1(), 25e3);
  const InstanceGroup group = semiregular_groups(timed.instance).front();
  // One chunk: the distance. Three chunks: by 4.6 us, 20 of 21 chunks can have reached a GPU.
  const std::vector<int> expected{29, 36, 47};
  for (int chunks = 1; chunks <= 3; ++chunks) {
    const Demand demand = make_demand(CollectiveKind::AllGather, 8, chunks);
    const MinimumTicks found = minimum_ticks(timed, demand, {.group = group});
    REQUIRE(found.optimal());
    CHECK(found.schedule->ticks == expected[at(chunks - 1)]);
    CHECK(check_schedule(timed, demand, *found.schedule) == "");
    CHECK(contains(found.reason, chunks == 1   ? "distance"
                                 : chunks == 2 ? "35 ticks is refuted"
                                               : "21 chunks enter 1 of 8 ranks"));
  }
}

TEST_CASE("a copying switch carries what hyper-edges must send once per GPU",
          "[synthesis][teccl]") {
  std::vector<double> time_s;
  for (const SwitchModel model : {SwitchModel::HyperEdge, SwitchModel::Copying}) {
    const SwitchedInstance fabric = teccl_internal2(4, model);
    // 15 KB take 0.3 us in a chassis and 1.2 us to the switch.
    TimedInstance timed = make_timed_instance(fabric.instance, 15e3, 50e-9);
    timed.switches = fabric.switches;
    const Demand demand =
        make_demand(CollectiveKind::Broadcast, fabric.instance.ranks, 1, 0, fabric.gpu_ranks());
    const MinimumTicks found = minimum_ticks(timed, demand);
    REQUIRE(found.optimal());
    CHECK(check_schedule(timed, demand, *found.schedule) == "");
    time_s.push_back(found.schedule->ticks * timed.tick_s);
  }
  // The copying switch takes the chunk in full and then sends it to all.
  CHECK(time_s[1] == Approx(2 * (1.2e-6 + 0.75e-6)));
  // Hyper-edges: the two GPUs of the first chassis send it to three chassis, one at a time.
  CHECK(time_s[0] > time_s[1]);
}

TEST_CASE("a refutation comes with its formula and proof", "[synthesis][teccl]") {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / "cclgym-teccl-test.drat";
  const TimedInstance timed = make_timed_instance(teccl_dgx1(), 25e3);
  const Demand demand = make_demand(CollectiveKind::AllGather, 8, 2);
  const TimedResult result = solve_ticks(timed, demand, 35, {.proof_path = path.string()});
  CHECK(result.status == SatResult::Unsatisfiable);
  CHECK(result.formula.starts_with("p cnf "));
  CHECK(std::filesystem::file_size(path) > 0);
  std::filesystem::remove(path);
}

TEST_CASE("a search that may not finish says what it knows", "[synthesis][teccl]") {
  const TimedInstance timed = make_timed_instance(teccl_dgx1(), 25e3);
  const Demand demand = make_demand(CollectiveKind::AllGather, 8, 2);
  CHECK(solve_ticks(timed, demand, 36, {.conflicts = 1}).status != SatResult::Unsatisfiable);
  const MinimumTicks found = minimum_ticks(timed, demand, {.deadline = Deadline(0)});
  REQUIRE(found.schedule);
  CHECK_FALSE(found.optimal());
  CHECK(found.lower_bound == 34);
  CHECK(found.schedule->ticks >= 36);
}

TEST_CASE("unreachable targets and demands of other ranks are refused", "[synthesis][teccl]") {
  const Instance one_way = link_instance("one way", {{0, 1}, {0, 0}});
  const TimedInstance timed = make_timed_instance(one_way, 1, 1e-3);
  CHECK(contains(
      thrown([&] { return minimum_ticks(timed, make_demand(CollectiveKind::AllGather, 2, 1)); }),
      "the demand cannot be met"));
  CHECK(contains(
      thrown([&] { return solve_ticks(timed, make_demand(CollectiveKind::AllGather, 3, 1), 4); }),
      "the demand has 3 ranks, the instance 2"));
  CHECK(solve_ticks(timed, make_demand(CollectiveKind::AllGather, 2, 1), 9).status ==
        SatResult::Unsatisfiable);
}

TEST_CASE("a symmetry that moves a root is refused", "[synthesis][teccl]") {
  const TimedInstance timed = make_timed_instance(teccl_dgx1(), 25e3);
  const InstanceGroup group = semiregular_groups(timed.instance).front();
  const Demand demand = make_demand(CollectiveKind::Broadcast, 8, 1);
  CHECK(contains(thrown([&] { return solve_ticks(timed, demand, 40, {.group = group}); }),
                 "have different targets"));
}

}  // namespace
}  // namespace cclgym::test
