#include "sim/route_chooser.hpp"

#include <algorithm>
#include <cmath>

namespace cclgym {

RouteChooser::Choice RouteChooser::choice_of(const TransferGraph& graph, std::int32_t route) {
  Choice choice;
  const auto alternatives = graph.alternatives(route);
  choice.routes.push_back(route);
  choice.routes.insert(choice.routes.end(), alternatives.begin(), alternatives.end());
  for (const std::int32_t link : graph.route_links(route)) {
    const bool shared =
        std::all_of(alternatives.begin(), alternatives.end(), [&](std::int32_t other) {
          const auto links = graph.route_links(other);
          return std::find(links.begin(), links.end(), link) != links.end();
        });
    if (shared) choice.shared.push_back(link);
  }
  for (const std::int32_t candidate : choice.routes) {
    for (const std::int32_t link : graph.route_links(candidate)) {
      if (std::find(choice.shared.begin(), choice.shared.end(), link) == choice.shared.end()) {
        choice.own.push_back(link);
      }
    }
    choice.own_end.push_back(choice.own.size());
  }
  return choice;
}

void RouteChooser::load(const TransferGraph& graph) {
  graph_ = &graph;
  links_.clear();
  for (const double capacity_Bps : graph.link_capacities_Bps()) {
    links_.push_back({.capacity_Bps = capacity_Bps});
  }
  choices_.clear();
  choice_of_route_.assign(index(graph.routes()), -1);
  for (std::int32_t route = 0; route < graph.routes(); ++route) {
    if (graph.alternatives(route).empty()) continue;
    choice_of_route_[index(route)] = static_cast<std::int32_t>(choices_.size());
    choices_.push_back(choice_of(graph, route));
    for (const std::int32_t candidate : choices_.back().routes) {
      for (const std::int32_t link : graph.route_links(candidate)) {
        links_[index(link)].contested = true;
      }
    }
  }
  demand_Bps_.assign(index(graph.size()), 0);
  counted_.assign(index(graph.size()), 0);
  route_.assign(index(graph.size()), -1);
  for (TransferId node = 0; node < graph.size(); ++node) {
    const std::int32_t route = graph.route_of(node);
    route_[index(node)] = route;
    if (route < 0 || graph.bytes(node) == 0) continue;
    double bound_Bps = graph.rate_cap_Bps(node);
    for (const std::int32_t link : graph.route_links(route)) {
      bound_Bps = std::min(bound_Bps, links_[index(link)].capacity_Bps);
      if (links_[index(link)].contested) counted_[index(node)] = 1;
    }
    // Rounded down: flows that together just fit do not overload a link.
    if (counted_[index(node)] != 0) {
      demand_Bps_[index(node)] = static_cast<std::int64_t>(std::floor(bound_Bps));
    }
  }
  reset();
}

void RouteChooser::reset() {
  for (Link& link : links_) link.demand_Bps = 0;
  waiting_.clear();
}

bool RouteChooser::count(TransferId node) {
  const std::int32_t route = graph_->route_of(node);
  if (choice_of_route_[index(route)] < 0) {
    add_demand(route, demand_Bps_[index(node)]);
    return false;
  }
  waiting_.push_back(node);
  return waiting_.size() == 1;
}

void RouteChooser::leave(TransferId node) {
  add_demand(route_[index(node)], -demand_Bps_[index(node)]);
}

void RouteChooser::add_demand(std::int32_t route, std::int64_t demand_Bps) {
  for (const std::int32_t link : graph_->route_links(route)) {
    links_[index(link)].demand_Bps += demand_Bps;
  }
}

double RouteChooser::greatest_load(std::span<const std::int32_t> links, double demand_Bps) const {
  double greatest = 0;
  for (const std::int32_t id : links) {
    const Link& link = links_[index(id)];
    greatest =
        std::max(greatest, (static_cast<double>(link.demand_Bps) + demand_Bps) / link.capacity_Bps);
  }
  return greatest;
}

std::int32_t RouteChooser::best(const Choice& choice, double demand_Bps) const {
  const double allowed = std::max(1.0, greatest_load(choice.shared, demand_Bps));
  std::int32_t best = -1;
  double least_cost = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < choice.routes.size(); ++i) {
    const std::span<const std::int32_t> own(choice.own.data() + begin, choice.own_end[i] - begin);
    begin = choice.own_end[i];
    const double cost =
        std::max(0.0, greatest_load(own, demand_Bps) - allowed) * static_cast<double>(own.size());
    if (best < 0 || cost < least_cost) {
      best = choice.routes[i];
      least_cost = cost;
    }
    if (cost == 0) break;
  }
  return best;
}

void RouteChooser::sort_waiting() { std::sort(waiting_.begin(), waiting_.end()); }

std::int32_t RouteChooser::take(TransferId node) {
  const Choice& choice = choices_[index(choice_of_route_[index(graph_->route_of(node))])];
  const std::int64_t demand_Bps = demand_Bps_[index(node)];
  const std::int32_t route = best(choice, static_cast<double>(demand_Bps));
  route_[index(node)] = route;
  add_demand(route, demand_Bps);
  return route;
}

}  // namespace cclgym
