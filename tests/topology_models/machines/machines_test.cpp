// Compares the systems that fabrics are named after with figures of their makers and operators.
#include <array>
#include <map>
#include <set>

#include "core/index.hpp"
#include "topology_models/fabrics.hpp"
#include "topology_models/metrics/metrics.hpp"

namespace cclgym {

namespace {

struct Known {
  const char* name;
  const char* gpu;
  int gpus;
  int nics;
  double nic_Bps;
  double gpu_out_Bps;  // over GPU links, per GPU; the minimum if GPUs differ
  double gpu_most_Bps;
  int pairs;  // pairs of GPUs with a direct link
  double pcie_Bps;
};

constexpr std::array kKnown = {
    Known{"ndv2", "V100", 8, 1, 12.5e9, 150e9, 150e9, 16, 12e9},
    Known{"ndv4", "A100", 8, 8, 25e9, 300e9, 300e9, 0, 24e9},
    Known{"hgx-h100", "H100", 8, 8, 50e9, 450e9, 450e9, 0, 48e9},
    Known{"h200", "H200", 8, 8, 50e9, 450e9, 450e9, 0, 48e9},
    Known{"h20", "H20", 8, 8, 50e9, 450e9, 450e9, 0, 48e9},
    Known{"b200", "B200", 8, 8, 50e9, 900e9, 900e9, 0, 48e9},
    Known{"gb200-nvl72", "GB200", 72, 72, 50e9, 900e9, 900e9, 0, 48e9},
    Known{"abci-v", "V100", 4, 2, 12.5e9, 150e9, 150e9, 6, 12e9},
    Known{"abci-a", "A100", 8, 4, 25e9, 300e9, 300e9, 0, 24e9},
    Known{"amd-mi250x", "MI250X", 16, 8, 25e9, 350e9, 350e9, 28, 24e9},
    Known{"mi300x", "MI300X", 8, 8, 50e9, 448e9, 448e9, 28, 48e9},
    Known{"mi325x", "MI325X", 8, 8, 50e9, 448e9, 448e9, 28, 48e9},
    Known{"frontier", "MI250X", 8, 4, 25e9, 300e9, 350e9, 12, 50e9},
    Known{"perlmutter", "A100", 4, 4, 25e9, 300e9, 300e9, 6, 24e9},
    Known{"polaris", "A100", 4, 2, 25e9, 300e9, 300e9, 6, 24e9},
    Known{"alps", "GH200", 4, 4, 25e9, 450e9, 450e9, 6, 48e9},
};

// Bandwidth of the links from one vertex to another, B/s.
double between(const Fabric& fabric, const std::string& from, const std::string& to) {
  double rate_Bps = 0;
  for (const Link& link : fabric.links()) {
    if (node_at(fabric, link.source).name == from && node_at(fabric, link.target).name == to) {
      rate_Bps += link.capacity_Bps();
    }
  }
  return rate_Bps;
}

// Names of the vertices that a route passes through, without its ends.
std::vector<std::string> through(const Fabric& fabric, int source, int target) {
  std::vector<std::string> names;
  for (const LinkId id : fabric.route(source, target, 0)) {
    names.push_back(node_at(fabric, fabric.links()[static_cast<std::size_t>(id)].target).name);
  }
  names.pop_back();
  return names;
}

}  // namespace

TEST_CASE("machines have the GPUs, NICs and bandwidths a direction that are published",
          "[topology_models][machines]") {
  for (const Known& known : kKnown) {
    INFO(known.name);
    for (const int servers : {1, 3}) {
      const FabricPtr fabric = fabric_of(known.name, servers);
      CHECK(fabric->gpu_model() == known.gpu);
      CHECK(fabric->ranks_per_server() == known.gpus);
      CHECK(fabric->servers() == servers);
      int nics = 0;
      for (const Node& node : fabric->nodes()) nics += node.kind == NodeKind::Nic ? 1 : 0;
      CHECK(nics == known.nics * servers);
      std::map<NodeId, double> gpu_out_Bps;
      std::set<std::pair<NodeId, NodeId>> pairs;
      for (const Link& link : fabric->links()) {
        const Node& source = node_at(*fabric, link.source);
        const Node& target = node_at(*fabric, link.target);
        if (link.kind == LinkKind::NvLink && source.kind == NodeKind::Gpu) {
          gpu_out_Bps[link.source] += link.capacity_Bps();
          if (target.kind == NodeKind::Gpu) pairs.insert(std::minmax(link.source, link.target));
        }
        if (link.kind == LinkKind::Pcie) CHECK(link.capacity_Bps() == known.pcie_Bps);
        if (link.kind == LinkKind::Network && source.kind == NodeKind::Nic) {
          CHECK(link.capacity_Bps() == known.nic_Bps);
        }
      }
      CHECK(static_cast<int>(pairs.size()) == known.pairs * servers);
      double least = 1e300;
      double most = 0;
      for (const auto& [gpu, rate] : gpu_out_Bps) {
        least = std::min(least, rate);
        most = std::max(most, rate);
      }
      CHECK(least == known.gpu_out_Bps);
      CHECK(most == known.gpu_most_Bps);
    }
  }
}

TEST_CASE("machines: links of GPU pairs", "[topology_models][machines]") {
  const FabricPtr frontier = fabric_of("frontier");
  // Links within a package, and between packages.
  for (const int k : {0, 2, 4, 6}) {
    CHECK(between(*frontier, "gpu" + std::to_string(k), "gpu" + std::to_string(k + 1)) == 200e9);
  }
  CHECK(between(*frontier, "gpu0", "gpu6") == 100e9);
  CHECK(between(*frontier, "gpu4", "gpu2") == 100e9);
  CHECK(between(*frontier, "gpu1", "gpu5") == 50e9);
  CHECK(between(*frontier, "gpu1", "gpu2") == 0);
  CHECK(between(*fabric_of("alps"), "gpu0", "gpu3") == 150e9);
  CHECK(between(*fabric_of("polaris"), "gpu2", "gpu1") == 100e9);
  CHECK(between(*fabric_of("perlmutter"), "gpu2", "gpu1") == 100e9);
  CHECK(between(*fabric_of("abci-v"), "gpu2", "gpu1") == 50e9);
  CHECK(between(*fabric_of("mi300x"), "gpu7", "gpu1") == 64e9);
  CHECK(between(*fabric_of("amd-mi250x"), "gpu9", "gpu8") == 200e9);
  CHECK(between(*fabric_of("ndv2"), "gpu0", "gpu4") == 50e9);
  // NVLinks of ndv2 are those of dgx1.
  for (int a = 0; a < 8; ++a) {
    for (int b = 0; b < 8; ++b) {
      const auto name = [](int k) { return "gpu" + std::to_string(k); };
      REQUIRE(between(*fabric_of("ndv2"), name(a), name(b)) ==
              between(*fabric_of("dgx1"), name(a), name(b)));
    }
  }
}

TEST_CASE("z52 is the ring that SCCL's bounds are for", "[topology_models][machines]") {
  const FabricPtr fabric = fabric_of("z52");
  CHECK(fabric->gpu_model() == "MI50");
  const FabricMetrics metrics = fabric_metrics(*fabric);
  CHECK(metrics.diameter.value == 4);
  CHECK(metrics.inverse_bisection.value == Rational(7, 2));
  CHECK(metrics.link_unit_Bps.value == 27e9);
  // xGMI joins two islands of three GPUs each; all other links of GPUs are PCIe.
  std::map<int, int> xgmi;
  for (const Link& link : fabric->links()) {
    if (link.kind == LinkKind::NvLink) ++xgmi[link.source];
    if (fabric->nodes()[at(link.source)].kind != NodeKind::Gpu) continue;
    if (link.kind != LinkKind::NvLink) CHECK(link.kind == LinkKind::Pcie);
  }
  CHECK(xgmi == std::map<int, int>{{0, 1}, {2, 2}, {3, 1}, {4, 1}, {6, 2}, {7, 1}});
}

TEST_CASE("GPUs of a server without a common link reach each other through GPUs, not NICs",
          "[topology_models][machines]") {
  for (const char* name : {"frontier", "amd-mi250x", "ndv2"}) {
    INFO(name);
    for (const int servers : {1, 2}) {
      const FabricPtr fabric = fabric_of(name, servers);
      const int gpus = fabric->ranks_per_server().value();
      for (int a = 0; a < gpus; ++a) {
        for (int b = 0; b < gpus; ++b) {
          if (a == b) continue;
          for (const std::string& node : through(*fabric, a, b)) {
            REQUIRE(node.find("gpu") != std::string::npos);
          }
        }
      }
    }
  }
  // Dies 1 and 6 are neighbours of both 0 and 7. Die 6 has the wider links: 100 and 200 GB/s.
  CHECK(through(*fabric_of("frontier"), 0, 7) == std::vector<std::string>{"gpu6"});
}

TEST_CASE("some of a server's GPUs: the first ones, and all NICs", "[topology_models][machines]") {
  for (const Known& known : kKnown) {
    INFO(known.name);
    for (int gpus = 1; gpus <= known.gpus; ++gpus) {
      FabricSpec spec;
      spec.name = known.name;
      spec.servers = 3;
      spec.gpus_per_server = gpus;
      const FabricPtr fabric = make_fabric(spec);
      REQUIRE(fabric->ranks_per_server() == gpus);
      int nics = 0;
      for (const Node& node : fabric->nodes()) nics += node.kind == NodeKind::Nic ? 1 : 0;
      REQUIRE(nics == 3 * known.nics);
      const std::vector<std::string> route = through(*fabric, 0, 2 * gpus);
      REQUIRE(route.size() >= 3);
      REQUIRE(node_at(*fabric, fabric->gpu(2 * gpus)).name == "server2/gpu0");
    }
  }
  // Each H100 has its own NIC.
  FabricSpec spec;
  spec.name = "hgx-h100";
  spec.servers = 10;
  spec.gpus_per_server = 1;
  CHECK(through(*make_fabric(spec), 0, 9) ==
        std::vector<std::string>{"server0/pcie0", "server0/nic0", "network", "server9/nic0",
                                 "server9/pcie0"});
}

TEST_CASE("a fat tree that is not oversubscribed is one switch; otherwise leaves share a spine",
          "[topology_models][machines]") {
  // ABCI has 34 nodes with two NICs each per rack, and 24 links of 12.5 GB/s from each rack.
  const FabricPtr rack = fabric_of("abci-v", 34);
  CHECK(through(*rack, 0, 4)[2] == "network");
  CHECK(switch_hops(*rack).value == 0);
  const FabricPtr racks = fabric_of("abci-v", 69);
  CHECK(switch_hops(*racks).value == 2);
  CHECK(between(*racks, "leaf0", "spine") == 24 * 12.5e9);
  CHECK(between(*racks, "spine", "leaf2") == 24 * 12.5e9);
  CHECK(between(*racks, "server33/nic1", "leaf0") == 12.5e9);
  CHECK(between(*racks, "server34/nic0", "leaf1") == 12.5e9);
  CHECK(through(*racks, 0, 4 * 33).size() == 5);
  CHECK(through(*racks, 0, 4 * 34) == std::vector<std::string>{"server0/pcie0", "server0/nic0",
                                                               "leaf0", "spine", "leaf1",
                                                               "server34/nic0", "server34/pcie0"});
  FabricSpec spec;
  spec.name = "ndv4";
  spec.servers = 8;
  spec.servers_per_leaf = 4;
  CHECK(switch_hops(*make_fabric(spec)).value == 0);
  spec.oversubscription = 3;
  const FabricPtr tree = make_fabric(spec);
  CHECK(between(*tree, "leaf1", "spine") == 11 * 25e9);  // 32 / 3, rounded
  spec.oversubscription = 1000;
  const FabricPtr thin = make_fabric(spec);
  CHECK(between(*thin, "leaf1", "spine") == 25e9);  // at least one link
  CHECK(inverse_bisection(*thin).value == Rational(32, 25));
}

TEST_CASE("a torus links every GPU to its neighbours in each dimension",
          "[topology_models][machines]") {
  const auto torus = [](const std::string& shape) {
    FabricSpec spec;
    spec.name = "torus";
    spec.shape = shape;
    return make_fabric(spec);
  };
  // Links per GPU: 2 for each dimension longer than 2, 1 for one of length 2.
  for (const auto& [shape, gpus, links, steps] :
       {std::tuple{"4x4", 16, 4, 4}, std::tuple{"4x4x2", 32, 5, 5}, std::tuple{"3x5", 15, 4, 3},
        std::tuple{"2x2x2", 8, 3, 3}, std::tuple{"8x1", 8, 2, 4}, std::tuple{"3x3x3", 27, 6, 3}}) {
    INFO(shape);
    const FabricPtr fabric = torus(shape);
    CHECK(fabric->ranks() == gpus);
    CHECK(fabric->links().size() == static_cast<std::size_t>(gpus * links));
    CHECK(diameter(*fabric).value == steps);  // the sum of half of each length, rounded down
  }
  for (const char* shape : {"4xx2", "0x4", "1x1", "x", "4x-2", "100000", "256x257"}) {
    INFO(shape);
    CHECK_THROWS_AS(torus(shape), UserError);
  }
}

TEST_CASE("rails: NIC k of the nodes of a leaf shares switch k", "[topology_models][machines]") {
  FabricSpec spec;
  spec.name = "hgx-h100";
  spec.servers = 4;
  spec.servers_per_leaf = 2;
  spec.rails = true;
  const FabricPtr fabric = make_fabric(spec);
  CHECK(between(*fabric, "server0/nic3", "leaf0/rail3") == 50e9);
  CHECK(between(*fabric, "server1/nic3", "leaf0/rail3") == 50e9);
  CHECK(between(*fabric, "server2/nic3", "leaf1/rail3") == 50e9);
  // Two NICs per leaf switch, not oversubscribed.
  CHECK(between(*fabric, "leaf1/rail3", "spine") == 2 * 50e9);
  // One switch on a rail, three switches between rails, or from leaf to leaf.
  CHECK(fabric->route(3, 11, 0).size() + 2 == fabric->route(3, 12, 0).size());
  CHECK(fabric->route(3, 19, 0).size() == fabric->route(3, 12, 0).size());
  spec.oversubscription = 2;
  CHECK(between(*make_fabric(spec), "leaf1/rail3", "spine") == 50e9);
}

}  // namespace cclgym
