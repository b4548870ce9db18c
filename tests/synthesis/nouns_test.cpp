// Tests of instances, demands, schedules and their checkers.
#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/shipped_fabric.hpp"
#include "support/thrown.hpp"
#include "synthesis/demand.hpp"
#include "synthesis/flow_graph.hpp"
#include "synthesis/instance.hpp"
#include "synthesis/step_schedule.hpp"
#include "synthesis/timed_schedule.hpp"
#include "synthesis/tree_packing.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

TEST_CASE("instance of a mesh has a hop and a limit per link", "[synthesis][instance]") {
  const Instance dgx1 = make_instance(*fabric_of("dgx1"));
  CHECK(dgx1.ranks == 8);
  CHECK(dgx1.hops.size() == 32);
  CHECK(dgx1.limits.size() == 32);
  CHECK(dgx1.unit_Bps == 25e9);
  std::int64_t units = 0;
  for (const Limit& limit : dgx1.limits) units += limit.units;
  CHECK(units == 48);
  int farthest = 0;
  for (const std::vector<int>& row : dgx1.distances()) {
    for (const int distance : row) farthest = std::max(farthest, distance);
  }
  CHECK(farthest == 2);
}

TEST_CASE("instance of a switched node limits what a GPU sends and receives",
          "[synthesis][instance]") {
  const Instance ndv4 = make_instance(*fabric_of("ndv4"));
  CHECK(ndv4.hops.size() == 56);
  CHECK(ndv4.limits.size() == 16);
  CHECK(ndv4.unit_Bps == 300e9);
  for (const Limit& limit : ndv4.limits) {
    CHECK(limit.hops.size() == 7);
    CHECK(limit.units == 1);
  }
}

TEST_CASE("reversing an instance reverses its hops", "[synthesis][instance]") {
  const Instance line = link_instance("line", {{0, 1, 0}, {0, 0, 2}, {1, 0, 0}});
  const Instance back = line.reversed();
  CHECK(back.hops[0].source == 1);
  CHECK(back.hops[0].target == 0);
  CHECK(back.distances()[2][1] == 1);
  CHECK(line.distances()[2][1] == 2);
}

TEST_CASE("demands of the copying collectives", "[synthesis][demand]") {
  CHECK(make_demand(CollectiveKind::AllGather, 4, 3).chunks.size() == 12);
  CHECK(make_demand(CollectiveKind::AllGather, 4, 3).deliveries() == 36);
  CHECK(make_demand(CollectiveKind::Broadcast, 4, 2, 1).deliveries() == 6);
  CHECK(make_demand(CollectiveKind::Gather, 4, 2, 1).deliveries() == 6);
  CHECK(make_demand(CollectiveKind::Scatter, 4, 2, 1).chunks.back() == ChunkDemand{1, {3}});
  CHECK(make_demand(CollectiveKind::AllToAll, 4, 2).deliveries() == 24);
  CHECK(make_demand(CollectiveKind::AllGather, 4, 1, 0, {1, 3}).chunks.front() ==
        ChunkDemand{1, {3}});
}

TEST_CASE("demands refuse bad groups, roots and collectives", "[synthesis][demand]") {
  CHECK(contains(thrown([] { return make_demand(CollectiveKind::AllReduce, 4, 1); }),
                 "allreduce is not a collective of copies"));
  CHECK(contains(thrown([] { return make_demand(CollectiveKind::AllGather, 4, 0); }), "0 chunks"));
  CHECK(contains(thrown([] { return make_demand(CollectiveKind::AllGather, 4, 1, 0, {2}); }),
                 "a group of 1 rank"));
  CHECK(contains(thrown([] {
                   return make_demand(CollectiveKind::AllGather, 4, 1, 0, {2, 4});
                 }),
                 "rank 4 of the group"));
  CHECK(contains(thrown([] {
                   return make_demand(CollectiveKind::AllGather, 4, 1, 0, {2, 2});
                 }),
                 "2 follows 2"));
  CHECK(contains(thrown([] {
                   return make_demand(CollectiveKind::Broadcast, 4, 1, 3, {1, 2});
                 }),
                 "root 3"));
}

TEST_CASE("replay of a step schedule finds each kind of fault", "[synthesis][schedule]") {
  const Instance ring = link_instance("ring", {{0, 1, 0}, {0, 0, 1}, {1, 0, 0}});
  const Demand demand = make_demand(CollectiveKind::AllGather, 3, 1);
  StepSchedule good{.rounds = {1, 1},
                    .sends = {{0, 0, 0}, {0, 1, 1}, {0, 2, 2}, {1, 0, 1}, {1, 1, 2}, {1, 2, 0}}};
  CHECK(check_schedule(ring, demand, good).empty());
  StepSchedule early = good;
  early.sends[3] = {0, 0, 1};
  CHECK(contains(check_schedule(ring, demand, early), "does not hold"));
  StepSchedule crowded = good;
  crowded.sends.push_back({1, 0, 0});
  CHECK(contains(check_schedule(ring, demand, crowded), "more than 1 chunks over 0 -> 1"));
  StepSchedule missing = good;
  missing.sends.pop_back();
  CHECK(contains(check_schedule(ring, demand, missing), "at the end"));
  StepSchedule idle = good;
  idle.rounds = {1, 0};
  CHECK(contains(check_schedule(ring, demand, idle), "has no round"));
}

TEST_CASE("replay of a timed schedule finds each kind of fault", "[synthesis][schedule]") {
  const Instance line = link_instance("line", {{0, 2, 0}, {1, 0, 1}, {0, 1, 0}});
  Instance with_latency = line;
  with_latency.unit_Bps = 1e9;
  for (Hop& hop : with_latency.hops) hop.latency_s = 0.5e-6;
  // 1 KB over 1 GB/s takes 1 us, over two units 0.5 us.
  const TimedInstance timed = make_timed_instance(with_latency, 1e3, 1e-9);
  CHECK(timed.tick_s == Approx(0.5e-6));
  CHECK(timed.occupancy == std::vector<int>{1, 2, 2, 2});
  CHECK(timed.duration == std::vector<int>{2, 3, 3, 3});
  const Demand demand = make_demand(CollectiveKind::Broadcast, 3, 2);
  TimedSchedule good{.ticks = 7, .sends = {{0, 0, 0}, {1, 1, 0}, {2, 0, 2}, {4, 1, 2}}};
  CHECK(check_schedule(timed, demand, good).empty());
  TimedSchedule late = good;
  late.ticks = 6;
  CHECK(contains(check_schedule(timed, demand, late), "at tick 6"));
  TimedSchedule crowded = good;
  crowded.sends[3].start = 3;
  CHECK(contains(check_schedule(timed, demand, crowded), "two chunks at once"));
  TimedSchedule early = good;
  early.sends[2].start = 1;
  CHECK(contains(check_schedule(timed, demand, early), "does not hold"));
  CHECK_THROWS_AS(make_timed_instance(with_latency, 1e3, 0.4e-6), UserError);
}

TEST_CASE("flow graph leaves out links that no route uses", "[synthesis][flow-graph]") {
  // Within one node, PCIe and NICs carry nothing: 8 GPUs and their NVSwitch are left.
  const FlowGraph one = make_flow_graph(*fabric_of("ndv4"));
  CHECK(one.ranks == 8);
  CHECK(one.nodes == 9);
  CHECK(one.edges.size() == 16);
  const FlowGraph two = make_flow_graph(*fabric_of("ndv4", 2));
  CHECK(two.nodes > 16 + 2);
  CHECK(make_flow_graph(*fabric_of("dgx1")).edges.size() == 32);
}

TEST_CASE("replay of trees finds each kind of fault", "[synthesis][trees]") {
  FlowGraph graph{.name = "star", .ranks = 3, .nodes = 4};
  graph.computes.assign(4, 0);
  for (int rank = 0; rank < 3; ++rank) graph.add_duplex(rank, 3, 2);
  TreePacking packing;
  for (int root = 0; root < 3; ++root) {
    const int next = (root + 1) % 3;
    packing.trees.push_back({root, 1, {{root, next, {3}}, {next, (root + 2) % 3, {3}}}});
  }
  packing.capacity_numerator = 1;
  CHECK(check_packing(graph, packing).empty());
  CHECK(packing.depth() == 2);
  CHECK(packing.trees_of(1) == 1);
  TreePacking heavy = packing;
  heavy.trees[0].count = 2;
  CHECK(contains(check_packing(graph, heavy), "parts over the edge"));
  TreePacking partial = packing;
  partial.trees[0].edges.pop_back();
  CHECK(contains(check_packing(graph, partial), "does not reach rank 2"));
  CHECK(check_packing(graph, partial, {0, 1}).find("does not reach rank 0") == std::string::npos);
  TreePacking broken = packing;
  broken.trees[0].edges[0].through.clear();
  CHECK(contains(check_packing(graph, broken), "no edge"));
  TreePacking twice = packing;
  twice.trees[0].edges.push_back({0, 1, {3}});
  CHECK(contains(check_packing(graph, twice), "receives twice"));
}

}  // namespace
}  // namespace cclgym::test
