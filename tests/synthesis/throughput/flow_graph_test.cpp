// Tests of flow graphs of fabrics.
#include "synthesis/flow_graph.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/index.hpp"
#include "support/catch.hpp"
#include "support/shipped_fabric.hpp"
#include "synthesis/instance.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

bool equal(const FlowGraph& one, const FlowGraph& other) {
  return one.ranks == other.ranks && one.nodes == other.nodes && one.devices == other.devices &&
         one.computes == other.computes &&
         std::equal(one.edges.begin(), one.edges.end(), other.edges.begin(), other.edges.end(),
                    [](const FlowEdge& a, const FlowEdge& b) {
                      return a.source == b.source && a.target == b.target && a.units == b.units;
                    });
}

TEST_CASE("flow graphs of all shipped machines are those of all routes",
          "[synthesis][throughput]") {
  int compared = 0;
  for (const FabricInfo& info : fabric_infos()) {
    const bool scales =
        std::any_of(info.options.begin(), info.options.end(),
                    [](const OptionSpec& option) { return option.name == "nodes"; });
    for (const int servers : {1, 2, 3, 5}) {
      if (servers > 1 && !scales) continue;
      const std::shared_ptr<const Fabric> fabric = fabric_of(info.name, servers);
      if (fabric->ranks() > 64) continue;
      INFO(info.name << " x" << servers);
      CHECK(equal(make_flow_graph(*fabric), make_flow_graph_of_all_routes(*fabric)));
      ++compared;
    }
  }
  CHECK(compared > 40);
}

TEST_CASE("flow graphs of fat trees with several leaves are those of all routes",
          "[synthesis][throughput]") {
  for (const int servers_per_leaf : {1, 2, 3}) {
    FabricSpec spec;
    spec.name = "ndv4";
    spec.servers = 6;
    spec.oversubscription = 2;
    spec.servers_per_leaf = servers_per_leaf;
    const std::shared_ptr<const Fabric> fabric = make_fabric(spec);
    CHECK(equal(make_flow_graph(*fabric), make_flow_graph_of_all_routes(*fabric)));
  }
}

TEST_CASE("paths through hosts are no part of flow graphs and instances",
          "[synthesis][throughput]") {
  for (const auto& [name, servers] :
       std::vector<std::pair<std::string, int>>{{"dgx1", 1}, {"ndv2", 1}, {"ndv2", 3}}) {
    INFO(name << " x" << servers);
    FabricSpec spec;
    spec.name = name;
    spec.servers = servers;
    const std::shared_ptr<const Fabric> relayed = make_fabric(spec);
    spec.nvb = false;
    const std::shared_ptr<const Fabric> fabric = make_fabric(spec);
    FlowGraph expected = make_flow_graph(*relayed);
    FlowGraph graph = make_flow_graph(*fabric);
    CHECK(graph.unit_Bps == expected.unit_Bps);
    CHECK(equal(graph, make_flow_graph_of_all_routes(*fabric)));
    for (NodeId& device : graph.devices) device = 0;  // numbers follow the order of nodes
    for (NodeId& device : expected.devices) device = 0;
    CHECK(equal(graph, expected));
    const Instance instance = make_instance(*fabric, 2);
    const Instance known = make_instance(*relayed, 2);
    CHECK(instance.unit_Bps == known.unit_Bps);
    CHECK(instance.hops.size() == known.hops.size());
    CHECK(instance.limits.size() == known.limits.size());
    CHECK(instance.distances() == known.distances());
  }
}

TEST_CASE("PCIe switches have a node per direction", "[synthesis][throughput]") {
  const std::shared_ptr<const Fabric> fabric = fabric_of("ndv4", 2);
  const FlowGraph graph = make_flow_graph(*fabric);
  int pcie = 0;
  for (int node = graph.ranks; node < graph.nodes; ++node) {
    if (fabric->nodes()[at(graph.devices[at(node)])].kind != NodeKind::PcieSwitch) continue;
    ++pcie;
    bool from_gpu = false;
    bool to_gpu = false;
    for (const FlowEdge& edge : graph.edges) {
      from_gpu = from_gpu || (edge.target == node && edge.source < graph.ranks);
      to_gpu = to_gpu || (edge.source == node && edge.target < graph.ranks);
    }
    CHECK(from_gpu != to_gpu);
  }
  CHECK(pcie == 16);
}

TEST_CASE("edges of a flow graph add up, also after other changes", "[synthesis][throughput]") {
  FlowGraph graph;
  graph.nodes = graph.ranks = 4;
  graph.add_duplex(0, 1, 2);
  graph.add(1, 2, 3);
  graph.add(0, 1, 5);
  REQUIRE(graph.edges.size() == 3);
  CHECK(graph.edges[0].units == 7);
  graph.edges.erase(graph.edges.begin());
  graph.add(1, 2, 1);
  CHECK(graph.edges[1].units == 4);
  graph.edges[0] = {2, 3, 1};
  graph.add(1, 0, 6);
  graph.add(2, 3, 1);
  REQUIRE(graph.edges.size() == 3);
  CHECK(graph.edges[0].units == 2);
  CHECK(graph.edges[2].units == 6);
  const FlowGraph back = graph.reversed();
  CHECK(back.edges[2].source == 0);
}

}  // namespace
}  // namespace cclgym::test
