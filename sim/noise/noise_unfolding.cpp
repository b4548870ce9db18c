// Noise, unfolding: a graph in which every firing is a separate node.
#include <fmt/core.h>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/index.hpp"
#include "sim/noise/noise.hpp"

namespace cclgym {

namespace {

TransferId copy_firing(const TransferGraph& from, TransferId node, TransferGraph& to) {
  return from.route_of(node) < 0 ? to.add_delay(from.latency_s(node), 1, from.overlapping(node))
                                 : to.add_flow(from.route_of(node), from.bytes(node),
                                               from.latency_s(node), from.rate_cap_Bps(node), 1);
}

// Dependencies without an edge can never be satisfied.
void copy_unsatisfiable(const TransferGraph& from, const std::vector<TransferId>& first,
                        TransferGraph& to) {
  std::vector<std::int32_t> edges_into(at(from.size()), 0);
  for (TransferId node = 0; node < from.size(); ++node) {
    for (const TransferGraph::Edge& edge : from.successors(node)) ++edges_into[at(edge.target)];
  }
  for (TransferId node = 0; node < from.size(); ++node) {
    for (std::int32_t i = edges_into[at(node)]; i < from.dependencies(node); ++i) {
      to.add_unsatisfiable_dependency(first[at(node)]);
    }
  }
}

}  // namespace

void require_unfoldable(const TransferGraph& graph) {
  if (graph.firings() <= kMaxUnfolded) return;
  throw UserError(fmt::format(
      "noise with jitter simulates each message by itself: {} of them are more than {}; expected "
      "larger tiles, or a profile without jitter",
      graph.firings(), kMaxUnfolded));
}

LoweredProgram unfolded(const LoweredProgram& lowered) {
  const TransferGraph& graph = *lowered.graph;
  require_unfoldable(graph);
  auto copy = std::make_shared<TransferGraph>();
  LoweredProgram result = lowered;
  result.origins.clear();
  result.costs.record_of.clear();
  const auto capacities = graph.link_capacities_Bps();
  copy->set_link_capacities({capacities.begin(), capacities.end()});
  copy->copy_routes(graph);
  std::vector<TransferId> base;
  for (TransferId node = 0; node < graph.size(); ++node) {
    base.push_back(copy->size());
    for (std::int32_t i = 0; i < graph.repeat(node); ++i) {
      const TransferId firing = copy_firing(graph, node, *copy);
      // Firings of a node follow each other.
      if (i > 0 && !graph.overlapping(node)) copy->add_edge(firing - 1, firing);
      result.origins.push_back(lowered.origins[at(node)]);
      result.costs.record_of.push_back(lowered.costs.record_of[at(node)]);
    }
  }
  for (TransferId node = 0; node < graph.size(); ++node) {
    for (const auto& [target, lag] : graph.successors(node)) {
      if (lag == TransferGraph::kFirstOnly) {
        copy->add_edge(base[at(node)], base[at(target)]);
      } else if (lag == TransferGraph::kAfterLast) {
        copy->add_edge(base[at(node)] + graph.repeat(node) - 1, base[at(target)]);
      } else {
        for (std::int32_t i = lag; i < graph.repeat(target); ++i) {
          if (i - lag < graph.repeat(node)) {
            copy->add_edge(base[at(node)] + i - lag, base[at(target)] + i);
          } else {
            copy->add_unsatisfiable_dependency(base[at(target)] + i);
          }
        }
      }
    }
  }
  copy_unsatisfiable(graph, base, *copy);
  copy->finish();
  result.graph = std::move(copy);
  // Only launches are delayed, and they fire once.
  for (NodeCosts::Delay& delay : result.costs.delays) delay.node = base[at(delay.node)];
  for (TransferId& node : result.rank_last) node = base[at(node)] + graph.repeat(node) - 1;
  return result;
}

}  // namespace cclgym
