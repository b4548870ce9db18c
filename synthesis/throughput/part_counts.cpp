#include "synthesis/throughput/part_counts.hpp"

#include <algorithm>
#include <set>

#include "core/index.hpp"
#include "synthesis/throughput/bound.hpp"
#include "synthesis/throughput/product.hpp"

namespace cclgym::synthesis {

namespace {

constexpr std::int64_t kMostPerMember = 2;

// Capacities from `least` to `most` at which an edge begins to carry one tree more, ascending.
std::vector<Rational> capacity_steps(const FlowGraph& graph, const Rational& least,
                                     const Rational& most) {
  std::set<std::int64_t> units;
  for (const FlowEdge& edge : graph.edges) units.insert(edge.units);
  std::set<Rational> steps;
  for (const std::int64_t each : units) {
    const Rational first = least * each;
    const Rational last = most * each;
    for (std::int64_t k = first.numerator() / first.denominator();
         k * last.denominator() <= last.numerator(); ++k) {
      if (const Rational step(k, each); step >= least) steps.insert(step);
    }
  }
  return {steps.begin(), steps.end()};
}

class PartSearch {
 public:
  PartSearch(const FlowGraph& graph, const std::vector<int>& group)
      : graph_(graph), reversed_(graph.reversed()), members_(members_of(graph, group)) {}

  std::optional<PartCounts> run(const Rational& enough) {
    const auto members = static_cast<std::int64_t>(members_.size());
    const Rational bound = std::max(allgather_bound(graph_, members_).value,
                                    allgather_bound(reversed_, members_).value);
    std::optional<PartCounts> best;
    const auto rounds = [&](const PartCounts& one) { return one.capacity * members / one.parts; };
    for (const Rational& capacity : capacity_steps(graph_, bound, 2 * kMostPerMember * bound)) {
      // No number of parts makes a capacity better than the bound.
      const Rational most = capacity / bound * members;
      const std::int64_t parts =
          std::min(most.numerator() / most.denominator(), kMostPerMember * members);
      if (parts < members) continue;
      if (best && capacity * members / parts >= rounds(*best)) continue;
      std::optional<PartCounts> found = fill(capacity, parts);
      if (!found || (best && rounds(*found) >= rounds(*best))) continue;
      best = std::move(found);
      if (rounds(*best) < enough) break;
    }
    return best;
  }

 private:
  [[nodiscard]] bool fits(const std::vector<std::int64_t>& capacities,
                          const std::vector<std::int64_t>& counts) const {
    return supports_trees(graph_, capacities, counts, members_) &&
           supports_trees(reversed_, capacities, counts, members_);
  }

  // One tree per member, and a second one for as many as possible, `parts` in all.
  [[nodiscard]] std::optional<PartCounts> fill(const Rational& capacity, std::int64_t parts) const {
    const std::vector<std::int64_t> capacities = floor_capacities(graph_, capacity, parts);
    std::vector<std::int64_t> start(at(graph_.ranks), 0);
    for (const int member : members_) start[at(member)] = 1;
    if (!fits(capacities, start)) return std::nullopt;
    PartCounts best;
    // Neighbours often share a cut: second trees are given to every stride-th member first.
    for (std::size_t stride = 1; stride <= 8 && best.parts < parts; stride *= 2) {
      std::vector<std::int64_t> counts = start;
      auto total = static_cast<std::int64_t>(members_.size());
      for (std::size_t first = 0; first < stride; ++first) {
        for (std::size_t k = first; k < members_.size() && total < parts; k += stride) {
          ++counts[at(members_[k])];
          if (fits(capacities, counts)) {
            ++total;
          } else {
            --counts[at(members_[k])];
          }
        }
      }
      if (total > best.parts) best = {std::move(counts), total, capacity};
    }
    return best;
  }

  const FlowGraph& graph_;
  FlowGraph reversed_;
  std::vector<int> members_;
};

}  // namespace

std::vector<std::int64_t> floor_capacities(const FlowGraph& graph, const Rational& capacity,
                                           std::int64_t most) {
  std::vector<std::int64_t> capacities;
  capacities.reserve(graph.edges.size());
  for (const FlowEdge& edge : graph.edges) {
    const Product units = Product{edge.units} * capacity.numerator() / capacity.denominator();
    capacities.push_back(static_cast<std::int64_t>(std::min<Product>(units, most)));
  }
  return capacities;
}

Rational capacity_of_root(const FlowGraph& graph, int root, std::int64_t trees,
                          const std::vector<int>& group) {
  const std::vector<int> members = members_of(graph, group);
  const Rational bound = broadcast_bound(graph, root, members).value * trees;
  std::vector<std::int64_t> counts(at(graph.ranks), 0);
  counts[at(root)] = trees;
  // Every edge on a path to all members carries all trees at a capacity of `trees`.
  const std::vector<Rational> steps = capacity_steps(graph, bound, Rational(trees));
  const auto found = std::partition_point(steps.begin(), steps.end(), [&](const Rational& step) {
    return !supports_trees(graph, floor_capacities(graph, step, trees), counts, members);
  });
  return found == steps.end() ? Rational(trees) : *found;
}

std::optional<PartCounts> few_parts(const FlowGraph& graph, const std::vector<int>& group,
                                    const Rational& enough) {
  return PartSearch(graph, group).run(enough);
}

}  // namespace cclgym::synthesis
