// Tests of TE-CCL's epoch bound, its rounds, and tenants with priorities.
#include "synthesis/teccl/rounds.hpp"

#include <numeric>

#include "core/error.hpp"
#include "core/index.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/thorough.hpp"
#include "support/thrown.hpp"
#include "synthesis/published_instances.hpp"
#include "synthesis/teccl/epoch_bound.hpp"
#include "synthesis/teccl/minimum_ticks.hpp"
#include "synthesis/teccl/published_topologies.hpp"
#include "synthesis/teccl/random_timed.hpp"
#include "synthesis/teccl/schedule_tools.hpp"
#include "synthesis/teccl/tenants.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

TEST_CASE("rounds reach the optimum of a ring", "[synthesis][teccl]") {
  // Five ranks, one chunk each, one epoch per hop: two epochs suffice with both directions.
  const EpochGrid grid = make_epoch_grid(ring_instance(5), 1, 1);
  const Demand demand = make_demand(CollectiveKind::AllGather, 5, 1);
  for (const int epochs : {1, 2, 3}) {
    const RoundsResult result = solve_in_rounds(grid, demand, {.epochs_per_round = epochs});
    REQUIRE(result.schedule);
    CHECK(check_schedule(grid.timed, demand, *result.schedule) == "");
    CHECK(result.schedule->ticks == 2);
    CHECK(result.rounds == (epochs == 1 ? 2 : 1));
  }
}

TEST_CASE("rounds carry late chunks and occupied limits over", "[synthesis][teccl][thorough]") {
  std::mt19937 random(4);
  const int count = thorough() ? 200 : 20;
  int ticks = 0;
  int best = 0;
  for (int k = 0; k < count; ++k) {
    INFO("instance " << k);
    const int ranks = 3 + draw(random, 2);
    EpochGrid grid;
    grid.timed = random_timed(random, ranks, draw(random, 4));
    grid.capacity.assign(grid.timed.occupancy.size(), 1);
    const Demand demand = make_demand(
        draw(random, 2) == 0 ? CollectiveKind::AllGather : CollectiveKind::AllToAll, ranks, 1);
    // Rounds of one epoch are shorter than most sends.
    const RoundsResult result =
        solve_in_rounds(grid, demand, {.epochs_per_round = 1 + draw(random, 4)});
    REQUIRE(result.schedule);
    CHECK(check_schedule(grid.timed, demand, *result.schedule) == "");
    const MinimumTicks minimum = minimum_ticks(grid.timed, demand);
    REQUIRE(minimum.optimal());
    CHECK(result.schedule->ticks >= minimum.schedule->ticks);
    CHECK(result.schedule->ticks <= 2 * minimum.schedule->ticks);
    ticks += result.schedule->ticks;
    best += minimum.schedule->ticks;
  }
  CHECK(ticks <= best * 5 / 4);
}

TEST_CASE("rounds on a DGX-1 are within a third of the optimum", "[synthesis][teccl][thorough]") {
  const std::vector<int> optimum{29, 36, 47};  // in 0.1 us
  for (int chunks = 1; chunks <= (thorough() ? 3 : 1); ++chunks) {
    const EpochGrid grid = make_epoch_grid(teccl_dgx1(), 25e3, 0.5e-6);
    const Demand demand = make_demand(CollectiveKind::AllGather, 8, chunks);
    const RoundsResult result = solve_in_rounds(grid, demand);
    REQUIRE(result.schedule);
    CHECK(check_schedule(grid.timed, demand, *result.schedule) == "");
    const TimedInstance exact = make_timed_instance(teccl_dgx1(), 25e3);
    const TimedSchedule schedule = earliest_schedule(exact, demand, result.schedule->sends);
    CHECK(check_schedule(exact, demand, schedule) == "");
    CHECK(3 * schedule.ticks <= 4 * optimum[at(chunks - 1)]);
  }
}

TEST_CASE("rounds on two NDv2 chassis are within a twentieth of the optimum",
          "[synthesis][teccl]") {
  const Instance ndv2 = teccl_ndv2(2).instance;
  const EpochGrid grid = make_epoch_grid(ndv2, 25e3, 0.5e-6);
  const Demand demand = make_demand(CollectiveKind::AllGather, 16, 1);
  const RoundsResult result = solve_in_rounds(grid, demand);
  REQUIRE(result.schedule);
  CHECK(check_schedule(grid.timed, demand, *result.schedule) == "");
  const TimedInstance exact = make_timed_instance(ndv2, 25e3);
  const MinimumTicks minimum = minimum_ticks(exact, demand);
  REQUIRE(minimum.optimal());
  CHECK(minimum.schedule->ticks == 202);
  const TimedSchedule schedule = earliest_schedule(exact, demand, result.schedule->sends);
  CHECK(check_schedule(exact, demand, schedule) == "");
  CHECK(20 * schedule.ticks <= 21 * minimum.schedule->ticks);
}

TEST_CASE("rounds with bad settings are refused", "[synthesis][teccl]") {
  const EpochGrid grid = make_epoch_grid(ring_instance(4), 1, 1);
  const Demand demand = make_demand(CollectiveKind::AllGather, 4, 1);
  CHECK(contains(thrown([&] { return solve_in_rounds(grid, demand, {.epochs_per_round = 0}); }),
                 "0 epochs per round"));
  EpochGrid switched = grid;
  switched.timed.switches = {0, 0, 0, 1};
  CHECK(contains(thrown([&] { return solve_in_rounds(switched, demand); }), "switches"));
  const EpochGrid one_way = make_epoch_grid(link_instance("one way", {{0, 1}, {0, 0}}), 1, 1);
  CHECK(contains(thrown([&] {
                   return solve_in_rounds(one_way, make_demand(CollectiveKind::AllGather, 2, 1));
                 }),
                 "rank 1 cannot reach rank 0"));
  const RoundsResult cut = solve_in_rounds(grid, demand, {.epochs_per_round = 1, .max_rounds = 1});
  CHECK_FALSE(cut.schedule);
  CHECK(cut.rounds == 1);
}

TEST_CASE("TE-CCL's Algorithm 1 finds a number of epochs that suffices", "[synthesis][teccl]") {
  const Instance dgx1 = teccl_dgx1();
  const Demand demand = make_demand(CollectiveKind::AllGather, 8, 1);
  const auto bound = find_epoch_bound(dgx1, 25e3, demand, 0.5e-6);
  REQUIRE(bound);
  CHECK(bound->completion_s >= 2.9e-6);
  CHECK(bound->sufficient >= 7);  // the minimum
  CHECK(bound->sufficient <= 9);
  const EpochGrid grid = make_epoch_grid(dgx1, 25e3, 0.5e-6);
  CHECK(check_schedule(grid.timed, demand, bound->schedule) == "");
  const EpochResult again = solve_epochs(grid, demand, bound->sufficient, {.feasibility = true});
  CHECK(again.status == MipStatus::Optimal);
  CHECK_FALSE(find_epoch_bound(dgx1, 25e3, demand, 0.5e-6, {.max_candidates = 0}));
  CHECK(contains(thrown([&] {
                   return find_epoch_bound(dgx1, 25e3, demand, 0.5e-6, {.epoch_counts = {8, 4}});
                 }),
                 "must be positive and ascend"));
  CHECK(
      contains(thrown([&] { return find_epoch_bound(dgx1, 25e3, demand, 0.5e-6, {.growth = 1}); }),
               "grow by 1"));
}

TEST_CASE("the tenant with the greater weight finishes no later", "[synthesis][teccl]") {
  // Both tenants gather over a ring of four, whose links then carry all chunks twice.
  const EpochGrid grid = make_epoch_grid(ring_instance(4), 1, 1);
  const Demand gather = make_demand(CollectiveKind::AllGather, 4, 1);
  for (const bool first_is_heavy : {true, false}) {
    const SharedDemand shared =
        share({{gather, first_is_heavy ? 10.0 : 1.0}, {gather, first_is_heavy ? 1.0 : 10.0}});
    CHECK(shared.demand.chunks.size() == 8);
    const EpochResult result = solve_epochs(grid, shared.demand, 5, {.weights = shared.weights});
    REQUIRE(result.status == MipStatus::Optimal);
    CHECK(check_schedule(grid.timed, shared.demand, result.schedule) == "");
    const std::vector<int> finish = tenant_finish_ticks(grid.timed, shared, result.schedule);
    // The heavy tenant has the ring to itself: two epochs. Three chunks a rank and tenant enter
    // by two links, so that both take three epochs.
    CHECK(finish[first_is_heavy ? 0 : 1] == 2);
    CHECK(finish[first_is_heavy ? 1 : 0] == 3);
  }
}

TEST_CASE("tenants that do not fit together are refused", "[synthesis][teccl]") {
  const Demand four = make_demand(CollectiveKind::AllGather, 4, 1);
  const Demand three = make_demand(CollectiveKind::AllGather, 3, 1);
  CHECK(contains(thrown([] { return share({}); }), "no tenant"));
  CHECK(contains(thrown([&] { return share({{four}, {three}}); }), "tenant 1 has 3 ranks"));
  CHECK(contains(thrown([&] { return share({{four, -1}}); }), "tenant 0 has weight -1"));
}

}  // namespace
}  // namespace cclgym::test
