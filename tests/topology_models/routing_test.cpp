#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "support/allocations.hpp"
#include "topology_models/fabrics.hpp"

namespace cclgym {

namespace {

const Link& link_at(const Fabric& fabric, LinkId id) {
  return fabric.links()[static_cast<std::size_t>(id)];
}

// Names of the vertices on a route, including its ends; fails if the links do not form a path.
std::vector<std::string> nodes_on(const Fabric& fabric, int source, int target, int channel) {
  NodeId at = fabric.gpu(source);
  std::vector<std::string> names{node_at(fabric, at).name};
  std::set<LinkId> seen;
  for (const LinkId id : fabric.route(source, target, channel)) {
    REQUIRE(link_at(fabric, id).source == at);
    CHECK(seen.insert(id).second);
    at = link_at(fabric, id).target;
    names.push_back(node_at(fabric, at).name);
  }
  REQUIRE(at == fabric.gpu(target));
  return names;
}

// All best paths by definition, from an enumeration of all simple paths: without other GPUs if
// possible, then shortest, then widest.
class AllBestPaths {
 public:
  AllBestPaths(const Fabric& fabric, int source, int target)
      : fabric_(fabric), target_(fabric.gpu(target)), visited_(fabric.nodes().size()) {
    walk(fabric.gpu(source), 1e300, 0);
  }
  std::set<std::vector<LinkId>> paths;

 private:
  // (true if GPUs are on the path, hops, negative width): smaller is better.
  using Rank = std::tuple<bool, std::size_t, double>;

  void walk(NodeId node, double width, int gpus) {
    if (node == target_) {
      const Rank rank{gpus > 0, path_.size(), -width};
      if (paths.empty() || rank < best_) {
        paths.clear();
        best_ = rank;
      }
      if (rank == best_) paths.insert(path_);
      return;
    }
    visited_[static_cast<std::size_t>(node)] = true;
    for (std::size_t id = 0; id < fabric_.links().size(); ++id) {
      const Link& link = fabric_.links()[id];
      if (link.source != node || visited_[static_cast<std::size_t>(link.target)]) continue;
      const bool gpu =
          link.target != target_ && node_at(fabric_, link.target).kind == NodeKind::Gpu;
      path_.push_back(static_cast<LinkId>(id));
      walk(link.target, std::min(width, link.capacity_Bps()), gpus + (gpu ? 1 : 0));
      path_.pop_back();
    }
    visited_[static_cast<std::size_t>(node)] = false;
  }

  const Fabric& fabric_;
  NodeId target_;
  std::vector<bool> visited_;
  std::vector<LinkId> path_;
  Rank best_;
};

}  // namespace

TEST_CASE("dgx1: direct links, else the widest way through one GPU", "[topology_models][routing]") {
  const FabricPtr fabric = fabric_of("dgx1");
  for (int channel = 0; channel < 8; ++channel) {
    CHECK(nodes_on(*fabric, 0, 4, channel).size() == 2);
    // The route crosses GPU 4 with 2 units, not GPU 1, whose link to GPU 5 has one unit.
    CHECK(nodes_on(*fabric, 0, 5, channel) == std::vector<std::string>{"gpu0", "gpu4", "gpu5"});
  }
  for (int a = 0; a < 8; ++a) {
    for (int b = 0; b < 8; ++b) {
      CHECK(nodes_on(*fabric, a, b, 0).size() <= 3);
      CHECK(fabric->route(a, b, 0).empty() == (a == b));
    }
  }
}

TEST_CASE("dgx1: equally wide ways through a GPU are taken in turn", "[topology_models][routing]") {
  const FabricPtr fabric = fabric_of("dgx1");
  // Two paths from GPU 0 to GPU 7 have one unit: through GPU 3 (1, 1) and through GPU 4 (2, 1).
  std::map<std::string, int> through;
  for (int channel = 0; channel < 8; ++channel) ++through[nodes_on(*fabric, 0, 7, channel)[1]];
  CHECK(through == std::map<std::string, int>{{"gpu3", 4}, {"gpu4", 4}});
}

TEST_CASE("ndv4: within a server NVLink wins over PCIe", "[topology_models][routing]") {
  const FabricPtr fabric = fabric_of("ndv4", 2);
  for (int a = 0; a < 16; ++a) {
    for (int b = 0; b < 16; ++b) {
      if (a == b || fabric->server_of(a) != fabric->server_of(b)) continue;
      for (int channel = 0; channel < 3; ++channel) {
        const std::vector<LinkId> route = fabric->route(a, b, channel);
        REQUIRE(route.size() == 2);
        CHECK(link_at(*fabric, route[0]).kind == LinkKind::NvLink);
        CHECK(link_at(*fabric, route[1]).kind == LinkKind::NvLink);
      }
    }
  }
}

TEST_CASE("ndv4: between servers channels and ranks take the NICs in turn",
          "[topology_models][routing]") {
  const FabricPtr fabric = fabric_of("ndv4", 2);
  CHECK(nodes_on(*fabric, 2, 12, 0) ==
        std::vector<std::string>{"server0/gpu2", "server0/pcie1", "server0/nic2", "network",
                                 "server1/nic4", "server1/pcie2", "server1/gpu4"});
  CHECK(nodes_on(*fabric, 2, 12, 1) ==
        std::vector<std::string>{"server0/gpu2", "server0/pcie1", "server0/nic3", "network",
                                 "server1/nic5", "server1/pcie2", "server1/gpu4"});
  // After both NICs have been used at both ends, the other combinations follow.
  CHECK(nodes_on(*fabric, 2, 12, 2)[2] == "server0/nic2");
  CHECK(nodes_on(*fabric, 2, 12, 2)[4] == "server1/nic5");
  CHECK(nodes_on(*fabric, 2, 12, 3)[2] == "server0/nic3");
  CHECK(nodes_on(*fabric, 2, 12, 3)[4] == "server1/nic4");
  CHECK(fabric->route(2, 12, 4) == fabric->route(2, 12, 0));
  // GPU k of a node starts with NIC k, so with one channel each NIC is used once.
  std::set<std::string> sending;
  std::set<std::string> receiving;
  for (int gpu = 0; gpu < 8; ++gpu) {
    const std::vector<std::string> names = nodes_on(*fabric, gpu, gpu + 8, 0);
    CHECK(names[2] == "server0/nic" + std::to_string(gpu));
    sending.insert(names[2]);
    receiving.insert(names[4]);
  }
  CHECK(sending.size() == 8);
  CHECK(receiving.size() == 8);
}

TEST_CASE("parallel links of equal width are taken in turn, narrower ones never",
          "[topology_models][routing]") {
  FabricBuilder builder("parallel");
  builder.add_node({.name = "a"});
  builder.add_node({.name = "b"});
  Link link{.source = 0, .target = 1, .latency_s = 0, .unit_bandwidth_Bps = 2e9};
  const LinkId first = builder.add_duplex_link(link);
  link.unit_bandwidth_Bps = 1e9;
  builder.add_duplex_link(link);
  link.multiplicity = 2;  // as wide as the first
  const LinkId third = builder.add_duplex_link(link);
  const FabricPtr fabric = builder.build();
  for (int channel = 0; channel < 6; ++channel) {
    CHECK(fabric->route(0, 1, channel) == std::vector<LinkId>{channel % 2 == 0 ? first : third});
  }
}

TEST_CASE("a route goes round a GPU if it can, even if that is longer",
          "[topology_models][routing]") {
  // a - b - c is a row of GPUs; a second path from a to c has three switches.
  FabricBuilder builder("detour");
  for (const char* name : {"a", "b", "c"}) builder.add_node({.name = name});
  for (const char* name : {"s", "t", "u"}) {
    builder.add_node({.name = name, .kind = NodeKind::Generic});
  }
  const auto join = [&](NodeId from, NodeId to) {
    builder.add_duplex_link({.source = from, .target = to, .unit_bandwidth_Bps = 1e9});
  };
  join(0, 1);
  join(1, 2);
  join(0, 3);
  join(3, 4);
  join(4, 5);
  join(5, 2);
  const FabricPtr fabric = builder.build();
  CHECK(nodes_on(*fabric, 0, 2, 0) == std::vector<std::string>{"a", "s", "t", "u", "c"});
}

TEST_CASE("routes of random fabrics are exactly the best paths, each in its turn",
          "[topology_models][routing]") {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 150; ++trial) {
    const FabricPtr fabric = random_fabric(random, 2 + trial % 4, trial / 4 % 4);
    for (int a = 0; a < fabric->ranks(); ++a) {
      for (int b = 0; b < fabric->ranks(); ++b) {
        if (a == b) continue;
        const AllBestPaths best(*fabric, a, b);
        // The product of the branches at all forks is at least the number of paths. In these
        // fabrics it is small enough for 256 channels to cover all paths.
        std::set<std::vector<LinkId>> taken;
        for (int channel = 0; channel < 256; ++channel) taken.insert(fabric->route(a, b, channel));
        CHECK(taken == best.paths);
      }
    }
  }
}

TEST_CASE("routes on large fabrics visit only what is near them", "[topology_models][routing]") {
  // Bytes that routes between neighbours allocate, per route. The tables that are kept from search
  // to search are made by the first round.
  const auto bytes_per_route = [](const Fabric& fabric, int distance, std::size_t expected_links) {
    std::size_t bytes = 0;
    for (int round = 0; round < 2; ++round) {
      const std::size_t before = test::allocated_bytes();
      std::size_t links = 0;
      for (int rank = 0; rank < fabric.ranks(); ++rank) {
        links += fabric.route(rank, (rank + distance) % fabric.ranks(), 0).size();
      }
      CHECK(links == expected_links);
      bytes = test::allocated_bytes() - before;
    }
    return static_cast<double>(bytes) / fabric.ranks();
  };
  const FabricPtr ring = fabric_of("ring", 1, 2048);
  const double in_large_ring = bytes_per_route(*ring, 1, 2048);
  const double in_small_ring = bytes_per_route(*fabric_of("ring", 1, 16), 1, 16);
  INFO("ring: " << in_small_ring << " and " << in_large_ring << " bytes per route");
  CHECK(in_large_ring <= 1.1 * in_small_ring);
  CHECK(ring->route(0, 1024, 0).size() == 1024);
  CHECK(ring->route(3, 2040, 0).size() == 11);

  const double in_large_cluster = bytes_per_route(*fabric_of("ndv4", 256), 8, 6 * 2048);
  const double in_small_cluster = bytes_per_route(*fabric_of("ndv4", 4), 8, 6 * 32);
  INFO("ndv4: " << in_small_cluster << " and " << in_large_cluster << " bytes per route");
  CHECK(in_large_cluster <= 1.1 * in_small_cluster);
}

}  // namespace cclgym
