// Two-Step AllToAll written by hand on NCCL's point-to-point calls, a baseline of MSCCLang (section
// 7.3; GC3, figure 8): N nodes of G ranks, three launches one after another.
//
// It runs out of place with one chunk per pair of ranks. In kernel 0, within each node, grouped
// sends and receives bring every chunk to the rank with its target's position in the node; chunks
// for other nodes arrive sorted by sender. In kernel 1, a copy kernel makes the chunks for one node
// contiguous. Kernel 2 sends one message of G chunks to the counterpart in each other node.
//
// There are `channels` instances (parallelize). The copies, which need no connections, are spread
// over as many thread blocks as it takes to copy at about the memory rate of an A100.
#include <algorithm>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/servers/grid.hpp"

namespace cclgym::algorithms {

namespace {

/// Thread blocks of the copy kernel on each channel, if there are enough copies.
int copy_lanes(const AlgorithmRequest& request) {
  constexpr int kBlocks = 32;
  return std::max(1, kBlocks / request.channels);
}

Program two_step_composed(const AlgorithmRequest& request) {
  const int g = request.ranks_per_server;
  const int n = request.ranks / g;
  const int lanes = copy_lanes(request);
  const auto arrived = [n](int from, int k) { return from * n + k; };           // in scratch
  const auto leaving = [n, g](int k, int from) { return (n + k) * g + from; };  // behind `arrived`
  ProgramBuilder p("two-step-composed", Contract::make(CollectiveKind::AllToAll, request.ranks, 1));
  const auto parallel = p.parallelize(request.channels);
  for (const auto& [m, k, to] : grid(n, n, g)) {  // from node m to rank `to` of node k
    for (int from = 0; from < g; ++from) {
      const ChunkRef c = p.chunk(m * g + from, Buffer::Input, k * g + to);
      if (m == k) (void)c.copy(k * g + to, Buffer::Output, m * g + from, {.channel = 0});
      if (m != k && from != to)
        (void)c.copy(m * g + to, Buffer::Scratch, arrived(from, k), {.channel = 0});
    }
  }
  p.next_kernel();
  for (const auto& [m, k, to] : grid(n, n, g)) {
    for (int from = 0; from < g && m != k; ++from) {
      const int rank = m * g + to;
      const int lane = (((k - m + n) % n - 1) * g + from) % lanes;
      const ChunkRef c = from == to ? p.chunk(rank, Buffer::Input, k * g + to)
                                    : p.chunk(rank, Buffer::Scratch, arrived(from, k));
      (void)c.copy(rank, Buffer::Scratch, leaving(k, from), {.channel = lane * request.channels});
    }
  }
  p.next_kernel();
  for (const auto& [m, k, to] : grid(n, n, g)) {
    if (m == k) continue;
    const ChunkRef all = p.chunk(m * g + to, Buffer::Scratch, leaving(k, 0), g);
    (void)all.copy(k * g + to, Buffer::Output, m * g, {.channel = 0});
  }
  return p.finish();
}

// Thread blocks of the busiest of the three kernels. Kernel 0 has blocks to and from the ranks of
// the node and one inside the GPU, kernel 1 has copies, and kernel 2 has blocks to and from the
// counterparts.
std::int64_t two_step_composed_blocks(const AlgorithmRequest& request) {
  const std::int64_t inside = request.ranks_per_server;
  const std::int64_t servers = request.ranks / inside;
  const auto copies = std::min<std::int64_t>(copy_lanes(request), request.ranks - inside);
  return request.channels * std::max({2 * inside - 1, copies, 2 * (servers - 1)});
}

}  // namespace

AlgorithmEntry two_step_composed_entry() {
  return {
      .name = "two-step-composed",
      .description = "two-step by hand: NCCL sends, a copy kernel, NCCL sends, one after another",
      .collectives = {CollectiveKind::AllToAll},
      .traits = {.runtime = Runtime::Nccl},
      .across_servers = "composed",
      .memory = {{CollectiveKind::AllToAll, 280}},
      .trace = two_step_composed,
      .thread_blocks = two_step_composed_blocks};
}

}  // namespace cclgym::algorithms
