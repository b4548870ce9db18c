// How many thread blocks the busiest GPU of each algorithm needs, without compiling it.
//
// On each channel a rank has a block for each peer that it sends to and each that it receives from,
// but one for both where it sends on what it received (compiler/thread_blocks.hpp); copies inside a
// GPU that belong to no message are on a block of their own.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/library/algorithm.hpp"

namespace cclgym {

namespace {

using Count = std::int64_t;
using Kind = CollectiveKind;

Count ring(const AlgorithmRequest& request) {
  // Two ranks of AllGather and ReduceScatter have nothing to send on.
  const bool forwards =
      request.collective == Kind::AllReduce || request.collective == Kind::Broadcast;
  return request.channels * Count{request.ranks == 2 && !forwards ? 2 : 1};
}

int log2_of(int ranks) { return std::countr_zero(static_cast<unsigned>(ranks)); }  // a power of two

// Two blocks a partner; a few less where a run is sent on.
Count doubling(const AlgorithmRequest& request) {
  return Count{request.channels} * 2 * log2_of(request.ranks);
}

// As above, but the nearest partner is sent the sum that its part went into.
Count halving_doubling(const AlgorithmRequest& request) {
  return Count{request.channels} * (2 * log2_of(request.ranks) - 1);
}

Count tree(const AlgorithmRequest& request) {
  const int n = request.ranks;
  if (request.collective != Kind::AllReduce) return request.channels * Count{n <= 3 ? 1 : 2};
  // Up and down, for each neighbour; a chain's step sends on what it received. A head has its chain
  // beside the neighbours of its node.
  const int inside = std::max(1, request.ranks_per_server);
  const int nodes = n / inside;
  const Count across = nodes == 1 ? 0 : (nodes == 2 ? 2 : (nodes < 6 ? 4 : 6));
  return request.channels * (across + (inside > 1 ? 2 : 0));
}

Count all_pairs(const AlgorithmRequest& request) {
  return Count{request.channels} * 2 * (request.ranks - 1);
}

Count naive(const AlgorithmRequest& request) {
  const Count n = request.ranks;
  switch (request.collective) {
    case Kind::AllToAll:
      return request.channels * (2 * n - 1);
    case Kind::Gather:
    case Kind::Scatter:
      return request.channels * n;
    case Kind::AllToNext:
      return request.channels * Count{n == 2 ? 1 : 2};
    default:
      return request.channels * (n - 1);
  }
}

Count spread_ring(const AlgorithmRequest& request) {
  // With two ranks, what one channel receives another sends on.
  return request.channels * Count{request.ranks == 2 && request.channels > 1 ? 2 : 1};
}

Count hierarchical(const AlgorithmRequest& request) {
  const int inside = request.ranks_per_server;
  const Count across = request.ranks > inside ? 1 : 0;
  if (inside == 1) return across;
  // A run stays on one channel; where it begins and ends, a block does one thing only.
  const Count spread = std::min(request.channels, inside);
  return 2 * spread + (inside == 2 || spread > 1 ? 2 : 0) + across;
}

// Of the busiest kernel: a ring each.
Count hierarchical_composed(const AlgorithmRequest& request) {
  const int inside = request.ranks_per_server;
  const Count across = request.ranks > inside ? 1 : 0;
  return request.channels * std::max(across, inside == 1 ? Count{0} : Count{inside == 2 ? 2 : 1});
}

// To and from the ranks of its server, to and from its counterparts, and inside the GPU; a few less
// where a message is sent on.
Count two_step(const AlgorithmRequest& request) {
  const Count inside = request.ranks_per_server;
  const Count servers = request.ranks / inside;
  return request.channels * (2 * (inside - 1) + 2 * (servers - 1) + 1);
}

// Of the busiest kernel: to and from the ranks of its server, and inside the GPU; the copies; to
// and from its counterparts.
Count two_step_composed(const AlgorithmRequest& request) {
  const Count inside = request.ranks_per_server;
  const Count servers = request.ranks / inside;
  const Count copies = std::min<Count>(algorithms::copy_lanes(request), request.ranks - inside);
  return request.channels * std::max({2 * inside - 1, copies, 2 * (servers - 1)});
}

Count all_to_next(const AlgorithmRequest& request) {
  const int inside = request.ranks_per_server;
  if (inside == 1 || inside == request.ranks) return naive(request);
  return request.channels * Count{inside + 1};
}

// To and from the ranks of its server, and those of its place in the others; a few less where a sum
// is sent on.
Count hierarchical_all_pairs(const AlgorithmRequest& request) {
  const Count inside = request.ranks_per_server;
  const Count servers = request.ranks / inside;
  return request.channels * (2 * (inside - 1) + 2 * (servers - 1));
}

// Up and down; at the far end what is received is sent back.
Count chain(const AlgorithmRequest& request) { return Count{request.channels} * 2; }

// To and from the ranks of its server for what stays there, on other channels for what arrived; to
// and from the gates of the servers that it serves; and inside the GPU on both.
Count three_step(const AlgorithmRequest& request) {
  const Count inside = request.ranks_per_server;
  const Count others = request.ranks / inside - 1;
  const Count served = (others + inside - 1) / inside;
  const Count gates = std::min(others, inside - 1);
  const Count on_first = 2 * (inside - 1) + 2 * served + 1;
  return request.channels * (on_first + (others > 0 ? inside - 1 + gates + 1 : 0));
}

// To and from a rank in each step; these blocks make the copies inside the GPU, too.
Count pat(const AlgorithmRequest& request) {
  const auto steps = static_cast<Count>(std::bit_width(static_cast<unsigned>(request.ranks - 1)));
  return request.channels * 2 * steps;
}

// To and from each other rank, for both halves.
Count nvls(const AlgorithmRequest& request) {
  const Count halves = request.collective == Kind::AllReduce ? 2 : 1;
  return request.channels * halves * 2 * (request.ranks - 1);
}

// As above in the server, and a node of the tree.
Count nvls_tree(const AlgorithmRequest& request) {
  const Count inside = request.ranks_per_server;
  const Count servers = request.ranks / inside;
  const Count across = servers == 1 ? 0 : (servers == 2 ? 2 : (servers < 6 ? 4 : 6));
  return request.channels * (4 * (inside - 1) + across);
}

// Rank 0 receives from all others and sends to all others.
Count linear(const AlgorithmRequest& request) {
  return Count{request.channels} * 2 * (request.ranks - 1);
}

// To each child, or from each; with the parent shares one of them.
Count rooted_tree(algorithms::RootedTree tree, const AlgorithmRequest& request) {
  std::vector<Count> children(static_cast<std::size_t>(request.ranks), 0);
  for (const int parent : algorithms::parents_in(tree, request.ranks, request.root)) {
    if (parent != -1) ++children[static_cast<std::size_t>(parent)];
  }
  return request.channels * *std::max_element(children.begin(), children.end());
}
Count pipeline(const AlgorithmRequest& request) {
  return rooted_tree(algorithms::RootedTree::Pipeline, request);
}
Count four_chains(const AlgorithmRequest& request) {
  return rooted_tree(algorithms::RootedTree::FourChains, request);
}
Count binary_tree(const AlgorithmRequest& request) {
  return rooted_tree(algorithms::RootedTree::Binary, request);
}
Count binomial_tree(const AlgorithmRequest& request) {
  return rooted_tree(algorithms::RootedTree::Binomial, request);
}
Count knomial_tree(const AlgorithmRequest& request) {
  return rooted_tree(algorithms::RootedTree::Knomial, request);
}

// Of the busiest kernel, the AllGather.
Count scatter_allgather_ring(const AlgorithmRequest& request) {
  return Count{request.channels} * (request.ranks == 2 ? 2 : 1);
}

// Two blocks a partner, and to and from the owners of slices.
Count butterfly(const AlgorithmRequest& request) {
  return doubling(request) + Count{request.channels} * 2;
}

// To and from a neighbour on either side.
Count neighbor_exchange(const AlgorithmRequest& request) {
  return Count{request.channels} * (request.ranks == 2 ? 2 : 4);
}

// To and from a rank in each step, and inside the GPU.
Count bruck(const AlgorithmRequest& request) { return pat(request) + request.channels; }

// In each kernel, to a rank and from one.
Count pairwise(const AlgorithmRequest& request) { return Count{request.channels} * 2; }

constexpr std::array<std::pair<std::string_view, Count (*)(const AlgorithmRequest&)>, 33> kCounts{{
    {"ring", ring},
    {"recursive-doubling", doubling},
    {"recursive-halving", doubling},
    {"halving-doubling", halving_doubling},
    {"tree", tree},
    {"all-pairs", all_pairs},
    {"naive", naive},
    {"spread-ring", spread_ring},
    {"hierarchical", hierarchical},
    {"hierarchical-composed", hierarchical_composed},
    {"two-step", two_step},
    {"two-step-composed", two_step_composed},
    {"all-to-next", all_to_next},
    {"one-step", all_pairs},
    {"hierarchical-all-pairs", hierarchical_all_pairs},
    {"chain", chain},
    {"three-step", three_step},
    {"pat", pat},
    {"nvls", nvls},
    {"nvls-tree", nvls_tree},
    {"linear", linear},
    {"pipeline", pipeline},
    {"four-chains", four_chains},
    {"binary-tree", binary_tree},
    {"binomial-tree", binomial_tree},
    {"knomial-tree", knomial_tree},
    {"scatter-allgather", doubling},
    {"scatter-allgather-ring", scatter_allgather_ring},
    {"rabenseifner", doubling},
    {"butterfly", butterfly},
    {"bruck", bruck},
    {"neighbor-exchange", neighbor_exchange},
    {"pairwise", pairwise},
}};

}  // namespace

int thread_blocks_per_gpu(std::string_view algorithm, const AlgorithmRequest& request) {
  const std::string& name = algorithm_info(algorithm).name;
  AlgorithmRequest whole = request;
  if (whole.ranks_per_server == 0) whole.ranks_per_server = name == "tree" ? 1 : request.ranks;
  for (const auto& [known, count] : kCounts) {
    if (known != name) continue;
    return static_cast<int>(std::min<Count>(count(whole), std::numeric_limits<int>::max()));
  }
  throw std::logic_error("no count of thread blocks for algorithm '" + name + "'");
}

}  // namespace cclgym
