#include "synthesis/flow_graph.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/index.hpp"
#include "topology_models/metrics/cut_network.hpp"

namespace cclgym::synthesis {

void FlowGraph::add(int source, int target, std::int64_t units) {
  for (FlowEdge& edge : edges) {
    if (edge.source == source && edge.target == target) {
      edge.units += units;
      return;
    }
  }
  edges.push_back({source, target, units});
}

FlowGraph FlowGraph::reversed() const {
  FlowGraph result = *this;
  for (FlowEdge& edge : result.edges) std::swap(edge.source, edge.target);
  return result;
}

FlowGraph make_flow_graph(const Fabric& fabric) {
  const Computed<std::int64_t> unit = CutNetwork::unit_Bps(fabric);
  if (!unit.value) {
    throw UserError(fmt::format("fabric '{}' has no link unit: {}", fabric.name(), unit.why_not));
  }
  // Channels from 0 on until all alternatives at both ends have been taken.
  constexpr int kChannels = 64;
  std::vector<char> used(fabric.links().size(), 0);
  for (int source = 0; source < fabric.ranks(); ++source) {
    for (int target = 0; target < fabric.ranks(); ++target) {
      if (source == target) continue;
      const std::vector<LinkId> first = fabric.route(source, target, 0);
      const bool direct = std::none_of(first.begin(), first.end() - 1, [&](LinkId id) {
        return fabric.nodes()[at(fabric.links()[at(id)].target)].kind == NodeKind::Gpu;
      });
      if (!direct) continue;
      for (int channel = 0; channel < kChannels; ++channel) {
        const std::vector<LinkId> route = fabric.route(source, target, channel);
        if (channel > 0 && route == first) break;
        for (const LinkId id : route) used[at(id)] = 1;
      }
    }
  }
  FlowGraph graph;
  graph.name = fabric.name();
  graph.ranks = fabric.ranks();
  graph.unit_Bps = static_cast<double>(*unit.value);
  std::vector<int> node_of(fabric.nodes().size(), -1);
  const auto add_node = [&](NodeId device) {
    node_of[at(device)] = graph.nodes++;
    graph.devices.push_back(device);
    graph.computes.push_back(fabric.nodes()[at(device)].computes ? 1 : 0);
  };
  for (int rank = 0; rank < fabric.ranks(); ++rank) add_node(fabric.gpu(rank));
  for (std::size_t k = 0; k < used.size(); ++k) {
    if (!used[k]) continue;
    const Link& link = fabric.links()[k];
    for (const NodeId end : {link.source, link.target}) {
      if (node_of[at(end)] < 0) add_node(end);
    }
    graph.add(node_of[at(link.source)], node_of[at(link.target)],
              std::llround(link.capacity_Bps() / graph.unit_Bps));
  }
  return graph;
}

}  // namespace cclgym::synthesis
