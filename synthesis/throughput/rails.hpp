// Shallow trees at the optimum for clusters of equal servers, without a search.
#pragma once

#include <optional>

#include "synthesis/flow_graph.hpp"
#include "synthesis/throughput/bound.hpp"
#include "synthesis/tree_packing.hpp"

namespace cclgym::synthesis {

/// Trees with the cut that proves that they are optimal.
struct RailTrees {
  TreePacking packing{};
  CutBound bound{};
};

/// One AllGather tree per rank of a cluster whose ranks are numbered server by server: the data
/// goes along a binomial tree over the servers, on the root's rail (the GPUs with the same number
/// within their server), and from each GPU of the rail straight to the others of its server. The
/// trees are rotations of one tree per rail, of depth at most 1 + ceil(log2(servers)). Returns
/// nothing if the paths do not exist, or if the trees are slower than the cuts around a server or a
/// GPU allow, as on two servers or after a failure: then pack_allgather() is needed. Takes time in
/// proportion to the number of tree edges.
[[nodiscard]] std::optional<RailTrees> pack_rails(const FlowGraph& graph, int gpus_per_server);

}  // namespace cclgym::synthesis
