#include "sim/graph/route_chooser.hpp"

#include <algorithm>
#include <cmath>

namespace cclgym {

void RouteChooser::load(const TransferGraph& graph) {
  graph_ = &graph;
  links_.clear();
  for (const double capacity_Bps : graph.link_capacities_Bps()) {
    links_.push_back({.capacity_Bps = capacity_Bps});
  }
  std::vector<std::uint8_t> contested(links_.size(), 0);
  const auto contest = [&](std::span<const std::int32_t> links) {
    for (const std::int32_t link : links) contested[at(link)] = 1;
  };
  std::vector<std::uint8_t> seen(at(graph.way_sets()), 0);
  for (std::int32_t route = 0; route < graph.routes(); ++route) {
    const TransferGraph::Choice choice = graph.choice(route);
    if (choice.ways < 0) continue;
    contest(graph.route_links(route));
    if (seen[at(choice.ways)] != 0) continue;
    seen[at(choice.ways)] = 1;
    for (std::int32_t way = 1; way < graph.ways(route); ++way) {
      contest(graph.way_links(choice, way));
    }
  }
  routes_.assign(at(graph.routes()), {});
  for (std::int32_t route = 0; route < graph.routes(); ++route) {
    Route& known = routes_[at(route)];
    known.narrowest_Bps = kNoRateCap;
    for (const std::int32_t link : graph.route_links(route)) {
      known.narrowest_Bps = std::min(known.narrowest_Bps, links_[at(link)].capacity_Bps);
      known.contested = known.contested || contested[at(link)] != 0;
    }
  }
  way_.assign(at(graph.size()), 0);
  reset();
}

void RouteChooser::reset() {
  for (Link& link : links_) link.demand_Bps = 0;
  waiting_.clear();
}

// Rounded down, so that flows that together just fit do not overload a link.
std::int64_t RouteChooser::demand_Bps(TransferId node) const {
  return static_cast<std::int64_t>(std::floor(
      std::min(graph_->rate_cap_Bps(node), routes_[at(graph_->route_of(node))].narrowest_Bps)));
}

bool RouteChooser::count(TransferId node) {
  const std::int32_t route = graph_->route_of(node);
  if (graph_->choice(route).ways < 0) {
    add_demand(route, 0, demand_Bps(node));
    return false;
  }
  waiting_.push_back(node);
  return waiting_.size() == 1;
}

void RouteChooser::leave(TransferId node) {
  add_demand(graph_->route_of(node), way_of(node), -demand_Bps(node));
}

void RouteChooser::add_demand(std::span<const std::int32_t> links, std::int64_t demand_Bps) {
  for (const std::int32_t link : links) links_[at(link)].demand_Bps += demand_Bps;
}

void RouteChooser::add_demand(std::int32_t route, std::int32_t way, std::int64_t demand_Bps) {
  const auto links = graph_->route_links(route);
  add_demand(links, demand_Bps);
  if (way == 0) return;
  const TransferGraph::Choice choice = graph_->choice(route);
  add_demand(links.subspan(at(choice.first), at(choice.count)), -demand_Bps);
  add_demand(graph_->way_links(choice, way), demand_Bps);
}

double RouteChooser::greatest_load(std::span<const std::int32_t> links, double demand_Bps) const {
  double greatest = 0;
  for (const std::int32_t id : links) {
    const Link& link = links_[at(id)];
    greatest =
        std::max(greatest, (static_cast<double>(link.demand_Bps) + demand_Bps) / link.capacity_Bps);
  }
  return greatest;
}

std::int32_t RouteChooser::best(std::int32_t route, double demand_Bps) const {
  const TransferGraph::Choice choice = graph_->choice(route);
  const auto links = graph_->route_links(route);
  const auto first = at(choice.first);
  const auto count = at(choice.count);
  const double allowed = std::max({1.0, greatest_load(links.first(first), demand_Bps),
                                   greatest_load(links.subspan(first + count), demand_Bps)});
  const auto cost = [&](std::span<const std::int32_t> way) {
    return std::max(0.0, greatest_load(way, demand_Bps) - allowed) *
           static_cast<double>(way.size());
  };
  std::int32_t best = 0;
  double least_cost = cost(links.subspan(first, count));
  const std::int32_t ways = graph_->ways(route);
  for (std::int32_t way = 1; way < ways && least_cost > 0; ++way) {
    const double other_cost = cost(graph_->way_links(choice, way));
    if (other_cost < least_cost) {
      best = way;
      least_cost = other_cost;
    }
  }
  return best;
}

void RouteChooser::sort_waiting() { std::sort(waiting_.begin(), waiting_.end()); }

std::int32_t RouteChooser::take(TransferId node) {
  const std::int64_t demand = demand_Bps(node);
  const std::int32_t route = graph_->route_of(node);
  const std::int32_t way = best(route, static_cast<double>(demand));
  way_[at(node)] = static_cast<std::uint16_t>(way);
  add_demand(route, way, demand);
  return way;
}

}  // namespace cclgym
