// All-Pairs (MSCCLang, section 7.1): every rank talks to every other directly, so that AllReduce
// takes two communication steps whatever the number of ranks. For small sizes.
//
// In place. One chunk a rank and channel, size / (ranks * channels) bytes; rank r looks after slice
// r. The others' slices are gathered in scratch, not added on arrival, so that all of them can
// arrive at once.
#include "collectives/algorithms/algorithms.hpp"

namespace cclgym::algorithms {

namespace {

/// Each rank gets the others' copies of its slice and adds them up.
void gather_and_reduce(ProgramBuilder& p, int ranks) {
  for (int owner = 0; owner < ranks; ++owner) {
    for (int i = 0; i < ranks - 1; ++i) {
      const ChunkRef part = p.chunk((owner + 1 + i) % ranks, Buffer::Input, owner);
      (void)part.copy(owner, Buffer::Scratch, i, {.channel = 0});
    }
  }
  for (int owner = 0; owner < ranks; ++owner) {
    ChunkRef sum = p.chunk(owner, Buffer::Input, owner);
    for (int i = 0; i < ranks - 1; ++i) {
      sum = sum.reduce(p.chunk(owner, Buffer::Scratch, i), {.channel = 0});
    }
  }
}

/// Each rank copies its slice to all others.
void spread(ProgramBuilder& p, Buffer buffer, int ranks) {
  for (int owner = 0; owner < ranks; ++owner) {
    const ChunkRef slice = p.chunk(owner, buffer, owner);
    for (int step = 1; step < ranks; ++step) {
      (void)slice.copy((owner + step) % ranks, buffer, owner, {.channel = 0});
    }
  }
}

}  // namespace

Program all_pairs(const AlgorithmRequest& request) {
  const int n = request.ranks;
  const CollectiveKind kind = request.collective;
  ProgramBuilder p("all-pairs",
                   Contract::make(kind, n, kind == CollectiveKind::AllReduce ? n : 1, true));
  const auto parallel = p.parallelize(request.channels);
  if (kind != CollectiveKind::AllGather) gather_and_reduce(p, n);
  if (kind == CollectiveKind::AllGather) spread(p, Buffer::Output, n);
  if (kind == CollectiveKind::AllReduce) spread(p, Buffer::Input, n);
  return p.finish();
}

}  // namespace cclgym::algorithms
