#include "synthesis/flow_graph.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <set>

#include "core/error.hpp"
#include "core/index.hpp"
#include "topology_models/host_use.hpp"
#include "topology_models/metrics/cut_network.hpp"

namespace cclgym::synthesis {

namespace {

std::int64_t edge_key(int source, int target) { return (std::int64_t{source} << 32) + target; }

// Links that routes use, and the turns that routes take from link to link.
class UsedLinks {
 public:
  explicit UsedLinks(const Fabric& fabric)
      : fabric_(fabric),
        avoided_(avoided_hosts(fabric)),
        used_(fabric.links().size(), 0),
        joined_(2 * fabric.links().size()) {
    std::iota(joined_.begin(), joined_.end(), std::size_t{0});
  }

  // Adds the routes from a rank to a rank on channels from 0 on, until all alternatives at both
  // ends have been taken.
  void add_pair(int source, int target) {
    constexpr int kChannels = 64;
    if (source == target) return;
    const std::vector<LinkId> first = fabric_.route(source, target, 0);
    if (!is_one_step(fabric_, avoided_, first)) return;
    add(first);
    for (int channel = 1; channel < kChannels; ++channel) {
      const std::vector<LinkId> route = fabric_.route(source, target, channel);
      if (route == first) break;
      add(route);
    }
  }

  // The graph whose edges are the used links. Nodes are the GPUs, and sets of ends of links at
  // other devices that turns join.
  [[nodiscard]] FlowGraph graph(double unit_Bps) {
    FlowGraph graph;
    graph.name = fabric_.name();
    graph.ranks = fabric_.ranks();
    graph.unit_Bps = unit_Bps;
    const auto add_node = [&](NodeId device) {
      graph.devices.push_back(device);
      graph.computes.push_back(fabric_.nodes()[at(device)].computes ? 1 : 0);
      return graph.nodes++;
    };
    std::vector<int> rank_of(fabric_.nodes().size(), -1);
    for (int rank = 0; rank < fabric_.ranks(); ++rank) {
      rank_of[at(fabric_.gpu(rank))] = add_node(fabric_.gpu(rank));
    }
    std::map<std::size_t, int> node_of;
    const auto node = [&](NodeId device, std::size_t end) {
      if (rank_of[at(device)] >= 0) return rank_of[at(device)];
      const auto [found, added] = node_of.try_emplace(find(end), graph.nodes);
      if (added) add_node(device);
      return found->second;
    };
    for (std::size_t k = 0; k < used_.size(); ++k) {
      if (!used_[k]) continue;
      const Link& link = fabric_.links()[k];
      const int source = node(link.source, tail(k));
      const int target = node(link.target, head(k));
      graph.add(source, target, std::llround(link.capacity_Bps() / unit_Bps));
    }
    return graph;
  }

 private:
  static std::size_t tail(std::size_t link) { return 2 * link; }
  static std::size_t head(std::size_t link) { return 2 * link + 1; }

  std::size_t find(std::size_t end) {
    while (joined_[end] != end) end = joined_[end] = joined_[joined_[end]];
    return end;
  }

  void add(const std::vector<LinkId>& route) {
    for (std::size_t k = 0; k < route.size(); ++k) {
      used_[at(route[k])] = 1;
      if (k == 0) continue;
      const std::size_t one = find(head(at(route[k - 1])));
      const std::size_t other = find(tail(at(route[k])));
      joined_[std::max(one, other)] = std::min(one, other);
    }
  }

  const Fabric& fabric_;
  std::vector<char> avoided_;
  std::vector<char> used_;
  std::vector<std::size_t> joined_;  // by end of a link: another end of the same node
};

// The network switches to which the NICs or GPUs of each server are linked, by server.
std::vector<std::set<NodeId>> uplinks_of(const Fabric& fabric) {
  std::vector<std::set<NodeId>> uplinks(at(fabric.servers()));
  for (const Link& link : fabric.links()) {
    const int server = fabric.nodes()[at(link.source)].server;
    if (server < 0) continue;
    if (fabric.nodes()[at(link.target)].kind == NodeKind::NetworkSwitch) {
      uplinks[at(server)].insert(link.target);
    }
  }
  return uplinks;
}

double unit_of(const Fabric& fabric) {
  const Computed<std::int64_t> unit = CutNetwork::unit_Bps(fabric);
  if (!unit.value) {
    throw UserError(fmt::format("fabric '{}' has no link unit: {}", fabric.name(), unit.why_not));
  }
  return static_cast<double>(*unit.value);
}

}  // namespace

void FlowGraph::add(int source, int target, std::int64_t units) {
  const auto is_edge = [&](std::size_t k) {
    return k < edges.size() && edges[k].source == source && edges[k].target == target;
  };
  const auto rebuild = [&] {
    index.clear();
    for (std::size_t k = 0; k < edges.size(); ++k) {
      index.try_emplace(edge_key(edges[k].source, edges[k].target), k);
    }
  };
  if (index.size() != edges.size()) rebuild();
  auto found = index.find(edge_key(source, target));
  if (found != index.end() && !is_edge(found->second)) {
    rebuild();
    found = index.find(edge_key(source, target));
  }
  if (found != index.end()) {
    edges[found->second].units += units;
    return;
  }
  index.emplace(edge_key(source, target), edges.size());
  edges.push_back({source, target, units});
}

FlowGraph FlowGraph::reversed() const {
  FlowGraph result = *this;
  for (FlowEdge& edge : result.edges) std::swap(edge.source, edge.target);
  result.index.clear();
  return result;
}

FlowGraph make_flow_graph_of_all_routes(const Fabric& fabric) {
  const double unit_Bps = unit_of(fabric);
  UsedLinks used(fabric);
  for (int source = 0; source < fabric.ranks(); ++source) {
    for (int target = 0; target < fabric.ranks(); ++target) used.add_pair(source, target);
  }
  return used.graph(unit_Bps);
}

FlowGraph make_flow_graph(const Fabric& fabric) {
  // A route between servers has a part in each server, which depends on the rank there and the
  // channel, and a part in the network, which depends on the network switches at its ends. So for
  // every pair of classes of servers with the same switches, all ranks of one pair of servers are
  // enough; and for every rank, a few partners in two other servers per class, so that turns join
  // the links of all servers at a switch.
  const double unit_Bps = unit_of(fabric);
  std::vector<std::vector<int>> ranks(at(fabric.servers()));
  for (int rank = 0; rank < fabric.ranks(); ++rank) {
    ranks[at(fabric.server_of(rank))].push_back(rank);
  }
  std::map<std::set<NodeId>, std::vector<int>> classes;  // servers with ranks
  const std::vector<std::set<NodeId>> uplinks = uplinks_of(fabric);
  for (int server = 0; server < fabric.servers(); ++server) {
    if (!ranks[at(server)].empty()) classes[uplinks[at(server)]].push_back(server);
  }
  UsedLinks used(fabric);
  for (const auto& [switches, servers] : classes) {
    for (const auto& far : classes) {
      const auto others = [&](int server) {
        std::vector<int> result;
        for (const int other : far.second) {
          if (other != server) result.push_back(other);
          if (result.size() == 2) break;
        }
        return result;
      };
      for (const int server : servers) {
        for (const int partner : others(server)) {
          const std::vector<int>& here = ranks[at(server)];
          const std::vector<int>& there = ranks[at(partner)];
          for (std::size_t k = 0; k < here.size(); ++k) {
            for (const int rank : {there.front(), there[k % there.size()]}) {
              used.add_pair(here[k], rank);
              used.add_pair(rank, here[k]);
            }
          }
        }
      }
      const int first = servers.front();
      for (const int partner : others(first)) {
        for (const int source : ranks[at(first)]) {
          for (const int target : ranks[at(partner)]) used.add_pair(source, target);
        }
      }
    }
  }
  for (const std::vector<int>& server : ranks) {
    for (const int source : server) {
      for (const int target : server) used.add_pair(source, target);
    }
  }
  return used.graph(unit_Bps);
}

}  // namespace cclgym::synthesis
