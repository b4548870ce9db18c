// Numbers of trees per root for AllReduce, whose roots may have different shares of the data.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "synthesis/flow_graph.hpp"
#include "topology_models/metrics/metrics.hpp"

namespace cclgym::synthesis {

/// counts[r] trees of each rank r, in both directions, that fit if an edge of c units carries
/// floor(c * capacity) trees of each direction.
struct PartCounts {
  std::vector<std::int64_t> counts{};
  std::int64_t parts = 0;  ///< sum of the counts
  Rational capacity{0};
};

/// Few trees with a throughput near the optimum: at least one per member of `group` (ascending;
/// empty: all), at most two. Of the numbers of trees whose capacity is less than `enough` rounds
/// per part and member (capacity * members / parts), the smallest; otherwise the one with the
/// lowest capacity per part. With different counts, a number between one and two trees per rank can
/// suit the units of the links better than either. Nothing if no edge carries a tree. Takes time in
/// proportion to the cube of the ranks.
[[nodiscard]] std::optional<PartCounts> few_parts(const FlowGraph& graph,
                                                  const std::vector<int>& group,
                                                  const Rational& enough);

/// Least capacity with which `trees` trees from `root` fit (a Broadcast with a fixed number of
/// trees): rounds per chunk of the root are capacity / trees.
[[nodiscard]] Rational capacity_of_root(const FlowGraph& graph, int root, std::int64_t trees,
                                        const std::vector<int>& group = {});

/// Trees that each edge carries at this capacity, by edge.
[[nodiscard]] std::vector<std::int64_t> floor_capacities(const FlowGraph& graph,
                                                         const Rational& capacity,
                                                         std::int64_t most);

}  // namespace cclgym::synthesis
