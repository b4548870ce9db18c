// Ring AllReduce with one logical ring spread over several channels (MSCCLang, section 7.1.1): the
// chunks around the ring take the channels in turn, so that a rank's sends and receives overlap.
//
// It runs in place with one chunk per rank (more if there are more channels than ranks).
#include <vector>

#include "collectives/algorithms/algorithms.hpp"

namespace cclgym::algorithms {

namespace {

Program spread_ring(const AlgorithmRequest& request) {
  const int n = request.ranks;
  const int chunks = n * ((request.channels + n - 1) / n);
  ProgramBuilder p("spread-ring", Contract::make(CollectiveKind::AllReduce, n, chunks, true));
  for (int index = 0; index < chunks; ++index) {
    const OperationOptions on{.channel = index % request.channels};
    const auto& rings = request.rings;
    const auto rank = [&](int place) {
      if (rings.empty()) return place % n;
      return rings[0][static_cast<std::size_t>(place % n)];
    };
    ChunkRef c = p.chunk(rank(index), Buffer::Input, index);
    for (int step = 1; step < n; ++step) {
      c = p.chunk(rank(index + step), Buffer::Input, index).reduce(c, on);
    }
    for (int step = n; step < 2 * n - 1; ++step) {
      c = c.copy(rank(index + step), Buffer::Input, index, on);
    }
  }
  return p.finish();
}

std::int64_t spread_ring_blocks(const AlgorithmRequest& request) {
  // With two ranks, the data that one channel receives is sent on by another.
  return std::int64_t{request.channels} * (request.ranks == 2 && request.channels > 1 ? 2 : 1);
}

}  // namespace

AlgorithmEntry spread_ring_entry() {
  return {.name = "spread-ring",
          .description = "one logical ring whose chunks take the channels in turn",
          .collectives = {CollectiveKind::AllReduce},
          .trace = spread_ring,
          .thread_blocks = spread_ring_blocks};
}

}  // namespace cclgym::algorithms
