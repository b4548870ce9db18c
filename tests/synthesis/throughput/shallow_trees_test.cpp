// Tests of trees that grow at once, and of numbers of trees that differ from root to root.
#include <numeric>
#include <string>
#include <utility>

#include "support/catch.hpp"
#include "synthesis/throughput/pack.hpp"
#include "synthesis/throughput/part_counts.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

FlowGraph graph_of(const std::string& name, int servers = 1) {
  FabricSpec spec;
  spec.name = name;
  if (servers > 1) spec.servers = servers;
  return make_flow_graph(*make_fabric(spec));
}

TEST_CASE("shallow trees are at the bound, and shallow where others are deep",
          "[synthesis][throughput]") {
  const auto [name, servers] = GENERATE(std::pair("dgx1", 1), std::pair("ndv2", 2),
                                        std::pair("amd-mi250x", 1), std::pair("amd-mi250x", 2));
  CAPTURE(name, servers);
  const FlowGraph graph = graph_of(name, servers);
  for (const std::int64_t trees : {1, 2, 3}) {
    CAPTURE(trees);
    const TreePacking deep = pack_allgather(graph, {.trees_per_root = trees});
    const TreePacking shallow = pack_allgather(graph, {.trees_per_root = trees, .shallow = true});
    CHECK(check_packing(graph, shallow) == "");
    CHECK(rounds_per_chunk(shallow) == rounds_per_chunk(deep));
    CHECK(shallow.trees_of(0) == trees);
    // The depth is no optimum: on two servers of MI250X it falls from 15 to 11.
    CHECK(shallow.depth() <= deep.depth() + 1);
    if (name == std::string("amd-mi250x") && servers == 2) CHECK(shallow.depth() < deep.depth());
  }
}

TEST_CASE("between one and two trees per root suit the links of two MI250X servers",
          "[synthesis][throughput]") {
  // Each pair of dies receives 45 of 48 parts: 7 on each of 6 link units, 3 on its NIC.
  const FlowGraph graph = graph_of("amd-mi250x", 2);
  const auto found = few_parts(graph, {}, Rational(5, 54) * Rational(100, 97));
  REQUIRE(found.has_value());
  CHECK(found->parts == 48);
  CHECK(found->capacity == Rational(7, 50));
  CHECK(std::accumulate(found->counts.begin(), found->counts.end(), std::int64_t{0}) == 48);
  TreePacking packing = pack_trees(graph, floor_capacities(graph, found->capacity, found->parts),
                                   found->counts, {}, SplitMethod::Even, true);
  packing.capacity_numerator = 7;
  packing.capacity_denominator = 50;
  CHECK(check_packing(graph, packing) == "");
}

TEST_CASE("a fixed number of trees of one root", "[synthesis][throughput]") {
  // Links of 2 and 3 units: 5 trees at one per unit. One tree needs the whole wide link for 1/3; of
  // two trees, each link has one if the narrow one carries 1/2 per unit.
  FlowGraph pair{.name = "pair", .ranks = 2, .nodes = 3};
  pair.computes.assign(3, 0);
  pair.add(0, 1, 3);
  pair.add(0, 2, 2);
  pair.add(2, 1, 2);
  pair.add(1, 0, 1);
  CHECK(capacity_of_root(pair, 0, 5) == Rational(1));
  CHECK(capacity_of_root(pair, 0, 1) == Rational(1, 3));
  CHECK(capacity_of_root(pair, 0, 2) == Rational(1, 2));
  CHECK(floor_capacities(pair, Rational(1, 2), 10)[0] == 1);
  CHECK(floor_capacities(pair, Rational(5), 10)[0] == 10);
}

}  // namespace
}  // namespace cclgym::test
