#include "sim/graph/class_graph.hpp"

#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace cclgym {

std::shared_ptr<const TransferGraph> class_graph(const TransferGraph& graph,
                                                 const GraphSymmetry& symmetry) {
  auto classes = std::make_shared<TransferGraph>();
  std::vector<double> capacities;
  for (const std::int32_t link : symmetry.link) {
    capacities.push_back(graph.link_capacities_Bps()[at(link)]);
  }
  if (capacities.empty()) capacities.push_back(1);
  classes->set_link_capacities(std::move(capacities));
  // Flows of each class on the first link of each class of links.
  std::vector<std::map<std::int32_t, std::int32_t>> loads(symmetry.node.size());
  std::set<std::tuple<TransferId, TransferId, std::int32_t>> edges;
  for (TransferId node = 0; node < graph.size(); ++node) {
    const std::int32_t own = symmetry.node_class[at(node)];
    if (graph.route_of(node) >= 0) {
      for (const std::int32_t link : graph.route_links(graph.route_of(node))) {
        const std::int32_t of_link = symmetry.link_class[at(link)];
        if (symmetry.link[at(of_link)] == link) ++loads[at(own)][of_link];
      }
    }
    for (const TransferGraph::Edge& edge : graph.successors(node)) {
      const std::int32_t to = symmetry.node_class[at(edge.target)];
      if (symmetry.node[at(to)] == edge.target) edges.emplace(own, to, edge.lag);
    }
  }
  for (std::size_t i = 0; i < symmetry.node.size(); ++i) {
    const TransferId first = symmetry.node[i];
    if (graph.route_of(first) < 0) {
      classes->add_delay(graph.latency_s(first), graph.repeat(first), graph.overlapping(first));
      continue;
    }
    std::vector<std::int32_t> links;
    std::vector<std::int32_t> on_links;
    for (const auto& [link, load] : loads[i]) {
      links.push_back(link);
      on_links.push_back(load);
    }
    classes->add_flow(classes->add_loaded_route(links, on_links), graph.bytes(first),
                      graph.latency_s(first), graph.rate_cap_Bps(first), graph.repeat(first));
  }
  for (const auto& [from, to, lag] : edges) classes->add_edge(from, to, lag);
  classes->finish();
  return classes;
}

}  // namespace cclgym
