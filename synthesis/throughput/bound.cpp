#include "synthesis/throughput/bound.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/throughput/product.hpp"
#include "topology_models/metrics/max_flow.hpp"

namespace cclgym::synthesis {

namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 61;

// The graph, and a node that feeds its members.
class FedGraph {
 public:
  FedGraph(const FlowGraph& graph, const std::vector<int>& members)
      : members_(members), source_(graph.nodes), flow_(graph.nodes + 1) {
    for (const FlowEdge& edge : graph.edges) flow_.add_edge(edge.source, edge.target);
    first_feed_ = static_cast<int>(graph.edges.size());
    for (const int member : members) flow_.add_edge(source_, member);
  }

  void set_capacity(std::size_t edge, std::int64_t units) {
    flow_.set_capacity(static_cast<int>(edge), units);
  }
  void feed(std::size_t member, std::int64_t units) {
    flow_.set_capacity(first_feed_ + static_cast<int>(member), units);
  }

  [[nodiscard]] std::int64_t flow_to(int member, std::int64_t limit) {
    return flow_.solve(source_, member, limit);
  }
  [[nodiscard]] bool reaches_all(std::int64_t demand) {
    return std::all_of(members_.begin(), members_.end(),
                       [&](int member) { return flow_to(member, demand) == demand; });
  }
  // The source's side of the last minimum cut, by node of the graph.
  [[nodiscard]] std::vector<char> cut() const {
    const std::vector<bool> side = flow_.source_side();
    return {side.begin(), side.end() - 1};
  }

 private:
  const std::vector<int>& members_;
  int source_;
  int first_feed_ = 0;
  MaxFlow flow_;
};

std::int64_t units_out_of(const FlowGraph& graph, const std::vector<char>& cut) {
  std::int64_t units = 0;
  for (const FlowEdge& edge : graph.edges) {
    if (cut[at(edge.source)] && !cut[at(edge.target)]) units += edge.units;
  }
  return units;
}

std::int64_t members_in(const std::vector<int>& members, const std::vector<char>& cut) {
  return std::count_if(members.begin(), members.end(),
                       [&](int member) { return cut[at(member)] != 0; });
}

// The ratio of a cut. Throws UserError if no link leaves it.
Rational ratio_of(const FlowGraph& graph, const std::vector<int>& members,
                  const std::vector<char>& cut) {
  const std::int64_t units = units_out_of(graph, cut);
  if (units == 0) {
    const auto inside = [&](int member) { return cut[at(member)] != 0; };
    throw UserError(fmt::format("rank {} cannot reach rank {} on fabric '{}'",
                                *std::find_if(members.begin(), members.end(), inside),
                                *std::find_if_not(members.begin(), members.end(), inside),
                                graph.name));
  }
  return {members_in(members, cut), units};
}

void require_whole_numbers(const FlowGraph& graph, std::size_t members) {
  Product total = 0;
  for (const FlowEdge& edge : graph.edges) total += edge.units;
  if (total * static_cast<Product>(members) >= kLargest) {
    throw UserError(
        fmt::format("the links of fabric '{}' have too many units for an exact bound; expected "
                    "units x ranks below 2^61: the bandwidths need a larger common divisor",
                    graph.name));
  }
}

}  // namespace

std::vector<int> members_of(const FlowGraph& graph, const std::vector<int>& group) {
  std::vector<int> members = group;
  if (members.empty()) {
    members.resize(at(graph.ranks));
    std::iota(members.begin(), members.end(), 0);
  }
  if (members.size() < 2) {
    throw UserError(fmt::format("a group of {} rank; expected at least two", members.size()));
  }
  for (std::size_t k = 0; k < members.size(); ++k) {
    if (members[k] < 0 || members[k] >= graph.ranks) {
      throw UserError(
          fmt::format("rank {} of the group; expected 0 .. {}", members[k], graph.ranks - 1));
    }
    if (k > 0 && members[k] <= members[k - 1]) {
      throw UserError(fmt::format("ranks of a group must ascend, but {} follows {}", members[k],
                                  members[k - 1]));
    }
  }
  return members;
}

// Dinkelbach's method: with the bound p/q, every member supplies q and an edge carries p per unit.
// The entire supply reaches a member iff no cut that leaves it out has a ratio above p/q; otherwise
// the minimum cut has one. The bound only rises, so that members need not be tested again.
CutBound allgather_bound(const FlowGraph& graph, const std::vector<int>& group) {
  const std::vector<int> members = members_of(graph, group);
  require_whole_numbers(graph, members.size());
  CutBound best;
  std::vector<std::int64_t> units_in(at(graph.nodes), 0);
  for (const FlowEdge& edge : graph.edges) units_in[at(edge.target)] += edge.units;
  const int narrowest = *std::min_element(members.begin(), members.end(), [&](int a, int b) {
    return units_in[at(a)] < units_in[at(b)];
  });
  best.cut.assign(at(graph.nodes), 1);
  best.cut[at(narrowest)] = 0;
  best.value = ratio_of(graph, members, best.cut);

  FedGraph fed(graph, members);
  const auto set_bound = [&] {
    for (std::size_t k = 0; k < graph.edges.size(); ++k) {
      fed.set_capacity(k, best.value.numerator() * graph.edges[k].units);
    }
    for (std::size_t k = 0; k < members.size(); ++k) fed.feed(k, best.value.denominator());
  };
  set_bound();
  for (const int member : members) {
    while (true) {
      const auto supply = best.value.denominator() * static_cast<std::int64_t>(members.size());
      if (fed.flow_to(member, supply) == supply) break;
      best.cut = fed.cut();
      best.value = ratio_of(graph, members, best.cut);
      set_bound();
    }
  }
  return best;
}

CutBound broadcast_bound(const FlowGraph& graph, int root, const std::vector<int>& group) {
  const std::vector<int> members = members_of(graph, group);
  if (!std::binary_search(members.begin(), members.end(), root)) {
    throw UserError(fmt::format("root {} is not in the group", root));
  }
  require_whole_numbers(graph, 1);
  MaxFlow flow(graph.nodes);
  for (const FlowEdge& edge : graph.edges) flow.add_edge(edge.source, edge.target, edge.units);
  std::int64_t least = MaxFlow::kNoLimit;
  CutBound bound;
  for (const int member : members) {
    if (member == root) continue;
    const std::int64_t units = flow.solve(root, member, least);
    if (units >= least) continue;
    least = units;
    const std::vector<bool> side = flow.source_side();
    bound.cut.assign(side.begin(), side.end());
    if (least == 0) {
      throw UserError(
          fmt::format("rank {} cannot reach rank {} on fabric '{}'", root, member, graph.name));
    }
  }
  bound.value = Rational(1, least);
  return bound;
}

std::string check_cut(const FlowGraph& graph, const std::vector<int>& group, const CutBound& bound,
                      int root) {
  const std::vector<int> members = members_of(graph, group);
  if (bound.cut.size() != at(graph.nodes)) {
    return fmt::format("the cut has {} nodes; expected {}", bound.cut.size(), graph.nodes);
  }
  const std::int64_t inside = members_in(members, bound.cut);
  if (inside == static_cast<std::int64_t>(members.size())) return "the cut leaves out no member";
  const std::int64_t sources = root < 0 ? inside : bound.cut[at(root)] != 0 ? 1 : 0;
  if (sources == 0) return "the cut has no data";
  const std::int64_t units = units_out_of(graph, bound.cut);
  if (Product{sources} * bound.value.denominator() != Product{units} * bound.value.numerator()) {
    return fmt::format("the cut has the value {}/{}, not {}/{}", sources, units,
                       bound.value.numerator(), bound.value.denominator());
  }
  return {};
}

bool supports_trees(const FlowGraph& graph, const std::vector<std::int64_t>& capacities,
                    const std::vector<std::int64_t>& counts, const std::vector<int>& members) {
  FedGraph fed(graph, members);
  for (std::size_t k = 0; k < capacities.size(); ++k) fed.set_capacity(k, capacities[k]);
  std::int64_t demand = 0;
  for (std::size_t k = 0; k < members.size(); ++k) {
    fed.feed(k, counts[at(members[k])]);
    demand += counts[at(members[k])];
  }
  return fed.reaches_all(demand);
}

Rational allgather_bound_of_trees(const FlowGraph& graph, std::int64_t trees,
                                  const std::vector<int>& group) {
  if (trees < 1) throw UserError(fmt::format("{} trees per root; expected at least 1", trees));
  const std::vector<int> members = members_of(graph, group);
  const Rational exact = allgather_bound(graph, members).value;
  FedGraph fed(graph, members);
  for (std::size_t k = 0; k < members.size(); ++k) fed.feed(k, trees);
  const auto demand = static_cast<std::int64_t>(members.size()) * trees;
  // True if numerator / denominator trees per link unit are enough.
  const auto enough = [&](std::int64_t numerator, std::int64_t denominator) {
    for (std::size_t k = 0; k < graph.edges.size(); ++k) {
      const Product units = Product{graph.edges[k].units} * numerator / denominator;
      fed.set_capacity(k, static_cast<std::int64_t>(std::min<Product>(units, demand)));
    }
    return fed.reaches_all(demand);
  };
  // The minimum is a multiple of 1/c for the units c of some edge, as floor() jumps there.
  std::set<std::int64_t> units;
  for (const FlowEdge& edge : graph.edges) units.insert(edge.units);
  std::optional<Rational> best;
  for (const std::int64_t denominator : units) {
    std::int64_t low =
        rounded_up(exact * trees * denominator) - 1;  // not enough, or not of interest
    std::int64_t high = low + 1;
    if (best) {
      high = rounded_up(*best * denominator) - 1;  // the greatest multiple below the best
      if (high <= low || !enough(high, denominator)) continue;
    } else {
      while (!enough(high, denominator)) {
        low = high;
        high *= 2;
      }
    }
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (enough(middle, denominator) ? high : low) = middle;
    }
    best = Rational(high, denominator);
  }
  return *best / trees;
}

}  // namespace cclgym::synthesis
