// Hierarchical AllReduce composed of NCCL's collectives, a baseline of MSCCLang (section 7.2): N
// nodes of G ranks, three launches one after another.
//
// It runs in place with N chunks per rank. In kernel 0, each node runs a ring ReduceScatter on runs
// of N chunks. In kernel 1, across nodes, the ranks with the same position AllReduce their run on a
// ring. In kernel 2, each node AllGathers the runs. Every kernel has `channels` parallel rings,
// each with an equal part of the data. A kernel of a GPU waits for the entire previous kernel of
// that GPU: phases do not overlap, and the data that arrives last in one kernel is stored before
// the next kernel passes it on.
#include <algorithm>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/ring_phases.hpp"

namespace cclgym::algorithms {

namespace {

Program hierarchical_composed(const AlgorithmRequest& request) {
  const int g = request.ranks_per_server;
  const int n = request.ranks / g;
  ProgramBuilder p("hierarchical-composed",
                   Contract::make(CollectiveKind::AllReduce, request.ranks, request.ranks, true));
  const auto parallel = p.parallelize(request.channels);
  for (int server = 0; server < n; ++server)
    ring_reduce_scatter(p, {server * g, g, 1}, input_runs(0, n), 0);
  p.next_kernel();
  for (int gpu = 0; gpu < g; ++gpu) ring_reduce_scatter(p, {gpu, n, g}, input_runs(gpu * n, 1), 0);
  for (int gpu = 0; gpu < g; ++gpu) ring_all_gather(p, {gpu, n, g}, input_runs(gpu * n, 1), 0);
  p.next_kernel();
  for (int server = 0; server < n; ++server)
    ring_all_gather(p, {server * g, g, 1}, input_runs(0, n), 0);
  return p.finish();
}

// Thread blocks of the busiest kernel: one ring per channel.
std::int64_t hierarchical_composed_blocks(const AlgorithmRequest& request) {
  const int inside = request.ranks_per_server;
  const std::int64_t across = request.ranks > inside ? 1 : 0;
  const std::int64_t in_server = inside == 1 ? 0 : (inside == 2 ? 2 : 1);
  return request.channels * std::max(across, in_server);
}

}  // namespace

AlgorithmEntry hierarchical_composed_entry() {
  return {.name = "hierarchical-composed",
          .description =
              "hierarchical, composed of NCCL's collectives: three kernels, one after another",
          .collectives = {CollectiveKind::AllReduce},
          .traits = {.runtime = Runtime::Nccl},
          .across_servers = "composed",
          .memory = {{CollectiveKind::AllReduce, 90}},
          .trace = hierarchical_composed,
          .thread_blocks = hierarchical_composed_blocks};
}

}  // namespace cclgym::algorithms
