// Tests of TE-CCL's fabrics and epochs.
#include "synthesis/teccl/published_topologies.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/index.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/places.hpp"
#include "support/thrown.hpp"
#include "synthesis/published_instances.hpp"
#include "synthesis/teccl/epochs.hpp"
#include "synthesis/teccl/minimum_ticks.hpp"
#include "synthesis/teccl/tick_bounds.hpp"
#include "topology_models/fabric_file.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

TEST_CASE("TE-CCL's chassis have the GPUs and edges of its Table 2", "[synthesis][teccl]") {
  CHECK(teccl_dgx1().ranks == 8);
  CHECK(teccl_dgx1().hops.size() == 32);
  CHECK(teccl_ndv2(1).instance.hops.size() == 32);
  CHECK(teccl_amd(1).gpus == 16);
  CHECK(teccl_amd(1).instance.hops.size() == 56);
  CHECK(teccl_internal1(1).gpus == 4);
  CHECK(teccl_internal1(1).instance.hops.size() == 8);
  CHECK(teccl_internal2(1).gpus == 2);
  CHECK(teccl_internal2(1).instance.hops.size() == 2);
  // Two chassis of 16 GPUs and a switch, 32 edges each, and 16 links between them.
  const SwitchedInstance dgx2 = teccl_dgx2(SwitchModel::Copying);
  CHECK(dgx2.instance.ranks == 2 * 17);
  CHECK(dgx2.instance.hops.size() == 2 * 32 + 16);
  CHECK(dgx2.gpu_ranks().size() == 32);
}

TEST_CASE("the DGX-1 of TE-CCL is the fabric dgx1", "[synthesis][teccl]") {
  const Instance fabric = dgx1_instance();
  const Instance published = teccl_dgx1();
  REQUIRE(fabric.hops.size() == published.hops.size());
  for (const Hop& hop : fabric.hops) {
    const auto same = std::ranges::find_if(published.hops, [&](const Hop& other) {
      return other.source == hop.source && other.target == hop.target;
    });
    REQUIRE(same != published.hops.end());
    CHECK(published.limits[at(same->limits.front())].units ==
          fabric.limits[at(hop.limits.front())].units);
    CHECK(same->latency_s == Approx(hop.latency_s));
  }
}

TEST_CASE("NDv2 chassis are joined by two links, or by a switch", "[synthesis][teccl]") {
  const Instance two = teccl_ndv2(2).instance;
  CHECK(two.hops.size() == 2 * 32 + 2);
  CHECK(two.hops[64].source == 0);
  CHECK(two.hops[64].target == 9);
  const Instance four = teccl_ndv2(4).instance;
  CHECK(four.hops.size() == 4 * 32 + 4 * 3);
  CHECK(four.limits.size() == 4 * 32 + 2 * 4);
  CHECK(four.hops.back().limits.size() == 2);
  CHECK(four.hops.back().latency_s == Approx(2.6e-6));
  CHECK(teccl_ndv2(4, SwitchModel::Copying).instance.hops.size() == 4 * 32 + 8);
  CHECK(contains(thrown([] { return teccl_ndv2(0); }), "0 chassis"));
}

TEST_CASE("two dies of an AMD node share the ports of their NIC", "[synthesis][teccl]") {
  const SwitchedInstance amd = teccl_amd(2);
  CHECK(amd.instance.hops.size() == 2 * 56 + 2 * 16 * 16);
  CHECK(amd.instance.limits.size() == 2 * 56 + 2 * 16);
  CHECK(amd.instance.limits.back().hops.size() == 2 * 16);
}

TEST_CASE("fabric files of TE-CCL's internal topologies agree with their instances",
          "[synthesis][teccl]") {
  const std::string folder = source_path("experiments/fabrics/");
  for (const int number : {1, 2}) {
    const SwitchedInstance published = number == 1 ? teccl_internal1(4) : teccl_internal2(8);
    const auto fabric = load_fabric(folder + "internal" + std::to_string(number) + "-like.yaml");
    const Instance instance = make_instance(*fabric);
    CHECK(instance.ranks == 16);
    CHECK(instance.unit_Bps == published.instance.unit_Bps);
    const Demand demand = make_demand(CollectiveKind::AllGather, 16, 1);
    const TickBound bound = lower_bound_ticks(make_timed_instance(instance, 25e3), demand);
    CHECK(bound.ticks ==
          lower_bound_ticks(make_timed_instance(published.instance, 25e3), demand).ticks);
    CHECK(bound.ticks == (number == 1 ? 95 : 166));
  }
}

TEST_CASE("AllGather on TE-CCL's larger fabrics reaches the bound", "[synthesis][teccl]") {
  const SwitchedInstance dgx2 = teccl_dgx2();
  const double epoch = epoch_length_s(dgx2.instance, 1e9, EpochChoice::FastestLink);
  const std::vector<std::pair<SwitchedInstance, TimedInstance>> cases{
      {dgx2, make_epoch_grid(dgx2.instance, 1e9, epoch).timed},
      {teccl_internal1(4), make_timed_instance(teccl_internal1(4).instance, 25e3)},
      {teccl_internal2(8), make_timed_instance(teccl_internal2(8).instance, 25e3)}};
  const std::vector<int> expected{31, 95, 166};
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const auto& [fabric, timed] = cases[k];
    const Demand demand = make_demand(CollectiveKind::AllGather, fabric.gpus, 1);
    const MinimumTicks found =
        minimum_ticks(timed, demand, {.group = largest_gpu_group(fabric), .prove = false});
    REQUIRE(found.optimal());
    CHECK(found.schedule->ticks == expected[k]);
    CHECK(check_schedule(timed, demand, *found.schedule) == "");
  }
}

TEST_CASE("epochs round times up", "[synthesis][teccl]") {
  const Instance dgx1 = teccl_dgx1();
  CHECK(epoch_length_s(dgx1, 25e3, EpochChoice::FastestLink) == Approx(0.5e-6));
  CHECK(epoch_length_s(dgx1, 25e3, EpochChoice::SlowestLink) == Approx(1e-6));
  const EpochGrid fast = make_epoch_grid(dgx1, 25e3, 0.5e-6);
  CHECK(fast.is_timed());
  CHECK(fast.timed.occupancy[0] == 1);  // 0 -> 1: two NVLinks
  CHECK(fast.timed.occupancy[2] == 2);  // 0 -> 2: one
  CHECK(fast.timed.duration[0] == 3);
  CHECK(fast.timed.duration[2] == 4);
  const EpochGrid slow = make_epoch_grid(dgx1, 25e3, 1e-6);
  CHECK_FALSE(slow.is_timed());
  CHECK(slow.capacity[0] == 2);
  CHECK(slow.capacity[2] == 1);
  CHECK(slow.timed.duration[0] == 2);
  // With chunks of 1 GB, a latency of 0.7 us counts as none.
  CHECK(make_epoch_grid(dgx1, 1e9, 20e-3).timed.duration[0] == 1);
  CHECK(contains(thrown([&] { return make_epoch_grid(dgx1, 25e3, 0); }), "epochs of 0 s"));
  CHECK(contains(thrown([&] { return epoch_length_s(dgx1, -1, EpochChoice::FastestLink); }),
                 "chunks of -1 bytes"));
  CHECK(contains(thrown([&] { return make_epoch_grid(dgx1, 25e3, 1e-18); }), "expected at most"));
}

}  // namespace
}  // namespace cclgym::test
