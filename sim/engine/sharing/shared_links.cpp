#include "sim/engine/sharing/shared_links.hpp"

namespace cclgym {

void SharedLinks::load(const TransferGraph& graph, const FlowNetwork& network) {
  graph_ = &graph;
  links_.clear();
  dirty_.clear();
  link_of_.assign(at(graph.routes()), -1);
  load_of_.clear();
  if (graph.adaptive() || graph.holding()) return;  // flows leave their routes, capacities change

  // Bound of the flows on each route; 0: no flows yet, kMixed: not all alike.
  constexpr double kMixed = -1;
  std::vector<double> bound_of(at(graph.routes()), 0);
  for (TransferId id = 0; id < graph.size(); ++id) {
    const std::int32_t route = graph.route_of(id);
    if (route < 0 || graph.bytes(id) <= 0) continue;
    const double bound_Bps = network.bound_Bps(route, graph.rate_cap_Bps(id));
    double& known = bound_of[at(route)];
    if (known == 0) {
      known = bound_Bps;
    } else if (known != bound_Bps) {
      known = kMixed;
    }
  }
  // The same for each link; mixed, too, if another link limits one of its flows.
  const auto capacities_Bps = graph.link_capacities_Bps();
  std::vector<double> on_link(capacities_Bps.size(), 0);
  for (std::int32_t route = 0; route < graph.routes(); ++route) {
    const double bound_Bps = bound_of[at(route)];
    if (bound_Bps == 0) continue;
    const auto limiting = network.limiting_links(route);
    for (const std::int32_t link : limiting) {
      double& known = on_link[at(link)];
      const bool alike = limiting.size() == 1 && (known == 0 || known == bound_Bps);
      known = alike ? bound_Bps : kMixed;
    }
  }
  std::vector<std::int32_t> number_of(capacities_Bps.size(), -1);
  for (std::size_t link = 0; link < on_link.size(); ++link) {
    if (on_link[link] <= 0) continue;
    number_of[link] = static_cast<std::int32_t>(links_.size());
    links_.push_back(
        {.capacity_Bps = capacities_Bps[link], .bound_Bps = on_link[link], .flows = {}});
  }
  if (graph.loaded()) load_of_.assign(at(graph.routes()), 1);
  for (std::int32_t route = 0; route < graph.routes(); ++route) {
    const auto limiting = network.limiting_links(route);
    if (limiting.size() != 1) continue;
    link_of_[at(route)] = number_of[at(limiting.front())];
    if (graph.loaded()) {
      load_of_[at(route)] = graph.route_loads(route).front();
    }
  }
}

void SharedLinks::reset(bool used) {
  used_ = used && !links_.empty();
  dirty_.clear();
  dates_.reset(used_ ? links_.size() : 0);
  if (!used_) return;
  for (Link& link : links_) {
    link.flows.clear();
    link.load = 0;
    link.dirty = false;
  }
}

}  // namespace cclgym
