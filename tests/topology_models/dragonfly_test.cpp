// Tests of dragonflies: their links, their minimal paths and detours, and the systems that use
// them.
#include "topology_models/dragonfly.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "support/allocations.hpp"
#include "topology_models/fabrics.hpp"
#include "topology_models/metrics/metrics.hpp"

namespace cclgym {

namespace {

// A fabric that is only a dragonfly, with one GPU and one NIC per switch. Ranks are numbered like
// the switches.
FabricPtr bare_dragonfly(int groups, int switches, int links_a_pair) {
  FabricBuilder builder("bare");
  const int count = groups * switches;
  DragonflyShape shape{.groups = groups, .switches = switches, .links_a_pair = links_a_pair};
  for (int k = 0; k < count; ++k) {
    builder.add_node({.name = "gpu" + std::to_string(k), .server = k});
  }
  for (int k = 0; k < count; ++k) {
    builder.add_node({.name = "nic" + std::to_string(k), .kind = NodeKind::Nic, .server = k});
  }
  shape.first_switch = 2 * count;
  for (int k = 0; k < count; ++k) {
    builder.add_node(
        {.name = "switch" + std::to_string(k), .kind = NodeKind::NetworkSwitch, .server = -1});
  }
  const auto join = [&](NodeId a, NodeId b) {
    return builder.add_link({.source = a, .target = b, .unit_bandwidth_Bps = 1e9});
  };
  for (int k = 0; k < count; ++k) {
    join(k, count + k);
    join(count + k, k);
    join(count + k, 2 * count + k);
    join(2 * count + k, count + k);
  }
  // Links are added in the order stated in the header.
  const Dragonfly plan(shape);
  shape.first_local = 4 * count;
  for (int g = 0; g < groups; ++g) {
    for (int a = 0; a < switches; ++a) {
      for (int b = 0; b < switches; ++b) {
        if (a != b) join(plan.switch_at(g, a), plan.switch_at(g, b));
      }
    }
  }
  shape.first_global = shape.first_local + count * (switches - 1);
  for (int g = 0; g < groups; ++g) {
    for (int h = 0; h < groups; ++h) {
      for (int k = 0; k < links_a_pair && g != h; ++k) {
        join(plan.switch_at(g, plan.gateway(g, h, k)), plan.switch_at(h, plan.gateway(h, g, k)));
      }
    }
  }
  builder.set_dragonfly(shape);
  return builder.build();
}

// The switches that a route passes through; checks that it is a path from GPU to GPU.
std::vector<NodeId> switches_of(const Fabric& fabric, const std::vector<LinkId>& route, int source,
                                int target) {
  std::vector<NodeId> result;
  std::set<NodeId> seen;
  NodeId at = fabric.gpu(source);
  for (const LinkId id : route) {
    const Link& link = fabric.links()[static_cast<std::size_t>(id)];
    REQUIRE(link.source == at);
    at = link.target;
    REQUIRE(seen.insert(at).second);
    if (fabric.nodes()[static_cast<std::size_t>(at)].kind == NodeKind::NetworkSwitch) {
      result.push_back(at);
    }
  }
  REQUIRE(at == fabric.gpu(target));
  return result;
}

}  // namespace

TEST_CASE("dragonfly: links between groups are dealt to the switches evenly",
          "[topology_models][dragonfly]") {
  for (const auto& [groups, switches, links] :
       std::vector<std::tuple<int, int, int>>{{5, 4, 1}, {5, 4, 3}, {9, 8, 7}, {74, 32, 4}}) {
    const Dragonfly dragonfly({.groups = groups, .switches = switches, .links_a_pair = links});
    for (int g = 0; g < groups; g += 7) {
      std::vector<int> ends(static_cast<std::size_t>(switches));
      for (int h = 0; h < groups; ++h) {
        for (int k = 0; k < links && h != g; ++k) {
          ++ends[static_cast<std::size_t>(dragonfly.gateway(g, h, k))];
        }
      }
      const auto [least, most] = std::minmax_element(ends.begin(), ends.end());
      CHECK(*most - *least <= 1);
    }
  }
}

TEST_CASE("dragonfly: every minimal way and detour is a path of the length that it should have",
          "[topology_models][dragonfly]") {
  for (const auto& [groups, switches, links] :
       std::vector<std::tuple<int, int, int>>{{1, 6, 1}, {2, 3, 2}, {4, 3, 2}, {5, 4, 3}}) {
    CAPTURE(groups, switches, links);
    const FabricPtr fabric = bare_dragonfly(groups, switches, links);
    const Dragonfly& dragonfly = fabric->dragonfly().value();
    for (int a = 0; a < fabric->ranks(); ++a) {
      for (int b = 0; b < fabric->ranks(); ++b) {
        if (a == b) continue;
        const bool same_group = a / switches == b / switches;
        const std::vector<NodeId> route = switches_of(*fabric, fabric->route(a, b, 0), a, b);
        REQUIRE(route.front() == dragonfly.switch_at(a / switches, a % switches));
        REQUIRE(route.back() == dragonfly.switch_at(b / switches, b % switches));
        REQUIRE(route.size() <= (same_group ? 2U : 4U));  // 1 or 3 links
        std::set<std::vector<LinkId>> all{fabric->route(a, b, 0)};
        const auto others = fabric->alternative_routes(a, b, 0, 100);
        const int minimal = same_group ? 0 : links - 1;
        const int detours = same_group ? switches - 2 : groups - 2;
        REQUIRE(static_cast<int>(others.size()) == minimal + detours);
        std::set<int> through;
        for (std::size_t i = 0; i < others.size(); ++i) {
          const std::vector<NodeId> path = switches_of(*fabric, others[i], a, b);
          std::set<int> groups_seen;
          for (const NodeId node : path) groups_seen.insert(dragonfly.group_of(node));
          if (static_cast<int>(i) < minimal) {
            REQUIRE(path.size() <= 4);
            REQUIRE(groups_seen.size() == 2);
          } else if (same_group) {
            REQUIRE(path.size() == 3);
            REQUIRE(groups_seen.size() == 1);
            through.insert(path[1]);
          } else {
            REQUIRE(path.size() <= 6);
            REQUIRE(groups_seen.size() == 3);
            for (const int group : groups_seen) through.insert(group);
          }
          REQUIRE(all.insert(others[i]).second);
        }
        // Detours go through all possible switches or groups.
        REQUIRE(static_cast<int>(through.size()) ==
                (same_group ? detours : (detours == 0 ? 0 : groups)));
        REQUIRE(fabric->alternative_routes(a, b, 0, 1).size() ==
                static_cast<std::size_t>(minimal + std::min(1, detours)));
      }
    }
  }
}

TEST_CASE("dragonfly: the pairs of switches of two groups share their links evenly",
          "[topology_models][dragonfly]") {
  const FabricPtr fabric = bare_dragonfly(3, 8, 4);
  std::map<LinkId, int> uses;
  const DragonflyShape& shape = fabric->dragonfly()->shape();
  for (int a = 0; a < 8; ++a) {
    for (int b = 8; b < 16; ++b) {
      for (const LinkId id : fabric->route(a, b, 0)) {
        if (id >= shape.first_global) ++uses[id];
      }
    }
  }
  CHECK(uses.size() == 4);
  for (const auto& [link, count] : uses) CHECK(count == 16);
}

TEST_CASE("dragonfly: links that are not where they should be are refused",
          "[topology_models][dragonfly]") {
  FabricBuilder builder("bad");
  for (const char* name : {"a", "b"}) builder.add_node({.name = name});
  builder.add_duplex_link({.source = 0, .target = 1, .unit_bandwidth_Bps = 1e9});
  CHECK_THROWS_AS(builder.set_dragonfly({.groups = 1, .switches = 2, .first_local = 1}),
                  std::logic_error);
  CHECK_THROWS_AS(builder.set_dragonfly({.groups = 1, .switches = 3}), std::logic_error);
}

TEST_CASE("Slingshot machines: three hops at most, and the NICs of a server on different switches",
          "[topology_models][dragonfly]") {
  struct Known {
    const char* name;
    int servers_a_group;
    int nics;
  };
  for (const Known& known : {Known{"frontier", 128, 4}, Known{"perlmutter", 128, 4},
                             Known{"alps", 112, 4}, Known{"polaris", 56, 2}}) {
    INFO(known.name);
    const FabricPtr one = fabric_of(known.name, known.servers_a_group);
    CHECK(one->dragonfly()->shape().groups == 1);
    CHECK(switch_hops(*one).value == 1);
    const FabricPtr two = fabric_of(known.name, 2 * known.servers_a_group);
    CHECK(two->dragonfly()->shape().groups > 1);
    CHECK(switch_hops(*two).value == 3);
    // Each switch has 64 ports for all kinds of links.
    std::map<NodeId, int> ports;
    std::map<std::pair<int, NodeId>, int> nics_on;  // by node and switch
    for (const Link& link : two->links()) {
      const Node& source = two->nodes()[static_cast<std::size_t>(link.source)];
      if (link.kind != LinkKind::Network) continue;
      CHECK(link.unit_bandwidth_Bps == 25e9);
      if (source.kind == NodeKind::NetworkSwitch) ports[link.source] += link.multiplicity;
      if (source.kind == NodeKind::Nic) ++nics_on[{source.server, link.target}];
    }
    for (const auto& [node, count] : ports) REQUIRE(count <= 64);
    CHECK(static_cast<int>(nics_on.size()) == two->servers() * known.nics);
  }
}

TEST_CASE("servers are spread over dragonfly groups as asked", "[topology_models][dragonfly]") {
  FabricSpec spec;
  spec.name = "frontier";
  spec.servers = 8;
  spec.groups = 4;
  const FabricPtr fabric = make_fabric(spec);
  std::map<int, std::set<int>> servers_in;
  for (const Link& link : fabric->links()) {
    const Node& source = fabric->nodes()[static_cast<std::size_t>(link.source)];
    if (source.kind == NodeKind::Nic && link.kind == LinkKind::Network) {
      servers_in[fabric->dragonfly()->group_of(link.target)].insert(source.server);
    }
  }
  CHECK(servers_in ==
        std::map<int, std::set<int>>{{0, {0, 1}}, {1, {2, 3}}, {2, {4, 5}}, {3, {6, 7}}});
  spec.groups = 74;  // more than the number of nodes
  CHECK(make_fabric(spec)->ranks() == 64);
}

TEST_CASE("frontier at scale: building and routing are cheap", "[topology_models][dragonfly]") {
  struct Work {
    double build;  ///< bytes allocated per link
    double route;  ///< bytes allocated per route
  };
  const auto work_of = [](int servers) {
    const std::size_t before = test::allocated_bytes();
    const FabricPtr fabric = fabric_of("frontier", servers);
    const std::size_t built = test::allocated_bytes();
    const int ranks = 8 * servers;
    REQUIRE(fabric->ranks() == ranks);
    constexpr int kRoutes = 16384;
    std::size_t links = 0;
    for (int k = 0; k < kRoutes; ++k) {
      links += fabric->route(k % ranks, (k % ranks + 1 + k / 8) % ranks, k % 8).size();
    }
    CHECK(links > kRoutes);
    return Work{static_cast<double>(built - before) / static_cast<double>(fabric->links().size()),
                static_cast<double>(test::allocated_bytes() - built) / kRoutes};
  };
  // The work of a link, and that of a route, hardly depend on the size of the machine.
  const Work small = work_of(64);
  const Work large = work_of(256);
  INFO("bytes per link " << small.build << " and " << large.build << ", per route " << small.route
                         << " and " << large.route);
  CHECK(large.build <= 1.5 * small.build);
  CHECK(large.route <= 1.5 * small.route);
}

}  // namespace cclgym
