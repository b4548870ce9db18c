#include "synthesis/throughput/split.hpp"

#include <fmt/format.h>
#include <optional>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/throughput/split_state.hpp"

namespace cclgym::synthesis {

namespace {

// The node to remove next: one with the fewest edges; of those, the one with the lowest number.
std::optional<int> next_node(const SplitState& state) {
  std::optional<int> best;
  for (int node = 0; node < state.nodes(); ++node) {
    if (state.is_member(node) || state.degree(node) == 0) continue;
    if (!best || state.degree(node) < state.degree(*best)) best = node;
  }
  return best;
}

// True if an even split of the node loses nothing, so that it needs no check: all that passes
// through it comes from one edge or leaves on one edge that is as wide as the others together.
bool is_joint(const SplitState& state, int node) {
  const std::vector<int> sources = state.sources(node);
  const std::vector<int> targets = state.targets(node);
  if (sources.size() != 1 && targets.size() != 1) return false;
  std::int64_t in = 0;
  std::int64_t out = 0;
  for (const int source : sources) in += state.units(source, node);
  for (const int target : targets) out += state.units(node, target);
  // A U-turn is no use.
  if (sources.size() == 1 && state.units(node, sources.front()) > 0) return false;
  if (targets.size() == 1 && state.units(targets.front(), node) > 0) return false;
  return (sources.size() == 1 && in >= out) || (targets.size() == 1 && out >= in);
}

// Splits every node evenly and checks the end only.
bool split_all_evenly(SplitState& state) {
  while (const std::optional<int> node = next_node(state)) split_evenly(state, *node);
  return state.holds();
}

std::vector<SplitEdge> edges_of(const SplitState& state) {
  std::vector<SplitEdge> edges;
  for (int source = 0; source < state.nodes(); ++source) {
    for (const auto& [target, cable] : state.out(source)) {
      edges.push_back({source, target, cable.units, cable.paths});
    }
  }
  return edges;
}

}  // namespace

std::optional<std::vector<SplitEdge>> remove_switches(const FlowGraph& graph,
                                                      const std::vector<std::int64_t>& capacities,
                                                      const std::vector<std::int64_t>& counts,
                                                      const std::vector<int>& group,
                                                      SplitMethod method) {
  const SplitState start(graph, capacities, counts, group);
  if (!start.holds()) {
    throw UserError(fmt::format("{} trees do not fit into fabric '{}' with these capacities",
                                start.demand(), graph.name));
  }
  if (method == SplitMethod::Even) {
    SplitState state = start;
    if (split_all_evenly(state)) return edges_of(state);
  }
  SplitState state = start;
  while (const std::optional<int> node = next_node(state)) {
    if (is_joint(state, *node)) {
      split_evenly(state, *node);
      continue;
    }
    if (method == SplitMethod::Even) {
      SplitState before = state;
      split_evenly(state, *node);
      if (state.holds()) continue;
      state = std::move(before);
    }
    if (!split_exactly(state, *node)) return std::nullopt;
  }
  return edges_of(state);
}

}  // namespace cclgym::synthesis
