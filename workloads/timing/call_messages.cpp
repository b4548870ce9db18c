#include "workloads/timing/call_messages.hpp"

#include <map>
#include <utility>

#include "workloads/timing/call_flows.hpp"

namespace cclgym {

CallMessages::CallMessages(const ConfiguredCall& planned, TransferGraph& graph,
                           std::vector<double>& capacities, std::size_t fabric_links,
                           std::vector<std::int32_t> memories)
    : lowered_(planned.view->simulator->lowered(planned.call, planned.config)),
      memories_(std::move(memories)) {
  for (int rank = 0; rank < planned.view->fabric->ranks(); ++rank) {
    sms_.push_back(
        sms_of(*lowered_.outline, planned.view->simulator->cost_model(), planned.config, rank));
  }
  add_routes(graph, capacities, fabric_links);
}

void CallMessages::add_routes(TransferGraph& graph, std::vector<double>& capacities,
                              std::size_t fabric_links) {
  const TransferGraph& own = *lowered_.graph;
  // Links beyond those of the fabric: proxies, connections, and links of another choice of NICs.
  std::map<std::int32_t, std::int32_t> added;
  const auto link_here = [&](std::int32_t link) {
    if (at(link) < fabric_links) return link;
    const auto [known, fresh] =
        added.try_emplace(link, static_cast<std::int32_t>(capacities.size()));
    if (fresh) capacities.push_back(own.link_capacities_Bps()[at(link)]);
    return known->second;
  };
  std::map<std::int32_t, std::int32_t> sets;  // alternatives, by their number in `own`
  std::map<std::array<std::int32_t, 3>, std::int32_t> routes;
  route_of_.assign(at(own.size()), -1);
  for (TransferId node = 0; node < own.size(); ++node) {
    const std::int32_t route = own.route_of(node);
    if (route < 0) continue;
    const NodeOrigin& origin = lowered_.origins[at(node)];
    const auto [known, fresh] = routes.try_emplace({route, origin.rank, origin.peer_rank}, -1);
    if (fresh) {
      std::vector<std::int32_t> links;
      for (const std::int32_t link : own.route_links(route)) links.push_back(link_here(link));
      links.push_back(memories_[at(origin.rank)]);
      if (origin.peer_rank >= 0 && origin.peer_rank != origin.rank) {
        links.push_back(memories_[at(origin.peer_rank)]);
      }
      known->second = graph.add_route(links);
      const TransferGraph::Choice choice = own.choice(route);
      if (choice.ways >= 0 && graph.choice(known->second).ways < 0) {
        const auto [set, first] = sets.try_emplace(choice.ways, -1);
        if (first) {
          std::vector<std::vector<std::int32_t>> ways;
          for (std::int32_t way = 1; way < own.ways(route); ++way) {
            const auto on_way = own.way_links(choice, way);
            ways.emplace_back(on_way.begin(), on_way.end());
          }
          set->second = graph.add_ways(ways);
        }
        graph.set_alternatives(known->second, choice.first, choice.count, set->second);
      }
    }
    route_of_[at(node)] = known->second;
  }
  graph.set_link_capacities(capacities);
}

AppendedCall CallMessages::append(TransferGraph& graph) const {
  const TransferGraph& own = *lowered_.graph;
  const TransferId first = graph.size();
  AppendedCall call;
  call.members.resize(sms_.size());
  for (std::size_t rank = 0; rank < sms_.size(); ++rank) call.members[rank].sms = sms_[rank];
  for (TransferId node = 0; node < own.size(); ++node) {
    const TransferId added =
        route_of_[at(node)] >= 0
            ? graph.add_flow(route_of_[at(node)], own.bytes(node), own.latency_s(node),
                             own.rate_cap_Bps(node), own.repeat(node))
            : graph.add_delay(own.latency_s(node), own.repeat(node), own.overlapping(node));
    const NodeOrigin& origin = lowered_.origins[at(node)];
    AppendedCall::Member& member = call.members[at(origin.rank)];
    if (own.dependencies(node) == 0) member.starts.push_back(added);
    if (origin.role == NodeRole::Launch && origin.step == 0) member.launched = added;
  }
  std::vector<std::int32_t> incoming(at(own.size()), 0);
  for (TransferId node = 0; node < own.size(); ++node) {
    for (const TransferGraph::Edge& edge : own.successors(node)) {
      graph.add_edge(first + node, first + edge.target, edge.lag);
      ++incoming[at(edge.target)];
    }
  }
  for (TransferId node = 0; node < own.size(); ++node) {
    for (std::int32_t missing = incoming[at(node)]; missing < own.dependencies(node); ++missing) {
      graph.add_unsatisfiable_dependency(first + node);
    }
  }
  for (std::size_t rank = 0; rank < call.members.size(); ++rank) {
    AppendedCall::Member& member = call.members[rank];
    member.done = graph.add_delay(0);
    for (std::size_t i = lowered_.rank_last_offset[rank]; i < lowered_.rank_last_offset[rank + 1];
         ++i) {
      const TransferId last = lowered_.rank_last[i];
      graph.add_edge(first + last, member.done,
                     own.repeat(last) > 1 ? TransferGraph::kAfterLast : 0);
    }
    if (member.starts.empty()) {  // the rank takes no part: it is done at once
      member.starts.push_back(member.done);
    }
  }
  return call;
}

}  // namespace cclgym
