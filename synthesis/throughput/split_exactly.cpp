#include <algorithm>
#include <initializer_list>

#include "core/index.hpp"
#include "synthesis/throughput/split_state.hpp"
#include "topology_models/metrics/max_flow.hpp"

namespace cclgym::synthesis {

namespace {

// Slack of the cuts around a node, while its edges are split off.
class SlackSearch {
 public:
  SlackSearch(const SplitState& state, int node)
      : state_(state),
        nodes_(state.nodes()),
        feed_(nodes_),
        start_(nodes_ + 1),
        end_(nodes_ + 2),
        flow_(nodes_ + 3) {
    // Splitting adds edges between the neighbours.
    for (int u = 0; u < nodes_; ++u) {
      for (const auto& [v, cable] : state.out(u)) edge_[{u, v}] = flow_.add_edge(u, v, cable.units);
    }
    for (const int u : state.sources(node)) {
      for (const int t : state.targets(node)) {
        if (u != t && !edge_.contains({u, t})) edge_[{u, t}] = flow_.add_edge(u, t);
      }
    }
    for (const int member : state.members()) {
      flow_.add_edge(feed_, member, state.counts()[at(member)]);
    }
    flow_.add_edge(start_, feed_, MaxFlow::kEndless);
    first_start_ = flow_.add_edge(start_, 0);
    for (int v = 1; v < nodes_; ++v) flow_.add_edge(start_, v);
    first_end_ = first_start_ + nodes_;
    for (int v = 0; v < nodes_; ++v) flow_.add_edge(v, end_);
  }

  // Reads the units of an edge from the state.
  void update(int u, int v) {
    const auto found = edge_.find({u, v});
    if (found != edge_.end()) flow_.set_capacity(found->second, state_.units(u, v));
  }

  // Units above the demand, at most `limit`, that every cut has which has the nodes `inside` on the
  // side of the data, and on the other side the nodes `outside` and a member.
  [[nodiscard]] std::int64_t slack(std::initializer_list<int> inside,
                                   std::initializer_list<int> outside, std::int64_t limit) {
    if (limit <= 0) return 0;
    for (const int v : inside) flow_.set_capacity(first_start_ + v, MaxFlow::kEndless);
    for (const int v : outside) flow_.set_capacity(first_end_ + v, MaxFlow::kEndless);
    const std::int64_t least = least_above_demand(inside, outside, limit);
    for (const int v : inside) flow_.set_capacity(first_start_ + v, 0);
    for (const int v : outside) flow_.set_capacity(first_end_ + v, 0);
    return std::max<std::int64_t>(least, 0);
  }

 private:
  std::int64_t least_above_demand(std::initializer_list<int> inside,
                                  std::initializer_list<int> outside, std::int64_t limit) {
    const std::int64_t demand = state_.demand();
    const std::int64_t flow = flow_.solve(start_, end_, demand + limit);
    if (flow == demand + limit) return limit;
    const auto is_member = [&](int v) { return state_.is_member(v); };
    if (std::any_of(outside.begin(), outside.end(), is_member)) return flow - demand;
    // A member outside the minimum cut makes it the minimum of all.
    const std::vector<bool> side = flow_.source_side();
    std::vector<int> open;
    for (const int member : state_.members()) {
      if (std::find(inside.begin(), inside.end(), member) != inside.end()) continue;
      if (!side[at(member)]) return flow - demand;
      open.push_back(member);
    }
    const MaxFlow::State solved = flow_.save();
    for (const int member : open) {
      flow_.set_capacity(first_end_ + member, MaxFlow::kEndless);
      limit = std::min(
          limit, flow - demand +
                     flow_.augment(start_, end_, std::max<std::int64_t>(0, demand + limit - flow)));
      flow_.set_capacity(first_end_ + member, 0);
      if (limit <= 0) return 0;
      flow_.restore(solved);
    }
    return limit;
  }

  const SplitState& state_;
  int nodes_;
  int feed_;   // feeds the members
  int start_;  // feeds the nodes inside
  int end_;    // is fed by the nodes outside
  MaxFlow flow_;
  std::map<std::pair<int, int>, int> edge_;
  int first_start_ = 0;  // edge from the start to node 0
  int first_end_ = 0;    // edge from node 0 to the end
};

// Splits off all that can be split off between two neighbours.
bool split_pair(SplitState& state, SlackSearch& search, int u, int w, int t) {
  std::int64_t units = std::min(state.units(u, w), state.units(w, t));
  units = search.slack({u, t}, {w}, units);
  units = search.slack({w}, {u, t}, units);
  if (units == 0) return false;
  state.split(u, w, t, units);
  search.update(u, w);
  search.update(w, t);
  if (u != t) search.update(u, t);
  return true;
}

bool drop_surplus(SplitState& state, SlackSearch& search, int u, int v, std::int64_t surplus) {
  const std::int64_t units = search.slack({u}, {v}, std::min(surplus, state.units(u, v)));
  if (units == 0) return false;
  state.drop(u, v, units);
  search.update(u, v);
  return true;
}

// Units into a node above the units out of it.
std::int64_t surplus_in(const SplitState& state, int w) {
  std::int64_t surplus = 0;
  for (const int u : state.sources(w)) surplus += state.units(u, w);
  for (const int t : state.targets(w)) surplus -= state.units(w, t);
  return surplus;
}

}  // namespace

bool split_exactly(SplitState& state, int w) {
  SlackSearch search(state, w);
  while (state.degree(w) > 0) {
    bool progress = false;
    for (const int u : state.sources(w)) {
      const std::int64_t surplus = surplus_in(state, w);
      if (surplus > 0) progress |= drop_surplus(state, search, u, w, surplus);
    }
    for (const int t : state.targets(w)) {
      const std::int64_t surplus = -surplus_in(state, w);
      if (surplus > 0) progress |= drop_surplus(state, search, w, t, surplus);
    }
    // U-turns only drop capacity, so they come last.
    for (const bool turn : {false, true}) {
      for (const int u : state.sources(w)) {
        for (const int t : state.targets(w)) {
          if ((u == t) != turn) continue;
          if (state.units(u, w) == 0 || state.units(w, t) == 0) continue;
          progress |= split_pair(state, search, u, w, t);
        }
      }
    }
    if (state.sources(w).empty() || state.targets(w).empty()) {
      state.isolate(w);  // nothing passes through it
      return true;
    }
    if (!progress) return false;
  }
  return true;
}

}  // namespace cclgym::synthesis
