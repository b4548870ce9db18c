#include "collectives/library/logical_rings.hpp"

#include <fmt/format.h>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "collectives/library/algorithm_library.hpp"
#include "support/catch.hpp"
#include "topology_models/fabric.hpp"
#include "topology_models/machines/registry.hpp"

using namespace cclgym;

namespace {

using Rings = std::vector<std::vector<int>>;

struct Edge {
  int a;
  int b;
  int units;
};

// Nodes of four GPUs with direct links between all of them, of which two share a NIC each.
std::shared_ptr<const Fabric> nodes_of_two_nics(int servers) {
  FabricBuilder builder("test");
  const NodeId hub =
      builder.add_node({.name = "hub", .kind = NodeKind::NetworkSwitch, .server = -1});
  const auto join = [&](NodeId a, NodeId b, LinkKind kind, double bandwidth_Bps, int units) {
    builder.add_duplex_link({.source = a,
                             .target = b,
                             .kind = kind,
                             .latency_s = 1e-6,
                             .unit_bandwidth_Bps = bandwidth_Bps,
                             .multiplicity = units});
  };
  for (int server = 0; server < servers; ++server) {
    const auto add = [&](const char* name, int number, NodeKind kind) {
      return builder.add_node(
          {.name = fmt::format("s{}/{}{}", server, name, number), .kind = kind, .server = server});
    };
    std::vector<NodeId> gpus;
    for (int gpu = 0; gpu < 4; ++gpu) {
      gpus.push_back(add("gpu", gpu, NodeKind::Gpu));
      for (int other = 0; other < gpu; ++other) {
        join(gpus[static_cast<std::size_t>(other)], gpus.back(), LinkKind::NvLink, 25e9, 4);
      }
    }
    for (int nic = 0; nic < 2; ++nic) {
      const NodeId node = add("nic", nic, NodeKind::Nic);
      join(node, hub, LinkKind::Network, 25e9, 1);
      for (const int gpu : {2 * nic, 2 * nic + 1}) {
        join(gpus[static_cast<std::size_t>(gpu)], node, LinkKind::Pcie, 24e9, 1);
      }
    }
  }
  return builder.build();
}

std::shared_ptr<const Fabric> fabric_of(int gpus, const std::vector<Edge>& edges,
                                        bool both_ways = true) {
  FabricBuilder builder("test");
  std::vector<NodeId> nodes;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    Node node;
    node.name = "gpu" + std::to_string(gpu);
    nodes.push_back(builder.add_node(node));
  }
  for (const Edge& edge : edges) {
    Link link;
    link.source = nodes[static_cast<std::size_t>(edge.a)];
    link.target = nodes[static_cast<std::size_t>(edge.b)];
    link.unit_bandwidth_Bps = 25e9;
    link.multiplicity = edge.units;
    if (both_ways) {
      builder.add_duplex_link(link);
    } else {
      builder.add_link(link);
    }
  }
  return builder.build();
}

std::vector<Edge> ring_edges(int gpus) {
  std::vector<Edge> edges;
  for (int gpu = 0; gpu < gpus; ++gpu) edges.push_back({gpu, (gpu + 1) % gpus, 1});
  return edges;
}

/// Checks that every ring visits each GPU once and that no directed link carries more rings than it
/// has units.
void check_disjoint(const Fabric& fabric, const Rings& rings) {
  std::map<std::pair<int, int>, int> free;
  std::map<NodeId, int> rank_of;
  for (int rank = 0; rank < fabric.ranks(); ++rank) rank_of[fabric.gpu(rank)] = rank;
  for (const Link& link : fabric.links()) {
    free[{rank_of.at(link.source), rank_of.at(link.target)}] += link.multiplicity;
  }
  for (const auto& ring : rings) {
    CHECK(std::set<int>(ring.begin(), ring.end()).size() == ring.size());
    CHECK(std::ssize(ring) == fabric.ranks());
    for (std::size_t i = 0; i < ring.size(); ++i) {
      CHECK(--free[{ring[i], ring[(i + 1) % ring.size()]}] >= 0);
    }
  }
}

TEST_CASE("logical rings: over nodes of linked GPUs, as many rings as NICs keep every NIC busy",
          "[collectives][logical-rings]") {
  struct Machine {
    const char* name;
    int nics;
    double nic_Bps;
    std::vector<int> servers;
  };
  for (const Machine& machine :
       {Machine{"frontier", 4, 25e9, {2, 3, 16, 40, 200}},
        Machine{"perlmutter", 4, 24e9, {2, 3, 40, 200}}, Machine{"alps", 4, 25e9, {2, 3, 40, 200}},
        Machine{"polaris", 2, 24e9, {2, 3, 40, 200}}, Machine{"amd-mi250x", 8, 24e9, {2, 3}},
        Machine{"abci-v", 2, 12e9, {2, 3, 34}}, Machine{"ndv2", 1, 12e9, {2, 3}}}) {
    for (const int servers : machine.servers) {
      FabricSpec spec;
      spec.name = machine.name;
      spec.servers = servers;
      const auto fabric = make_fabric(spec);
      CAPTURE(machine.name, servers);
      const Rings rings = logical_rings(*fabric);
      REQUIRE(std::ssize(rings) >= (std::string(machine.name) == "amd-mi250x" ? 4 : machine.nics));
      const int used = std::min(machine.nics, static_cast<int>(rings.size()));
      // With all rings at the rate of a NIC, no link carries more than its capacity.
      std::map<LinkId, double> load_Bps;
      for (int channel = 0; channel < used; ++channel) {
        const std::vector<int>& ring = rings[static_cast<std::size_t>(channel)];
        std::set<int> seen(ring.begin(), ring.end());
        REQUIRE(std::ssize(seen) == fabric->ranks());
        for (std::size_t place = 0; place < ring.size(); ++place) {
          for (const LinkId id :
               fabric->route(ring[place], ring[(place + 1) % ring.size()], channel)) {
            load_Bps[id] += machine.nic_Bps;
          }
        }
      }
      double worst = 0;
      int busy = 0;
      for (const auto& [id, rate_Bps] : load_Bps) {
        const Link& link = fabric->links()[static_cast<std::size_t>(id)];
        worst = std::max(worst, rate_Bps / link.capacity_Bps());
        const NodeKind kind = fabric->nodes()[static_cast<std::size_t>(link.source)].kind;
        busy += kind == NodeKind::Nic && link.kind == LinkKind::Network ? 1 : 0;
      }
      CHECK(worst <= 1 + 1e-9);
      CHECK(busy == servers * used);
    }
  }
}

TEST_CASE("logical rings: all rings cross the network at the same GPU of a NIC",
          "[collectives][logical-rings]") {
  // A node has 6 cycles of its 4 GPUs. Those that cannot be cut between the gateways of its two
  // NICs are left out, because their proxies would share the messages otherwise.
  for (const int servers : {5, 8}) {
    const Rings rings = logical_rings(*nodes_of_two_nics(servers));
    REQUIRE(rings.size() >= 2);
    std::set<int> gateways;
    for (const std::vector<int>& ring : rings) {
      for (std::size_t place = 0; place < ring.size(); place += 4) {
        gateways.insert({ring[place] % 4, ring[place + 3] % 4});
      }
    }
    CHECK(gateways.size() == 2);
    CHECK(std::set<int>{*gateways.begin() / 2, *gateways.rbegin() / 2} == std::set<int>{0, 1});
    CHECK(rings[0][0] != rings[1][0]);
  }
}

TEST_CASE("logical rings: the orders of NCCL's search, where they are known",
          "[collectives][logical-rings]") {
  FabricSpec spec{.name = "polaris", .servers = 3};
  // Every other node is passed through backwards, because NICs of equal ranks share a switch.
  CHECK(logical_rings(*make_fabric(spec)) ==
        Rings{{1, 0, 2, 3, 7, 6, 4, 5, 9, 8, 10, 11}, {3, 2, 0, 1, 5, 4, 6, 7, 11, 10, 8, 9}});
  // With other GPUs, or on one node, they are not.
  spec.gpus_per_server = 3;
  for (const std::vector<int>& ring : logical_rings(*make_fabric(spec))) CHECK(ring.size() == 9);
  CHECK(logical_rings(*make_fabric({.name = "polaris"})).size() == 12);
}

TEST_CASE("logical rings: on rails, every other node is crossed backwards",
          "[collectives][logical-rings]") {
  FabricSpec spec;
  spec.name = "alps";
  spec.servers = 4;
  const Rings rings = logical_rings(*make_fabric(spec));
  for (const std::vector<int>& ring : rings) {
    for (std::size_t place = 3; place < 15; place += 4) {
      CHECK(ring[place] % 4 == ring[place + 1] % 4);
    }
    CHECK(ring[15] % 4 == ring[0] % 4);
  }
}

}  // namespace

TEST_CASE("logical rings: DGX-1 has six, from two cycles", "[collectives][logical-rings]") {
  const auto fabric = fabric_of(8, {{0, 1, 2},
                                    {0, 2, 1},
                                    {0, 3, 1},
                                    {0, 4, 2},
                                    {1, 2, 1},
                                    {1, 3, 2},
                                    {1, 5, 1},
                                    {2, 3, 2},
                                    {2, 6, 2},
                                    {3, 7, 1},
                                    {4, 5, 2},
                                    {4, 6, 1},
                                    {4, 7, 1},
                                    {5, 6, 1},
                                    {5, 7, 2},
                                    {6, 7, 2}});
  const Rings rings = logical_rings(*fabric);
  const std::vector<int> wide{0, 1, 3, 2, 6, 7, 5, 4};
  const std::vector<int> wide_back{0, 4, 5, 7, 6, 2, 3, 1};
  const std::vector<int> narrow{0, 2, 1, 5, 6, 4, 7, 3};
  const std::vector<int> narrow_back{0, 3, 7, 4, 6, 5, 1, 2};
  CHECK(rings == Rings{wide, wide_back, wide, wide_back, narrow, narrow_back});
  check_disjoint(*fabric, rings);
}

TEST_CASE("logical rings: a ring of any size, in both directions", "[collectives][logical-rings]") {
  for (const int gpus : {3, 8, 17, 3000}) {
    const Rings rings = logical_rings(*fabric_of(gpus, ring_edges(gpus)));
    REQUIRE(rings.size() == 2);
    std::vector<int> order(static_cast<std::size_t>(gpus));
    std::iota(order.begin(), order.end(), 0);
    CHECK(rings[0] == order);
    CHECK(rings[1][1] == gpus - 1);
  }
}

TEST_CASE("logical rings: two GPUs, one-way links, no cycle, complete graphs",
          "[collectives][logical-rings]") {
  CHECK(logical_rings(*fabric_of(2, {{0, 1, 3}})) == Rings{{0, 1}, {0, 1}, {0, 1}});
  CHECK(logical_rings(*fabric_of(5, ring_edges(5), false)) == Rings{{0, 1, 2, 3, 4}});
  CHECK(logical_rings(*fabric_of(4, {{0, 1, 1}, {1, 2, 1}, {1, 3, 1}})) == Rings{{0, 1, 2, 3}});
  for (const int gpus : {4, 5, 8, 16}) {
    std::vector<Edge> edges;
    for (int a = 0; a < gpus; ++a) {
      for (int b = a + 1; b < gpus; ++b) edges.push_back({a, b, 2});
    }
    const auto fabric = fabric_of(gpus, edges);
    const Rings rings = logical_rings(*fabric);
    check_disjoint(*fabric, rings);
    CHECK(std::ssize(rings) >= gpus - 2);
    // With up to eight GPUs, the rings use all 2 (gpus - 1) units of each GPU where possible.
    if (gpus == 4 || gpus == 5) CHECK(std::ssize(rings) == 2 * (gpus - 1));
  }
}

TEST_CASE("logical rings: GPUs behind a switch keep their order", "[collectives][logical-rings]") {
  FabricBuilder builder("switched");
  Node hub;
  hub.name = "switch";
  hub.kind = NodeKind::NvSwitch;
  const NodeId centre = builder.add_node(hub);
  for (int gpu = 0; gpu < 4; ++gpu) {
    Node node;
    node.name = "gpu" + std::to_string(gpu);
    Link link;
    link.source = builder.add_node(node);
    link.target = centre;
    link.unit_bandwidth_Bps = 1e9;
    builder.add_duplex_link(link);
  }
  CHECK(logical_rings(*builder.build()) == Rings{{0, 1, 2, 3}});
}

TEST_CASE("logical rings: over nodes, each ring crosses from different GPUs",
          "[collectives][logical-rings]") {
  for (const auto& [name, servers, each] :
       {std::tuple{"ndv4", 2, 8}, std::tuple{"ndv4", 3, 8}, std::tuple{"dgx2", 2, 16}}) {
    FabricSpec spec;
    spec.name = name;
    spec.servers = servers;
    const Rings rings = logical_rings(*make_fabric(spec));
    CAPTURE(name, servers);
    REQUIRE(std::ssize(rings) == each);
    std::set<int> firsts;
    for (const std::vector<int>& ring : rings) {
      REQUIRE(std::ssize(ring) == servers * each);
      const int first = ring[0];
      firsts.insert(first);
      for (int place = 0; place < servers * each; ++place) {
        CHECK(ring[static_cast<std::size_t>(place)] ==
              place / each * each + (first + place % each) % each);
      }
    }
    CHECK(std::ssize(firsts) == each);
  }
}

TEST_CASE("logical rings: eight channels on two NDv4 use every NIC once",
          "[collectives][logical-rings]") {
  FabricSpec spec;
  spec.name = "ndv4";
  spec.servers = 2;
  const auto fabric = make_fabric(spec);
  const Rings rings = logical_rings(*fabric);
  std::set<LinkId> used;
  std::size_t crossed = 0;
  for (int channel = 0; channel < 8; ++channel) {
    const std::vector<int>& ring = rings[static_cast<std::size_t>(channel)];
    for (const auto& [from, to] : {std::pair{ring[7], ring[8]}, std::pair{ring[15], ring[0]}}) {
      for (const LinkId id : fabric->route(from, to, channel)) {
        used.insert(id);
        ++crossed;
      }
    }
  }
  CHECK(used.size() == crossed);
}
