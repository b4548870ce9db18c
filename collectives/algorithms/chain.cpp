// Chain AllReduce: a chunk is summed along a chain of all ranks and copied back along it. It uses
// only links between neighbours: GPUs that are connected in pairs share the work with two chains
// over different neighbours. Latency grows with the number of ranks.
//
// It runs in place with one chunk per channel; channel k visits the ranks in the order of its ring.
#include "collectives/algorithms/algorithms.hpp"

namespace cclgym::algorithms {

namespace {

Program chain(const AlgorithmRequest& request) {
  const int n = request.ranks;
  ProgramBuilder p("chain", Contract::make(CollectiveKind::AllReduce, n, request.channels, true));
  for (int channel = 0; channel < request.channels; ++channel) {
    const auto& rings = request.rings;
    const auto rank = [&](int place) {
      const auto k = static_cast<std::size_t>(channel);
      return rings.empty() ? place : rings[k % rings.size()][static_cast<std::size_t>(place)];
    };
    ChunkRef c = p.chunk(rank(0), Buffer::Input, channel);
    for (int place = 1; place < n; ++place)
      c = p.chunk(rank(place), Buffer::Input, channel).reduce(c, {.channel = channel});
    for (int place = n - 2; place >= 0; --place)
      c = c.copy(rank(place), Buffer::Input, channel, {.channel = channel});
  }
  return p.finish();
}

// One block up and one down; the far end sends back the data that it receives.
std::int64_t chain_blocks(const AlgorithmRequest& request) {
  return std::int64_t{request.channels} * 2;
}

}  // namespace

AlgorithmEntry chain_entry() {
  return {
      .name = "chain",
      .description =
          "up and down a chain of the ranks, one chain per channel; needs links between neighbours "
          "only",
      .collectives = {CollectiveKind::AllReduce},
      .trace = chain,
      .thread_blocks = chain_blocks};
}

}  // namespace cclgym::algorithms
