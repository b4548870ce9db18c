// Tests of TE-CCL's mixed-integer program.
#include "synthesis/teccl/epoch_program.hpp"

#include <numeric>

#include "core/error.hpp"
#include "core/index.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/thorough.hpp"
#include "support/thrown.hpp"
#include "synthesis/teccl/minimum_ticks.hpp"
#include "synthesis/teccl/published_topologies.hpp"
#include "synthesis/teccl/random_timed.hpp"
#include "synthesis/teccl/schedule_tools.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

// Chunks of 25 KB on a DGX-1.
EpochGrid dgx1_grid(double epoch_s) { return make_epoch_grid(teccl_dgx1(), 25e3, epoch_s); }

void check_minimum(int chunks, double epoch_s, int epochs) {
  INFO(chunks << " chunks, epochs of " << epoch_s << " s");
  const EpochGrid grid = dgx1_grid(epoch_s);
  const Demand demand = make_demand(CollectiveKind::AllGather, 8, chunks);
  const MinimumEpochs found = minimum_epochs(grid, demand, {}, epochs - 1);
  CHECK(found.epochs == epochs);
  CHECK(found.refuted == epochs - 1);
  CHECK(found.result.schedule.ticks == epochs);
  if (grid.is_timed()) CHECK(check_schedule(grid.timed, demand, found.result.schedule) == "");
  const TimedInstance exact = make_timed_instance(teccl_dgx1(), 25e3);
  const TimedSchedule schedule = earliest_schedule(exact, demand, found.result.schedule.sends);
  CHECK(check_schedule(exact, demand, schedule) == "");
  CHECK(schedule.ticks * exact.tick_s <= epochs * epoch_s + 1e-9);
}

TEST_CASE("TE-CCL's program needs the published epochs on a DGX-1",
          "[synthesis][teccl][thorough]") {
  check_minimum(1, 1e-6, 4);
  check_minimum(2, 1e-6, 5);
  check_minimum(1, 0.5e-6, 7);
  if (thorough()) {
    check_minimum(3, 1e-6, 6);
    check_minimum(2, 0.5e-6, 9);
  }
}

TEST_CASE("TE-CCL's objective rewards early deliveries", "[synthesis][teccl]") {
  // A chunk from 0 to 2 over 1, two epochs per hop: held at 2 at epoch 4, rewarded at epochs 3 to
  // 5 as the fourth to sixth.
  Instance line = link_instance("line", {{0, 1, 0}, {0, 0, 1}, {0, 0, 0}});
  for (Hop& hop : line.hops) hop.latency_s = 1;
  const EpochGrid grid = make_epoch_grid(line, 1, 1);
  Demand demand{.ranks = 3, .chunks = {{.source = 0, .targets = {2}}}};
  const EpochResult result = solve_epochs(grid, demand, 6);
  REQUIRE(result.status == MipStatus::Optimal);
  CHECK(result.objective == Approx(1.0 / 4 + 1.0 / 5 + 1.0 / 6));
  CHECK(result.schedule.sends == std::vector<TimedSend>{{0, 0, 0}, {2, 0, 1}});
  CHECK(solve_epochs(grid, demand, 3).status == MipStatus::Infeasible);
  CHECK(solve_epochs(grid, demand, 6, {.weights = {2.5}}).objective ==
        Approx(2.5 * result.objective));
}

TEST_CASE("flows through a copying switch are copied there", "[synthesis][teccl]") {
  // Three GPUs on a switch: one send in, two out, one epoch each.
  const Instance star =
      link_instance("star", {{0, 0, 0, 1}, {0, 0, 0, 1}, {0, 0, 0, 1}, {1, 1, 1, 0}});
  EpochGrid grid = make_epoch_grid(star, 1, 1);
  grid.timed.switches = {0, 0, 0, 1};
  const Demand demand = make_demand(CollectiveKind::Broadcast, 4, 1, 0, {0, 1, 2});
  const EpochResult result = solve_epochs(grid, demand, 2);
  REQUIRE(result.status == MipStatus::Optimal);
  CHECK(result.schedule.sends.size() == 3);
  CHECK(check_schedule(grid.timed, demand, result.schedule) == "");
}

TEST_CASE("the program's minimum epochs equal the minimum ticks", "[synthesis][teccl][thorough]") {
  std::mt19937 random(3);
  const int count = thorough() ? 200 : 20;
  for (int k = 0; k < count; ++k) {
    INFO("instance " << k);
    const bool has_switch = k % 3 == 0;
    const int ranks = 3 + draw(random, 2);
    EpochGrid grid;
    grid.timed = random_timed(random, ranks, draw(random, 4), has_switch);
    grid.capacity.assign(grid.timed.occupancy.size(), 1);
    std::vector<int> group(at(has_switch ? ranks - 1 : ranks));
    std::iota(group.begin(), group.end(), 0);
    const Demand demand =
        make_demand(draw(random, 2) == 0 ? CollectiveKind::AllGather : CollectiveKind::Scatter,
                    ranks, 1 + draw(random, 2), 0, group);
    const MinimumEpochs found = minimum_epochs(grid, demand);
    const MinimumTicks ticks = minimum_ticks(grid.timed, demand);
    REQUIRE(ticks.optimal());
    CHECK(found.epochs == ticks.schedule->ticks);
    CHECK(found.refuted == found.epochs - 1);
    CHECK(check_schedule(grid.timed, demand, found.result.schedule) == "");
  }
}

TEST_CASE("a program with bad settings is refused", "[synthesis][teccl]") {
  const EpochGrid grid = dgx1_grid(1e-6);
  const Demand demand = make_demand(CollectiveKind::AllGather, 8, 1);
  CHECK(contains(thrown([&] { return solve_epochs(grid, demand, 0); }), "0 epochs"));
  CHECK(contains(thrown([&] { return solve_epochs(grid, demand, 4, {.weights = {1}}); }),
                 "1 weights for 8 chunks"));
  CHECK(contains(
      thrown([&] { return solve_epochs(grid, demand, 4, {.weights = std::vector<double>(8, 0)}); }),
      "a weight of 0"));
  CHECK(contains(
      thrown([&] { return solve_epochs(grid, make_demand(CollectiveKind::AllGather, 4, 1), 4); }),
      "the demand has 4 ranks"));
}

}  // namespace
}  // namespace cclgym::test
