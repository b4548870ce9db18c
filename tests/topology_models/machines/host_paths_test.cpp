// Tests of paths through hosts: of all GPUs without a common NVLink with nvb: false, of those that
// no GPU relays with nvb: true, and on a Z52. Tests of metrics by what routes use.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/index.hpp"
#include "support/catch.hpp"
#include "topology_models/fabrics.hpp"
#include "topology_models/host_use.hpp"
#include "topology_models/metrics/metrics.hpp"

namespace cclgym::test {
namespace {

FabricPtr with_nvb(const std::string& name, bool nvb, int servers = 1) {
  FabricSpec spec;
  spec.name = name;
  spec.servers = servers;
  spec.nvb = nvb;
  return make_fabric(spec);
}

// Names of the nodes from end to end.
std::vector<std::string> path(const Fabric& fabric, int source, int target, int channel) {
  std::vector<std::string> names{fabric.nodes()[at(fabric.gpu(source))].name};
  for (const LinkId id : fabric.route(source, target, channel)) {
    names.push_back(fabric.nodes()[at(fabric.links()[at(id)].target)].name);
  }
  return names;
}

double latency_s(const Fabric& fabric, int source, int target) {
  double sum_s = 0;
  for (const LinkId id : fabric.route(source, target, 0)) sum_s += fabric.links()[at(id)].latency_s;
  return sum_s;
}

// Maximum number of steps over the routes of all pairs on channel 0.
int steps_by_routes(const Fabric& fabric) {
  const std::vector<char> avoided = avoided_hosts(fabric);
  const int ranks = fabric.ranks();
  std::vector<std::vector<int>> steps(at(ranks), std::vector<int>(at(ranks), 1000));
  for (int one = 0; one < ranks; ++one) {
    for (int other = 0; other < ranks; ++other) {
      if (one == other)
        steps[at(one)][at(other)] = 0;
      else if (is_one_step(fabric, avoided, fabric.route(one, other, 0))) {
        steps[at(one)][at(other)] = 1;
      }
    }
  }
  int most = 0;
  for (int middle = 0; middle < ranks; ++middle) {
    for (int one = 0; one < ranks; ++one) {
      for (int other = 0; other < ranks; ++other) {
        int& sum = steps[at(one)][at(other)];
        sum = std::min(sum, steps[at(one)][at(middle)] + steps[at(middle)][at(other)]);
      }
    }
  }
  for (const std::vector<int>& row : steps) most = std::max(most, *std::ranges::max_element(row));
  return most;
}

}  // namespace

TEST_CASE("without NVB, the 24 ordered pairs without NVLink pass through both hosts",
          "[topology_models][machines]") {
  for (const char* name : {"dgx1", "ndv2"}) {
    const FabricPtr relayed = with_nvb(name, true);
    const FabricPtr fabric = with_nvb(name, false);
    int pairs = 0;
    for (int one = 0; one < 8; ++one) {
      for (int other = 0; other < 8; ++other) {
        if (one == other) continue;
        for (const int channel : {0, 1, 7}) {
          const std::vector<std::string> names = path(*fabric, one, other, channel);
          if (names.size() == 2) {
            CHECK(path(*relayed, one, other, channel) == names);
            continue;
          }
          const auto numbered = [](const char* kind, int k) { return kind + std::to_string(k); };
          CHECK(names ==
                std::vector<std::string>{numbered("gpu", one), numbered("pcie", one / 2),
                                         numbered("host", one / 4), numbered("host", other / 4),
                                         numbered("pcie", other / 2), numbered("gpu", other)});
          CHECK(path(*relayed, one, other, channel).size() == 3);
        }
        if (fabric->route(one, other, 0).size() > 1) {
          ++pairs;
          CHECK(latency_s(*fabric, one, other) == Approx(1e-6).epsilon(1e-12));
        }
      }
    }
    CHECK(pairs == 24);
  }
}

TEST_CASE("a node has the PCIe tree of a DGX-1", "[topology_models][machines]") {
  for (const bool nvb : {true, false}) {
    const FabricPtr fabric = with_nvb("dgx1", nvb);
    const auto count = [&](NodeKind kind) {
      return std::ranges::count(fabric->nodes(), kind, &Node::kind);
    };
    CHECK(count(NodeKind::PcieSwitch) == 4);
    CHECK(count(NodeKind::Host) == 2);
    std::array<double, 2> rates_Bps{};  // all PCIe links, links between hosts
    for (const Link& link : fabric->links()) {
      if (link.kind == LinkKind::Pcie) rates_Bps[0] += link.capacity_Bps();
      if (link.kind == LinkKind::Generic) rates_Bps[1] += link.capacity_Bps();
    }
    CHECK(rates_Bps[0] == 2 * (8 + 4) * 12e9);
    CHECK(rates_Bps[1] == 2 * 6e9);
    CHECK(fabric->max_relays() == (nvb ? 1 : 0));
    CHECK(with_nvb("ndv2", nvb, 2)->max_relays() == (nvb ? 1 : 0));
  }
  // Four GPUs of a node need one socket.
  FabricSpec half;
  half.name = "ndv2";
  half.gpus_per_server = 4;
  CHECK(std::ranges::count(make_fabric(half)->nodes(), NodeKind::Host, &Node::kind) == 1);
  // The sockets of an NDv2 are Skylakes.
  const auto ndv2 = fabric_of("ndv2");
  for (const Link& link : ndv2->links()) {
    if (link.kind == LinkKind::Generic) CHECK(link.capacity_Bps() == 9e9);
  }
}

TEST_CASE("with NVB, GPUs without a common neighbour on NVLink meet through hosts",
          "[topology_models][machines]") {
  using Path = std::vector<std::string>;
  // 0 and 5 have the neighbours 1 and 4 in common; 4 has two NVLinks to both.
  FabricSpec spec;
  spec.name = "dgx1";
  CHECK(path(*make_fabric(spec), 0, 5, 0) == Path{"gpu0", "gpu4", "gpu5"});
  spec.without = "gpu4:gpu5";
  CHECK(path(*make_fabric(spec), 0, 5, 0) == Path{"gpu0", "gpu1", "gpu5"});
  const Path through_hosts{"gpu0", "pcie0", "host0", "host1", "pcie2", "gpu5"};
  spec.without = "gpu4:gpu5, gpu0:gpu1";
  CHECK(path(*make_fabric(spec), 0, 5, 0) == through_hosts);
  // 4 is no neighbour of a neighbour of 0, so that two GPUs would have to relay.
  spec.without = "gpu0:gpu4";
  CHECK(path(*make_fabric(spec), 0, 4, 0) ==
        Path{"gpu0", "pcie0", "host0", "host1", "pcie2", "gpu4"});
  // Without the hosts, GPUs relay in any number.
  spec.without = "gpu0:gpu4, host0:host1";
  CHECK(path(*make_fabric(spec), 0, 4, 0).size() == 4);
  // A neighbour on NVLink is faster than the PCIe switch of both GPUs, which therefore counts in no
  // metric.
  spec.without = "gpu0:gpu1";
  const FabricPtr near = make_fabric(spec);
  CHECK(path(*near, 0, 1, 0).at(1).starts_with("gpu"));
  CHECK(diameter(*near).value == 2);
  CHECK(link_unit_Bps(*near).value == 25e9);
  spec.nvb = false;
  CHECK(path(*make_fabric(spec), 0, 1, 0) == Path{"gpu0", "pcie0", "gpu1"});
}

TEST_CASE("xGMI of a Z52 routes inside an island, and PCIe and hosts join the others",
          "[topology_models][machines]") {
  using Path = std::vector<std::string>;
  const FabricPtr fabric = fabric_of("z52");
  CHECK(path(*fabric, 0, 3, 0) == Path{"gpu0", "gpu2", "gpu3"});
  CHECK(path(*fabric, 7, 4, 0) == Path{"gpu7", "gpu6", "gpu4"});
  CHECK(path(*fabric, 3, 1, 0) == Path{"gpu3", "gpu1"});
  CHECK(path(*fabric, 0, 1, 0) == Path{"gpu0", "host0", "gpu1"});
  CHECK(path(*fabric, 1, 6, 1) == Path{"gpu1", "host0", "host1", "gpu6"});
  int through_hosts = 0;
  for (int one = 0; one < 8; ++one) {
    for (int other = 0; other < 8; ++other) {
      const Path names = path(*fabric, one, other, 0);
      const bool hosts = std::ranges::any_of(
          names, [](const std::string& name) { return name.starts_with("host"); });
      through_hosts += hosts ? 1 : 0;
      if (hosts) CHECK(latency_s(*fabric, one, other) == Approx(1e-6).epsilon(1e-12));
    }
  }
  CHECK(through_hosts == 36);  // 56 pairs without 16 direct and 4 relayed ones
}

TEST_CASE("routes between servers and all metrics are the same with and without NVB",
          "[topology_models][machines]") {
  for (const char* name : {"dgx1", "ndv2"}) {
    for (const int servers : {1, 2}) {
      if (servers > 1 && std::string(name) == "dgx1") continue;
      const FabricPtr relayed = with_nvb(name, true, servers);
      const FabricPtr fabric = with_nvb(name, false, servers);
      for (int one = 0; one < 8; ++one) {
        for (int other = 8; other < fabric->ranks(); ++other) {
          CHECK(path(*fabric, one, other, 1) == path(*relayed, one, other, 1));
        }
      }
      const FabricMetrics metrics = fabric_metrics(*fabric);
      const FabricMetrics expected = fabric_metrics(*relayed);
      CHECK(metrics.diameter.value == expected.diameter.value);
      CHECK(metrics.link_unit_Bps.value == expected.link_unit_Bps.value);
      CHECK(metrics.inverse_bisection.value == expected.inverse_bisection.value);
      if (servers == 1) CHECK(metrics.bisection_Bps.value == expected.bisection_Bps.value);
    }
  }
}

TEST_CASE("hosts count where GPUs meet only through them", "[topology_models][machines]") {
  FabricBuilder builder("sockets");
  for (int k = 0; k < 4; ++k) builder.add_node({.name = "gpu" + std::to_string(k)});
  const NodeId first = builder.add_node({.name = "host0", .kind = NodeKind::Host});
  const NodeId second = builder.add_node({.name = "host1", .kind = NodeKind::Host});
  const auto join = [&](NodeId one, NodeId other) {
    builder.add_duplex_link({.source = one,
                             .target = other,
                             .kind = LinkKind::Pcie,
                             .latency_s = 1e-6,
                             .unit_bandwidth_Bps = 12e9});
  };
  join(0, 1);
  join(2, 3);
  for (NodeId gpu = 0; gpu < 4; ++gpu) join(gpu, gpu < 2 ? first : second);
  join(first, second);
  const FabricPtr fabric = builder.build();
  CHECK(std::ranges::count(avoided_nodes(*fabric), 1) == 0);
  const FabricMetrics metrics = fabric_metrics(*fabric);
  CHECK(metrics.diameter.value == 1);
  // Two GPUs on one side of the link between the hosts.
  CHECK(metrics.inverse_bisection.value == Rational(2));
}

TEST_CASE("hosts count where GPUs of a node would meet only through NICs",
          "[topology_models][machines]") {
  FabricBuilder builder("two-nics");
  const NodeId network =
      builder.add_node({.name = "network", .kind = NodeKind::NetworkSwitch, .server = -1});
  const NodeId host = builder.add_node({.name = "host", .kind = NodeKind::Host});
  const auto join = [&](NodeId one, NodeId other, LinkKind kind) {
    builder.add_duplex_link(
        {.source = one, .target = other, .kind = kind, .unit_bandwidth_Bps = 12e9});
  };
  for (int k = 0; k < 2; ++k) {
    const auto add = [&](const std::string& name, NodeKind kind) {
      return builder.add_node({.name = name + std::to_string(k), .kind = kind});
    };
    const NodeId gpu = add("gpu", NodeKind::Gpu);
    const NodeId nic = add("nic", NodeKind::Nic);
    const NodeId pcie = add("pcie", NodeKind::PcieSwitch);
    for (const NodeId other : {gpu, nic, host}) join(pcie, other, LinkKind::Pcie);
    join(nic, network, LinkKind::Network);
  }
  const FabricPtr fabric = builder.build();
  CHECK(gpu_homes(*fabric)[static_cast<std::size_t>(fabric->gpu(0))] ==
        gpu_homes(*fabric)[static_cast<std::size_t>(fabric->gpu(1))]);
  CHECK(std::ranges::count(avoided_nodes(*fabric), 1) == 0);
  CHECK(fabric_metrics(*fabric).diameter.value == 1);  // through the host, as the route
}

TEST_CASE("diameters are those of the routes", "[topology_models][metrics]") {
  struct Known {
    const char* name;
    int servers;
    int diameter;
  };
  // Meshes have two steps between GPUs that are not linked, although NICs lead out and back.
  for (const Known& known :
       {Known{"ndv2", 1, 2}, Known{"ndv2", 3, 2}, Known{"frontier", 1, 2}, Known{"frontier", 2, 2},
        Known{"amd-mi250x", 1, 5}, Known{"amd-mi250x", 2, 2}, Known{"ndv4", 1, 1},
        Known{"ndv4", 3, 1}, Known{"dgx2", 2, 1}, Known{"abci-v", 2, 1}, Known{"ethernet", 3, 1}}) {
    INFO(known.name << " x" << known.servers);
    const FabricPtr fabric = fabric_of(known.name, known.servers);
    CHECK(steps_by_routes(*fabric) == known.diameter);
    CHECK(diameter(*fabric).value == known.diameter);
  }
}

TEST_CASE("GPUs of a server that only NICs join are one step apart", "[topology_models][metrics]") {
  FabricBuilder builder("nics");
  const NodeId network =
      builder.add_node({.name = "network", .kind = NodeKind::NetworkSwitch, .server = -1});
  for (int k = 0; k < 3; ++k) {
    const std::string number = std::to_string(k);
    const NodeId gpu = builder.add_node({.name = "gpu" + number});
    const NodeId nic = builder.add_node({.name = "nic" + number, .kind = NodeKind::Nic});
    Link link{.source = gpu, .target = nic, .latency_s = 1e-6, .unit_bandwidth_Bps = 1e9};
    builder.add_duplex_link(link);
    link.source = network;
    builder.add_duplex_link(link);
    // A direct link between the first two does not help the third.
    if (k == 1)
      builder.add_duplex_link({.source = gpu, .target = gpu - 2, .unit_bandwidth_Bps = 1});
  }
  const FabricPtr fabric = builder.build();
  CHECK(steps_by_routes(*fabric) == 1);
  CHECK(diameter(*fabric).value == 1);
}

}  // namespace cclgym::test
