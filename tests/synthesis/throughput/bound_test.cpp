// Tests of exact bounds: published values, and all cuts of small random graphs.
#include "synthesis/throughput/bound.hpp"

#include <random>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/shipped_fabric.hpp"
#include "support/thorough.hpp"
#include "support/thrown.hpp"
#include "synthesis/throughput/balance.hpp"
#include "synthesis/throughput/pack.hpp"
#include "synthesis/throughput/published_graphs.hpp"
#include "synthesis/throughput/random_graphs.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

FlowGraph shipped(const std::string& name, int servers) {
  return make_flow_graph(*fabric_of(name, servers));
}

// Packs at the bound, and checks the bound's cut and the trees.
void check_value(const FlowGraph& graph, const Rational& value,
                 const std::vector<int>& group = {}) {
  INFO(graph.name << " of " << graph.ranks);
  const CutBound bound = allgather_bound(graph, group);
  CHECK(bound.value == value);
  CHECK(check_cut(graph, group, bound) == "");
  const TreePacking packing = pack_allgather(graph, {.group = group});
  CHECK(check_packing(graph, packing, group) == "");
  CHECK(rounds_per_chunk(packing) == value);
  for (const int member : members_of(graph, group)) {
    CHECK(packing.trees_of(member) == packing.trees_of(packing.trees.front().root));
  }
}

TEST_CASE("bounds and trees of the fabrics of ForestColl and TE-CCL", "[synthesis][throughput]") {
  check_value(dgx1_graph(), Rational(7, 150));
  check_value(ring_graph(8), Rational(7, 2));
  check_value(ndv2_graph(2), Rational(16, 25) / 2);  // per unit of 0.5 GB/s
  check_value(ndv2_graph(4), Rational(48, 25) / 2);
  check_value(dgx2_graph(2), Rational(31, 125) / 2);
  check_value(a100_graph(1), Rational(7, 300));
  check_value(a100_graph(2), Rational(3, 65));
  check_value(a100_graph(4), Rational(3, 25));
  check_value(a100_graph(8), Rational(7, 25));
  check_value(mi250_graph(1), Rational(7, 150));
  check_value(mi250_graph(2), Rational(15, 166));
  check_value(a100_graph(16), Rational(3, 5));
}

TEST_CASE("failures and process groups", "[synthesis][throughput]") {
  check_value(a100_graph(2, 0), Rational(16, 320));
  check_value(a100_graph(4, 0), Rational(32 * 3, 700));
  check_value(a100_graph(4, 13), Rational(32 * 3, 700));
  FlowGraph dgx1 = dgx1_graph();
  std::erase_if(dgx1.edges, [](const FlowEdge& edge) {
    return edge.source + edge.target == 4 && (edge.source == 0 || edge.target == 0);
  });
  check_value(dgx1, Rational(7, 100));
  std::vector<int> half;
  for (int rank = 0; rank < 32; ++rank) {
    if (rank % 8 < 4) half.push_back(rank);
  }
  check_value(a100_graph(4), Rational(3, 50), half);
  // GPUs outside the group pass data on.
  check_value(ring_graph(8), Rational(1, 2), {0, 4});
  check_value(ring_graph(8), Rational(3, 2), {0, 2, 4, 6});
}

TEST_CASE("fixed numbers of trees", "[synthesis][throughput]") {
  // algbw in GB/s per number of trees, which is ranks / (seconds per GB of a chunk).
  const auto check = [](const FlowGraph& graph, std::int64_t trees, const Rational& algbw) {
    INFO(graph.name << " " << trees);
    const Rational rounds = allgather_bound_of_trees(graph, trees);
    CHECK(graph.ranks / rounds == algbw);
    const TreePacking packing = pack_allgather(graph, {.trees_per_root = trees});
    CHECK(check_packing(graph, packing) == "");
    CHECK(packing.trees_of(0) == trees);
    CHECK(rounds_per_chunk(packing) == rounds);
  };
  check(dgx1_graph(), 1, Rational(400, 3));
  check(dgx1_graph(), 2, Rational(160));
  check(dgx1_graph(), 3, Rational(150));
  check(dgx1_graph(), 6, Rational(1200, 7));
  check(a100_graph(2), 1, Rational(2400, 7));
  check(a100_graph(2), 6, Rational(2400, 7));
  check(a100_graph(2), 13, Rational(1040, 3));
  check(mi250_graph(1), 1, Rational(800, 3));
  check(mi250_graph(1), 2, Rational(320));
  check(mi250_graph(1), 3, Rational(2400, 7));
  check(mi250_graph(2), 1, Rational(320));
  check(mi250_graph(2), 2, Rational(1024, 3));
  check(mi250_graph(2), 83, Rational(5312, 15));
}

TEST_CASE("bounds of shipped machines", "[synthesis][throughput]") {
  check_value(shipped("ndv4", 1), Rational(7, 300));  // PCIe beside NVLink is of no use
  check_value(shipped("ndv4", 2), Rational(5, 108));
  check_value(shipped("ndv4", 4), Rational(1, 8));
  check_value(shipped("ndv4", 8), Rational(7, 24));
  check_value(shipped("ndv4", 16), Rational(5, 8));
  check_value(shipped("hgx-h100", 4), Rational(1, 16));
  check_value(shipped("amd-mi250x", 2), Rational(5, 54));
  check_value(shipped("ndv2", 2), Rational(8, 25));
  check_value(shipped("ndv2", 4), Rational(24, 25));
  CHECK(allgather_bound(shipped("ndv4", 32)).value == Rational(31, 24));
  CHECK(allgather_bound(shipped("ndv4", 64)).value == Rational(21, 8));
  CHECK(allgather_bound(shipped("ndv4", 128)).value == Rational(127, 24));
  CHECK(allgather_bound(shipped("hgx-h100", 16)).value == Rational(5, 16));
}

TEST_CASE("a switch that feeds two GPUs from one NIC is shared", "[synthesis][throughput]") {
  // The cut of a single GPU counts the NIC's 12 GB/s for both GPUs; without copies each has 6.
  const FlowGraph dgx2 = shipped("dgx2", 2);
  CHECK(allgather_bound(dgx2).value == Rational(31, 162));
  const TreePacking packing = pack_allgather(dgx2);
  CHECK(check_packing(dgx2, packing) == "");
  CHECK(rounds_per_chunk(packing) == Rational(31, 156));
  const TreePacking few = pack_allgather(dgx2, {.trees_per_root = 1});
  CHECK(check_packing(dgx2, few) == "");
  CHECK(few.trees_of(5) == 1);
}

// The maximum ratio over all sets of nodes.
Rational by_all_cuts(const FlowGraph& graph, const std::vector<int>& members) {
  Rational best(0);
  for (std::uint32_t set = 1; set < 1U << graph.nodes; ++set) {
    const auto inside = [&](int node) { return (set >> node & 1U) != 0; };
    const auto count = std::count_if(members.begin(), members.end(), inside);
    if (count == 0 || count == static_cast<std::ptrdiff_t>(members.size())) continue;
    std::int64_t units = 0;
    for (const FlowEdge& edge : graph.edges) {
      if (inside(edge.source) && !inside(edge.target)) units += edge.units;
    }
    best = std::max(best, Rational(count, units));
  }
  return best;
}

TEST_CASE("bounds and trees of random graphs equal the best of all cuts",
          "[synthesis][throughput][thorough]") {
  std::mt19937_64 random(11);
  const int trials = thorough() ? 20000 : 1500;
  for (int trial = 0; trial < trials; ++trial) {
    const int ranks = 3 + trial % 4;
    const FlowGraph graph = random_graph(random, ranks, trial / 4 % 4, true);
    std::vector<int> group;
    if (trial % 3 == 0 && ranks > 3) {
      for (int rank = 0; rank < ranks; ++rank) {
        if (rank != trial / 3 % ranks) group.push_back(rank);
      }
    }
    INFO(trial);
    const std::vector<int> members = members_of(graph, group);
    const Rational best = by_all_cuts(graph, members);
    const CutBound bound = allgather_bound(graph, group);
    REQUIRE(bound.value == best);
    REQUIRE(check_cut(graph, group, bound) == "");
    for (const SplitMethod method : {SplitMethod::Even, SplitMethod::Exact}) {
      const TreePacking packing = pack_allgather(graph, {.group = group, .method = method});
      REQUIRE(check_packing(graph, packing, group) == "");
      REQUIRE(rounds_per_chunk(packing) == best);
      for (const int member : members) {
        REQUIRE(packing.trees_of(member) == packing.trees_of(members.front()));
      }
    }
    const std::int64_t trees = 1 + trial % 3;
    const TreePacking fixed = pack_allgather(graph, {.group = group, .trees_per_root = trees});
    REQUIRE(check_packing(graph, fixed, group) == "");
    REQUIRE(rounds_per_chunk(fixed) >= best);
    // Trees of the reversed graph, reversed, carry a ReduceScatter; duplex links are symmetric.
    REQUIRE(allgather_bound(graph.reversed(), group).value == best);
  }
}

TEST_CASE("random graphs with links in one direction have trees between the bounds",
          "[synthesis][throughput][thorough]") {
  std::mt19937_64 random(12);
  const int trials = thorough() ? 20000 : 1000;
  int at_bound = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const FlowGraph graph = random_graph(random, 3 + trial % 4, trial / 4 % 4, false);
    INFO(trial);
    const std::vector<int> members = members_of(graph, {});
    const Rational best = by_all_cuts(graph, members);
    REQUIRE(allgather_bound(graph).value == best);
    const TreePacking packing = pack_allgather(graph);
    REQUIRE(check_packing(graph, packing) == "");
    const BalancedGraph balanced = balance(graph, members);
    REQUIRE(rounds_per_chunk(packing) >= best);
    REQUIRE(rounds_per_chunk(packing) <= allgather_bound(balanced.graph).value * balanced.factor);
    if (rounds_per_chunk(packing) == best) ++at_bound;
    if (is_balanced(graph, members)) REQUIRE(rounds_per_chunk(packing) == best);
  }
  CHECK(at_bound > trials / 2);
}

TEST_CASE("broadcast: as many trees from one root as its minimum cut", "[synthesis][throughput]") {
  const FlowGraph dgx1 = dgx1_graph();
  const CutBound bound = broadcast_bound(dgx1, 3);
  CHECK(bound.value == Rational(1, 150));
  CHECK(check_cut(dgx1, {}, bound, 3) == "");
  std::vector<std::int64_t> capacities;
  for (const FlowEdge& edge : dgx1.edges) capacities.push_back(edge.units / 25);
  std::vector<std::int64_t> counts(8, 0);
  counts[3] = 6;
  const TreePacking packing = pack_trees(dgx1, capacities, counts);
  CHECK(packing.trees_of(3) == 6);
  counts[3] = 7;
  CHECK(
      contains(thrown([&] { return pack_trees(dgx1, capacities, counts); }), "7 trees do not fit"));
}

TEST_CASE("unequal numbers of trees per root fill a random graph", "[synthesis][throughput]") {
  std::mt19937_64 random(13);
  for (int trial = 0; trial < 300; ++trial) {
    const FlowGraph graph = random_graph(random, 4, trial % 3, true);
    std::vector<std::int64_t> capacities;
    for (const FlowEdge& edge : graph.edges) capacities.push_back(edge.units);
    std::vector<std::int64_t> counts(4, 0);
    const std::vector<int> members = members_of(graph, {});
    for (int step = 0; step < 40; ++step) {
      std::int64_t& count = counts[random() % 4];
      ++count;
      if (!supports_trees(graph, capacities, counts, members)) --count;
    }
    const TreePacking packing = pack_trees(graph, capacities, counts);
    REQUIRE(check_packing(graph, packing) == "");
    for (int rank = 0; rank < 4; ++rank) REQUIRE(packing.trees_of(rank) == counts[at(rank)]);
  }
}

TEST_CASE("bounds refuse graphs in pieces, bad groups and false cuts", "[synthesis][throughput]") {
  FlowGraph pieces = empty_graph("pieces", 4, 1e9);
  pieces.add_duplex(0, 1, 1);
  pieces.add_duplex(2, 3, 1);
  CHECK(contains(thrown([&] { return allgather_bound(pieces); }), "cannot reach rank"));
  CHECK(contains(thrown([&] { return broadcast_bound(pieces, 0); }), "cannot reach rank"));
  CHECK(allgather_bound(pieces, {2, 3}).value == Rational(1));
  CHECK(contains(thrown([&] { return allgather_bound(pieces, {2}); }), "a group of 1 rank"));
  CHECK(contains(thrown([&] { return allgather_bound(pieces, {2, 4}); }), "rank 4 of the group"));
  CHECK(contains(thrown([&] { return allgather_bound(pieces, {3, 2}); }), "2 follows 3"));
  CHECK(contains(thrown([&] {
                   return pack_allgather(pieces, {.group = {2, 3}, .trees_per_root = -1});
                 }),
                 "-1 trees per root"));
  FlowGraph wide = ring_graph(4);
  wide.edges.front().units = std::int64_t{1} << 60;
  CHECK(contains(thrown([&] { return allgather_bound(wide); }), "too many units"));
  CutBound bound = allgather_bound(dgx1_graph());
  bound.value += Rational(1, 1000);
  CHECK(check_cut(dgx1_graph(), {}, bound) != "");
  bound = allgather_bound(dgx1_graph());
  bound.cut.assign(bound.cut.size(), 1);
  CHECK(check_cut(dgx1_graph(), {}, bound) == "the cut leaves out no member");
}

}  // namespace
}  // namespace cclgym::test
