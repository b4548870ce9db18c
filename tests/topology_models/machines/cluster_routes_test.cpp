// Tests of routes between nodes of ndv4 and dgx2: the NICs that they use, and their balance.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include "topology_models/fabrics.hpp"

namespace cclgym {

namespace {

// Facts about a node, from the papers rather than from the builders.
struct KnownCluster {
  const char* fabric;
  int gpus;
  int nics_a_pair;
  double nvlink_Bps;  // per GPU
  double pcie_Bps;
};

constexpr std::array kKnownClusters = {KnownCluster{"ndv4", 8, 2, 300e9, 24e9},
                                       KnownCluster{"dgx2", 16, 1, 150e9, 12e9}};
constexpr double kHdr_Bps = 25e9;

struct Hop {
  const Node& node;  // target of the link
  const Link& link;
};

// The hops of a route. Checks that its links form a path from GPU to GPU and are used once each.
std::vector<Hop> hops(const Fabric& fabric, int source, int target, int channel) {
  std::vector<Hop> result;
  std::set<LinkId> seen;
  NodeId at = fabric.gpu(source);
  for (const LinkId id : fabric.route(source, target, channel)) {
    const Link& link = fabric.links()[static_cast<std::size_t>(id)];
    REQUIRE(link.source == at);
    REQUIRE(seen.insert(id).second);
    at = link.target;
    result.push_back({fabric.nodes()[static_cast<std::size_t>(at)], link});
  }
  REQUIRE(at == fabric.gpu(target));
  return result;
}

std::string server_prefix(int server) { return "server" + std::to_string(server) + "/"; }

// Numbers, within their nodes, of the NICs through which a route sends and receives.
std::pair<int, int> nics(const Fabric& fabric, int source, int target, int channel) {
  const std::vector<Hop> route = hops(fabric, source, target, channel);
  REQUIRE(route.size() == 6);
  const auto number = [](const std::string& name) {
    return std::stoi(name.substr(name.find("nic") + 3));
  };
  return {number(route[1].node.name), number(route[3].node.name)};
}

}  // namespace

TEST_CASE("between servers a route leads through PCIe, NIC and network, and nothing else",
          "[topology_models][cluster-routes]") {
  for (const KnownCluster& known : kKnownClusters) {
    const FabricPtr fabric = fabric_of(known.fabric, 3);
    for (int a = 0; a < fabric->ranks(); ++a) {
      for (int b = 0; b < fabric->ranks(); ++b) {
        const int from = a / known.gpus;
        const int to = b / known.gpus;
        if (from == to) continue;
        for (int channel = 0; channel < 3; ++channel) {
          const std::vector<Hop> route = hops(*fabric, a, b, channel);
          REQUIRE(route.size() == 6);
          const int pair_a = a % known.gpus / 2;
          const int pair_b = b % known.gpus / 2;
          REQUIRE(route[0].node.name == server_prefix(from) + "pcie" + std::to_string(pair_a));
          REQUIRE(route[2].node.name == "network");
          REQUIRE(route[4].node.name == server_prefix(to) + "pcie" + std::to_string(pair_b));
          double latency_s = 0;
          for (std::size_t k = 0; k < route.size(); ++k) {
            const bool network = k == 2 || k == 3;
            REQUIRE(route[k].link.kind == (network ? LinkKind::Network : LinkKind::Pcie));
            REQUIRE(route[k].link.capacity_Bps() == (network ? kHdr_Bps : known.pcie_Bps));
            latency_s += route[k].link.latency_s;
          }
          REQUIRE(latency_s == Approx(2.6e-6).epsilon(1e-12));
          // The NICs at both ends belong to the pair.
          const auto [sending, receiving] = nics(*fabric, a, b, channel);
          REQUIRE(route[1].node.server == from);
          REQUIRE(route[3].node.server == to);
          REQUIRE(sending / known.nics_a_pair == pair_a);
          REQUIRE(receiving / known.nics_a_pair == pair_b);
        }
      }
    }
  }
}

TEST_CASE("within a server a route stays on NVLink, on dgx2 across at most two switches",
          "[topology_models][cluster-routes]") {
  for (const KnownCluster& known : kKnownClusters) {
    const FabricPtr fabric = fabric_of(known.fabric, 2);
    for (int a = 0; a < fabric->ranks(); ++a) {
      for (int b = 0; b < fabric->ranks(); ++b) {
        if (a == b || a / known.gpus != b / known.gpus) continue;
        const std::vector<Hop> route = hops(*fabric, a, b, 1);
        const bool same_board = a / 8 == b / 8;
        REQUIRE(route.size() == (same_board ? 2 : 3));
        for (const Hop& hop : route) {
          REQUIRE(hop.link.kind == LinkKind::NvLink);
          REQUIRE(hop.link.latency_s == 0.35e-6);
          REQUIRE(hop.node.server == a / known.gpus);
        }
        REQUIRE(route.front().link.capacity_Bps() == known.nvlink_Bps);
        REQUIRE(route.back().link.capacity_Bps() == known.nvlink_Bps);
        if (!same_board) REQUIRE(route[1].link.capacity_Bps() == 1200e9);
      }
    }
  }
}

TEST_CASE("on each channel a GPU has its own NIC on ndv4 and its pair's on dgx2, both ways",
          "[topology_models][cluster-routes]") {
  for (const KnownCluster& known : kKnownClusters) {
    const FabricPtr fabric = fabric_of(known.fabric, 3);
    for (int channel = 0; channel < 5; ++channel) {
      // For each GPU, all NICs through which it sends and receives, over all peers.
      std::map<int, std::set<int>> sends;
      std::map<int, std::set<int>> receives;
      for (int a = 0; a < fabric->ranks(); ++a) {
        for (int b = 0; b < fabric->ranks(); ++b) {
          if (a / known.gpus == b / known.gpus) continue;
          const auto [sending, receiving] = nics(*fabric, a, b, channel);
          sends[a].insert(sending);
          receives[b].insert(receiving);
        }
      }
      for (int rank = 0; rank < fabric->ranks(); ++rank) {
        REQUIRE(sends[rank].size() == 1);
        REQUIRE(receives[rank].size() == 1);
        const int gpu = rank % known.gpus;
        if (known.nics_a_pair == 1) {
          REQUIRE(*sends[rank].begin() == gpu / 2);
          continue;
        }
        REQUIRE(*sends[rank].begin() == (channel % 2 == 0 ? gpu : gpu ^ 1));
        if (channel < 2) REQUIRE(receives[rank] == sends[rank]);
        REQUIRE(receives[rank] != receives[rank ^ 1]);
      }
    }
  }
}

TEST_CASE("any exchange of all GPUs between servers loads every NIC alike",
          "[topology_models][cluster-routes]") {
  std::mt19937_64 random(3);
  for (const KnownCluster& known : kKnownClusters) {
    constexpr int kServers = 3;
    const FabricPtr fabric = fabric_of(known.fabric, kServers);
    const int flows_a_nic = 2 / known.nics_a_pair;
    for (int trial = 0; trial < 20; ++trial) {
      // Each node sends to the next node, with a random permutation of its GPUs.
      std::vector<int> order(static_cast<std::size_t>(known.gpus));
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      std::map<LinkId, int> flows;
      for (int a = 0; a < fabric->ranks(); ++a) {
        const int server = (a / known.gpus + 1) % kServers;
        const int b = server * known.gpus + order[static_cast<std::size_t>(a % known.gpus)];
        for (const LinkId id : fabric->route(a, b, trial % 4)) {
          const Link& link = fabric->links()[static_cast<std::size_t>(id)];
          if (link.kind == LinkKind::Network) ++flows[id];
        }
      }
      REQUIRE(flows.size() == static_cast<std::size_t>(2 * kServers * 8));
      for (const auto& [link, count] : flows) REQUIRE(count == flows_a_nic);
    }
  }
}

TEST_CASE("two channels between two ndv4 GPUs use both NICs at both ends",
          "[topology_models][cluster-routes]") {
  const FabricPtr fabric = fabric_of("ndv4", 2);
  for (int a = 0; a < 8; ++a) {
    for (int b = 8; b < 16; ++b) {
      std::set<std::pair<int, int>> taken;
      for (int channel = 0; channel < 4; ++channel) taken.insert(nics(*fabric, a, b, channel));
      CHECK(taken.size() == 4);  // all combinations of NICs
      const auto [sending, receiving] = nics(*fabric, a, b, 0);
      CHECK(nics(*fabric, a, b, 1) == std::pair(sending ^ 1, receiving ^ 1));
    }
  }
}

}  // namespace cclgym
