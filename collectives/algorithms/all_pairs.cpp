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
void gather_and_reduce(ProgramBuilder& p, int ranks, int channels) {
  for (int owner = 0; owner < ranks; ++owner) {
    for (int step = 1; step < ranks; ++step) {
      for (int channel = 0; channel < channels; ++channel) {
        (void)p.chunk((owner + step) % ranks, Buffer::Input, owner * channels + channel)
            .copy(owner, Buffer::Scratch, (step - 1) * channels + channel, {.channel = channel});
      }
    }
  }
  for (int owner = 0; owner < ranks; ++owner) {
    for (int channel = 0; channel < channels; ++channel) {
      ChunkRef sum = p.chunk(owner, Buffer::Input, owner * channels + channel);
      for (int step = 1; step < ranks; ++step) {
        const ChunkRef part = p.chunk(owner, Buffer::Scratch, (step - 1) * channels + channel);
        sum = sum.reduce(part, {.channel = channel});
      }
    }
  }
}

/// Each rank copies its slice to all others.
void spread(ProgramBuilder& p, Buffer buffer, int ranks, int channels) {
  for (int owner = 0; owner < ranks; ++owner) {
    for (int step = 1; step < ranks; ++step) {
      for (int channel = 0; channel < channels; ++channel) {
        const int index = owner * channels + channel;
        (void)p.chunk(owner, buffer, index)
            .copy((owner + step) % ranks, buffer, index, {.channel = channel});
      }
    }
  }
}

}  // namespace

Program all_pairs(const AlgorithmRequest& request) {
  const int n = request.ranks;
  const CollectiveKind kind = request.collective;
  const int chunks = (kind == CollectiveKind::AllReduce ? n : 1) * request.channels;
  ProgramBuilder p("all-pairs", Contract::make(kind, n, chunks, true));
  if (kind != CollectiveKind::AllGather) gather_and_reduce(p, n, request.channels);
  if (kind == CollectiveKind::AllGather) spread(p, Buffer::Output, n, request.channels);
  if (kind == CollectiveKind::AllReduce) spread(p, Buffer::Input, n, request.channels);
  return p.finish();
}

}  // namespace cclgym::algorithms
