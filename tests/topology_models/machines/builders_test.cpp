#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "topology_models/fabrics.hpp"

namespace cclgym {

namespace {

// Total units out of and into each vertex.
std::map<NodeId, std::pair<int, int>> units(const Fabric& fabric) {
  std::map<NodeId, std::pair<int, int>> result;
  for (const Link& link : fabric.links()) {
    result[link.source].first += link.multiplicity;
    result[link.target].second += link.multiplicity;
  }
  return result;
}

void check_symmetric(const Fabric& fabric) {
  std::map<std::pair<NodeId, NodeId>, double> capacity;
  for (const Link& link : fabric.links()) {
    capacity[{link.source, link.target}] += link.capacity_Bps();
  }
  for (const auto& [ends, Bps] : capacity) {
    CHECK(capacity.at({ends.second, ends.first}) == Bps);
  }
}

NodeId node_named(const Fabric& fabric, const std::string& name) {
  for (std::size_t k = 0; k < fabric.nodes().size(); ++k) {
    if (fabric.nodes()[k].name == name) return static_cast<NodeId>(k);
  }
  FAIL("no node " + name);
  return -1;
}

// The only link between two vertices.
Link link_between(const Fabric& fabric, const std::string& from, const std::string& to) {
  std::vector<Link> found;
  for (const Link& link : fabric.links()) {
    if (link.source == node_named(fabric, from) && link.target == node_named(fabric, to)) {
      found.push_back(link);
    }
  }
  REQUIRE(found.size() == 1);
  return found[0];
}

}  // namespace

TEST_CASE("dgx1: 8 V100, 6 NVLink units in and out of each", "[topology_models][builders]") {
  const FabricPtr fabric = fabric_of("dgx1");
  CHECK(fabric->name() == "dgx1");
  CHECK(fabric->gpu_model() == "V100");
  CHECK(fabric->ranks() == 8);
  CHECK(fabric->servers() == 1);
  check_symmetric(*fabric);
  // The other links are those of PCIe: host_paths_test.cpp.
  std::vector<Link> nvlinks;
  std::ranges::copy_if(fabric->links(), std::back_inserter(nvlinks),
                       [](const Link& link) { return link.kind == LinkKind::NvLink; });
  CHECK(nvlinks.size() == 32);
  std::map<NodeId, int> out;
  for (const Link& link : nvlinks) {
    CHECK(link.unit_bandwidth_Bps == 25e9);
    CHECK(link.latency_s == 0.7e-6);
    out[link.source] += link.multiplicity;
  }
  for (int gpu = 0; gpu < 8; ++gpu) CHECK(out.at(fabric->gpu(gpu)) == 6);
  CHECK(out.size() == 8);
  // The DGX-1's two disjoint Hamiltonian cycles, of 2 units and of 1 unit, use up every unit.
  std::map<std::pair<int, int>, int> left;
  for (const Link& link : nvlinks) left[{link.source, link.target}] = link.multiplicity;
  const std::vector<std::vector<int>> cycles = {{0, 1, 3, 2, 6, 7, 5, 4}, {0, 2, 1, 5, 6, 4, 7, 3}};
  for (std::size_t cycle = 0; cycle < 2; ++cycle) {
    for (std::size_t k = 0; k < 8; ++k) {
      const int a = cycles[cycle][k];
      const int b = cycles[cycle][(k + 1) % 8];
      left.at({a, b}) -= cycle == 0 ? 2 : 1;
      left.at({b, a}) -= cycle == 0 ? 2 : 1;
    }
  }
  for (const auto& [ends, count] : left) CHECK(count == 0);
}

TEST_CASE("dgx2: 16 V100 on two boards, NVSwitches joined, one NIC a pair of GPUs",
          "[topology_models][builders]") {
  const FabricPtr fabric = fabric_of("dgx2");
  CHECK(fabric->name() == "dgx2");
  CHECK(fabric->gpu_model() == "V100");
  CHECK(fabric->ranks() == 16);
  CHECK(fabric->servers() == 1);
  CHECK(fabric->nodes().size() == 16 + 2 + 8 + 8 + 1);
  CHECK(fabric->links().size() == 2 * (16 + 1 + 16 + 8 + 8));
  check_symmetric(*fabric);
  for (int k = 0; k < 16; ++k) {
    const std::string gpu = "gpu" + std::to_string(k);
    const std::string pcie = "pcie" + std::to_string(k / 2);
    const std::string nic = "nic" + std::to_string(k / 2);
    CHECK(fabric->gpu(k) == node_named(*fabric, gpu));
    const Link nvlink = link_between(*fabric, gpu, k < 8 ? "nvswitch0" : "nvswitch1");
    CHECK(nvlink.kind == LinkKind::NvLink);
    CHECK(nvlink.multiplicity == 6);
    CHECK(nvlink.capacity_Bps() == 150e9);
    CHECK(nvlink.latency_s == 0.35e-6);
    CHECK(link_between(*fabric, gpu, pcie).capacity_Bps() == 12e9);
    CHECK(link_between(*fabric, pcie, nic).capacity_Bps() == 12e9);
    CHECK(link_between(*fabric, nic, "network").capacity_Bps() == 25e9);
    // Each GPU has 6 NVLinks and a PCIe link.
    CHECK(units(*fabric).at(fabric->gpu(k)) == std::pair(7, 7));
  }
  const Link boards = link_between(*fabric, "nvswitch0", "nvswitch1");
  CHECK(boards.kind == LinkKind::NvLink);
  CHECK(boards.multiplicity == 6 * 8);
  CHECK(boards.capacity_Bps() == 1200e9);
  CHECK(boards.latency_s == 0.35e-6);
  for (const char* name : {"nvswitch0", "nvswitch1"}) {
    CHECK(fabric->nodes()[static_cast<std::size_t>(node_named(*fabric, name))].multiplicity == 6);
    // Each of the six chips uses 16 of its 18 ports.
    CHECK(units(*fabric).at(node_named(*fabric, name)) == std::pair(6 * 16, 6 * 16));
  }
}

TEST_CASE("dgx2: options change NVLink, between the boards, too", "[topology_models][builders]") {
  FabricSpec spec;
  spec.name = "dgx2";
  spec.bandwidth_Bps = 20e9;
  spec.latency_s = 1e-6;
  const FabricPtr fabric = make_fabric(spec);
  for (const Link& link : fabric->links()) {
    if (link.kind != LinkKind::NvLink) continue;
    CHECK(link.unit_bandwidth_Bps == 20e9);
    CHECK(link.latency_s == 1e-6);
  }
  CHECK(link_between(*fabric, "gpu0", "pcie0").capacity_Bps() == 12e9);
}

TEST_CASE("a latency is stated if it was given, for the links that it is given for",
          "[topology_models][builders]") {
  for (const FabricInfo& info : fabric_infos()) {
    FabricSpec spec;
    spec.name = info.name;
    const FabricPtr plain = make_fabric(spec);
    // No alpha applies to links between network switches.
    const auto is_switch = [&](NodeId id) {
      return plain->nodes()[static_cast<std::size_t>(id)].kind == NodeKind::NetworkSwitch;
    };
    const auto trunk = [&](const Link& link) {
      return is_switch(link.source) && is_switch(link.target);
    };
    for (const Link& link : plain->links()) CHECK(link.latency_stated == trunk(link));
    if (try_find_option(info.options, "latency") == nullptr) continue;  // PCIe alone
    spec.latency_s = 3e-6;
    const FabricPtr changed = make_fabric(spec);
    int stated = 0;
    for (const Link& link : changed->links()) {
      CAPTURE(info.name, link.source, link.target);
      if (trunk(link)) continue;
      CHECK(link.latency_stated == (link.latency_s == 3e-6));
      stated += link.latency_stated ? 1 : 0;
    }
    // Nodes on one port each have just this link.
    CHECK(stated >= 2 * changed->servers());
  }
}

TEST_CASE("ndv4: a server of 8 A100, NVSwitch and two NICs a PCIe switch",
          "[topology_models][builders]") {
  const FabricPtr fabric = fabric_of("ndv4");
  CHECK(fabric->gpu_model() == "A100");
  CHECK(fabric->ranks() == 8);
  CHECK(fabric->nodes().size() == 8 + 1 + 4 + 8 + 1);
  CHECK(fabric->links().size() == 2 * (8 + 8 + 8 + 8));
  check_symmetric(*fabric);
  const Link nvlink = link_between(*fabric, "gpu3", "nvswitch");
  CHECK(nvlink.capacity_Bps() == 300e9);
  CHECK(nvlink.multiplicity == 12);
  CHECK(nvlink.latency_s == 0.35e-6);
  CHECK(fabric->nodes()[static_cast<std::size_t>(nvlink.target)].multiplicity == 6);
  CHECK(link_between(*fabric, "gpu5", "pcie2").capacity_Bps() == 24e9);
  CHECK(link_between(*fabric, "pcie2", "nic5").capacity_Bps() == 24e9);
  CHECK(link_between(*fabric, "pcie2", "nic5").kind == LinkKind::Pcie);
  CHECK(link_between(*fabric, "nic5", "network").capacity_Bps() == 25e9);
  CHECK(link_between(*fabric, "network", "nic5").kind == LinkKind::Network);
  CHECK(fabric->nodes()[static_cast<std::size_t>(node_named(*fabric, "network"))].server == -1);
}

TEST_CASE("ndv4 and dgx2: servers meet in the network only", "[topology_models][builders]") {
  struct Known {
    const char* name;
    int gpus;
    std::size_t links;
  };
  for (const Known& known : {Known{"ndv4", 8, 64}, Known{"dgx2", 16, 98}}) {
    INFO(known.name);
    const FabricPtr fabric = fabric_of(known.name, 3);
    CHECK(fabric->ranks() == 3 * known.gpus);
    CHECK(fabric->servers() == 3);
    CHECK(fabric->ranks_per_server() == known.gpus);
    CHECK(fabric->server_of(known.gpus - 1) == 0);
    CHECK(fabric->server_of(known.gpus) == 1);
    CHECK(fabric->nodes()[static_cast<std::size_t>(fabric->gpu(2 * known.gpus + 1))].name ==
          "server2/gpu1");
    CHECK(fabric->links().size() == 3 * known.links);
    check_symmetric(*fabric);
    for (const Link& link : fabric->links()) {
      const int a = fabric->nodes()[static_cast<std::size_t>(link.source)].server;
      const int b = fabric->nodes()[static_cast<std::size_t>(link.target)].server;
      CHECK((a == b || a == -1 || b == -1));
      CHECK((a == -1 || b == -1) == (link.kind == LinkKind::Network));
    }
  }
}

TEST_CASE("ethernet: hosts with a port each on one switch, ranks of a host meet in memory",
          "[topology_models][builders]") {
  FabricSpec spec;
  spec.name = "ethernet";
  const FabricPtr one_each = make_fabric(spec);
  CHECK(one_each->servers() == 4);
  CHECK(one_each->ranks() == 4);
  CHECK(one_each->nodes().size() == 1 + 4 * 2);
  CHECK(one_each->route(0, 1, 0).size() == 4);
  spec.gpus_per_server = 2;
  spec.bandwidth_Bps = 250e6;
  const FabricPtr two_each = make_fabric(spec);
  CHECK(two_each->ranks() == 8);
  CHECK(two_each->ranks_per_server() == 2);
  CHECK(two_each->gpu_model().empty());
  check_symmetric(*two_each);
  CHECK(two_each->route(0, 1, 0).size() == 2);  // the route avoids the port
  CHECK(link_between(*two_each, "server0/rank0", "server0/memory").capacity_Bps() == 5e9);
  const Link port = link_between(*two_each, "server3/nic", "network");
  CHECK(port.kind == LinkKind::Network);
  CHECK(port.capacity_Bps() == 250e6);
  CHECK(port.latency_s == 12.5e-6);
}

TEST_CASE("ring and fully_connected", "[topology_models][builders]") {
  for (const int gpus : {2, 3, 8, 17}) {
    const FabricPtr ring = fabric_of("ring", 1, gpus);
    CHECK(ring->ranks() == gpus);
    CHECK(ring->links().size() == static_cast<std::size_t>(gpus == 2 ? 2 : 2 * gpus));
    check_symmetric(*ring);
    for (const auto& [node, out_and_in] : units(*ring)) {
      CHECK(out_and_in == (gpus == 2 ? std::pair(1, 1) : std::pair(2, 2)));
    }
    const FabricPtr full = fabric_of("fully_connected", 1, gpus);
    CHECK(full->ranks() == gpus);
    CHECK(full->links().size() == static_cast<std::size_t>(gpus * (gpus - 1)));
    std::set<std::pair<NodeId, NodeId>> pairs;
    for (const Link& link : full->links()) pairs.emplace(link.source, link.target);
    CHECK(pairs.size() == full->links().size());
  }
  const FabricPtr ring = fabric_of("ring");
  CHECK(ring->ranks() == 8);
  CHECK(ring->gpu_model().empty());
  CHECK(ring->links()[0].unit_bandwidth_Bps == 25e9);
  CHECK(ring->links()[0].latency_s == 0.7e-6);
  FabricSpec spec;
  spec.name = "fully_connected";
  spec.bandwidth_Bps = 12.5e9;
  spec.latency_s = 0;
  const FabricPtr full = make_fabric(spec);
  CHECK(full->ranks() == 8);
  CHECK(full->links()[5].unit_bandwidth_Bps == 12.5e9);
  CHECK(full->links()[5].latency_s == 0);
}

}  // namespace cclgym
