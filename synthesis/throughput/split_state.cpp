#include "synthesis/throughput/split_state.hpp"

#include <algorithm>

#include "core/index.hpp"
#include "topology_models/metrics/max_flow.hpp"

namespace cclgym::synthesis {

namespace {

// A path that visits no node twice: what lies between two visits is cut out.
std::vector<int> without_loops(const std::vector<int>& nodes) {
  std::vector<int> path;
  for (const int node : nodes) {
    const auto earlier = std::find(path.begin(), path.end(), node);
    if (earlier != path.end()) path.erase(earlier, path.end());
    path.push_back(node);
  }
  return path;
}

}  // namespace

SplitState::SplitState(const FlowGraph& graph, const std::vector<std::int64_t>& capacities,
                       const std::vector<std::int64_t>& counts, const std::vector<int>& members)
    : members_(members),
      is_member_(at(graph.nodes), 0),
      counts_(counts),
      out_(at(graph.nodes)),
      in_(at(graph.nodes)) {
  for (const int member : members) {
    is_member_[at(member)] = 1;
    demand_ += counts[at(member)];
  }
  for (std::size_t k = 0; k < graph.edges.size(); ++k) {
    if (capacities[k] > 0) {
      add(graph.edges[k].source, graph.edges[k].target, {.units = capacities[k]});
    }
  }
}

std::vector<int> SplitState::sources(int node) const {
  std::vector<int> result;
  for (const auto& [source, there] : in_[at(node)]) result.push_back(source);
  return result;
}

std::vector<int> SplitState::targets(int node) const {
  std::vector<int> result;
  for (const auto& [target, cable] : out_[at(node)]) result.push_back(target);
  return result;
}

std::int64_t SplitState::units(int source, int target) const {
  const auto found = out_[at(source)].find(target);
  return found == out_[at(source)].end() ? 0 : found->second.units;
}

std::size_t SplitState::degree(int node) const {
  return out_[at(node)].size() + in_[at(node)].size();
}

void SplitState::add(int source, int target, SplitPath path) {
  Cable& cable = out_[at(source)][target];
  in_[at(target)][source] = 1;
  cable.units += path.units;
  if (!cable.paths.empty() && cable.paths.back().through == path.through) {
    cable.paths.back().units += path.units;
  } else {
    cable.paths.push_back(std::move(path));
  }
}

std::vector<SplitPath> SplitState::take(int source, int target, std::int64_t units) {
  const auto found = out_[at(source)].find(target);
  Cable& cable = found->second;
  cable.units -= units;
  std::vector<SplitPath> taken;
  std::size_t used = 0;
  while (units > 0) {
    SplitPath& path = cable.paths[used];
    taken.push_back({path.through, std::min(units, path.units)});
    units -= taken.back().units;
    path.units -= taken.back().units;
    if (path.units == 0) ++used;
  }
  cable.paths.erase(cable.paths.begin(), cable.paths.begin() + static_cast<std::ptrdiff_t>(used));
  if (cable.units == 0) {
    out_[at(source)].erase(found);
    in_[at(target)].erase(source);
  }
  return taken;
}

void SplitState::split(int u, int w, int t, std::int64_t units) {
  std::vector<SplitPath> first = take(u, w, units);
  std::vector<SplitPath> second = take(w, t, units);
  if (u == t) return;
  for (std::size_t a = 0, b = 0; a < first.size();) {
    SplitPath& one = first[a];
    SplitPath& other = second[b];
    std::vector<int> through = one.through;
    through.push_back(w);
    through.insert(through.end(), other.through.begin(), other.through.end());
    const std::int64_t amount = std::min(one.units, other.units);
    add(u, t, {without_loops(through), amount});
    if ((one.units -= amount) == 0) ++a;
    if ((other.units -= amount) == 0) ++b;
  }
}

void SplitState::drop(int source, int target, std::int64_t units) {
  static_cast<void>(take(source, target, units));
}

void SplitState::isolate(int node) {
  for (const auto& [target, cable] : out_[at(node)]) in_[at(target)].erase(node);
  for (const auto& [source, there] : in_[at(node)]) out_[at(source)].erase(node);
  out_[at(node)].clear();
  in_[at(node)].clear();
}

bool SplitState::holds() const {
  MaxFlow flow(nodes() + 1);
  for (int node = 0; node < nodes(); ++node) {
    for (const auto& [target, cable] : out_[at(node)]) flow.add_edge(node, target, cable.units);
  }
  for (const int member : members_) flow.add_edge(nodes(), member, counts_[at(member)]);
  return std::all_of(members_.begin(), members_.end(),
                     [&](int member) { return flow.solve(nodes(), member, demand_) == demand_; });
}

}  // namespace cclgym::synthesis
