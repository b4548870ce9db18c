// Naive, the baseline: each chunk goes directly from its source to its destination, in one step.
//
// Broadcast, Reduce and AllToNext cut the buffer into one chunk per channel; the other collectives
// cut each slice into one chunk per channel. Broadcast and Reduce run in place, since they need
// only one buffer; the others run out of place, since their receive buffer differs from the send
// buffer.
//
// AllToAll and AllToNext are NCCL's grouped ncclSend and ncclRecv, with one thread block per peer
// and direction (docs/collectives.md, "The shipped algorithms").
#include "collectives/algorithms/algorithms.hpp"

namespace cclgym::algorithms {

namespace {

/// Copies slice `to` of rank `from`'s input to slice `from` of rank `to`'s output, where the input
/// or output has slices.
void move_slice(ProgramBuilder& p, const AlgorithmRequest& request, int from, int to) {
  const bool input_sliced = request.collective != CollectiveKind::Gather;
  const bool output_sliced = request.collective != CollectiveKind::Scatter;
  for (int channel = 0; channel < request.channels; ++channel) {
    const int source = (input_sliced ? to : 0) * request.channels + channel;
    const int target = (output_sliced ? from : 0) * request.channels + channel;
    (void)p.chunk(from, Buffer::Input, source)
        .copy(to, Buffer::Output, target, {.channel = channel});
  }
}

void all_to_all(ProgramBuilder& p, const AlgorithmRequest& request) {
  // The order is rotated: otherwise all ranks would send to rank 0 first and then to rank 1.
  for (int step = 0; step < request.ranks; ++step) {
    for (int rank = 0; rank < request.ranks; ++rank) {
      move_slice(p, request, rank, (rank + step) % request.ranks);
    }
  }
}

void to_or_from_root(ProgramBuilder& p, const AlgorithmRequest& request) {
  for (int step = 0; step < request.ranks; ++step) {
    const int rank = (request.root + step) % request.ranks;
    if (request.collective == CollectiveKind::Gather) {
      move_slice(p, request, rank, request.root);
    } else {
      move_slice(p, request, request.root, rank);
    }
  }
}

void one_buffer(ProgramBuilder& p, const AlgorithmRequest& request) {
  for (int step = 1; step < request.ranks; ++step) {
    const int rank = (request.root + step) % request.ranks;
    for (int channel = 0; channel < request.channels; ++channel) {
      const ChunkRef at_root = p.chunk(request.root, Buffer::Input, channel);
      if (request.collective == CollectiveKind::Broadcast) {
        (void)at_root.copy(rank, Buffer::Input, channel, {.channel = channel});
      } else {
        (void)at_root.reduce(p.chunk(rank, Buffer::Input, channel), {.channel = channel});
      }
    }
  }
}

void all_to_next(ProgramBuilder& p, const AlgorithmRequest& request) {
  for (int rank = 0; rank + 1 < request.ranks; ++rank) {
    for (int channel = 0; channel < request.channels; ++channel) {
      (void)p.chunk(rank, Buffer::Input, channel)
          .copy(rank + 1, Buffer::Output, channel, {.channel = channel});
    }
  }
}

Program naive(const AlgorithmRequest& request) {
  const CollectiveKind kind = request.collective;
  const bool in_place = kind == CollectiveKind::Broadcast || kind == CollectiveKind::Reduce;
  ProgramBuilder p("naive",
                   Contract::make(kind, request.ranks, request.channels, in_place, request.root));
  if (kind == CollectiveKind::AllToAll) all_to_all(p, request);
  if (kind == CollectiveKind::Gather || kind == CollectiveKind::Scatter) {
    to_or_from_root(p, request);
  }
  if (in_place) one_buffer(p, request);
  if (kind == CollectiveKind::AllToNext) all_to_next(p, request);
  return p.finish();
}

}  // namespace

std::int64_t naive_blocks(const AlgorithmRequest& request) {
  const std::int64_t n = request.ranks;
  switch (request.collective) {
    case CollectiveKind::AllToAll:
      return request.channels * (2 * n - 1);
    case CollectiveKind::Gather:
    case CollectiveKind::Scatter:
      return request.channels * n;
    case CollectiveKind::AllToNext:
      return request.channels * std::int64_t{n == 2 ? 1 : 2};
    default:
      return request.channels * (n - 1);
  }
}

AlgorithmEntry naive_entry() {
  return {
      .name = "naive",
      .description = "each chunk goes directly to its destinations",
      .collectives = {CollectiveKind::AllToAll, CollectiveKind::Broadcast, CollectiveKind::Reduce,
                      CollectiveKind::Gather, CollectiveKind::Scatter, CollectiveKind::AllToNext},
      .traits = {.runtime = Runtime::Nccl},
      .in_nccl = true,
      .memory = {{CollectiveKind::AllToAll, 1000}},
      .trace = naive,
      .thread_blocks = naive_blocks,
      .exchanges = [](const AlgorithmRequest& request) {
        return request.collective == CollectiveKind::AllToAll && !request.compile.share_blocks;
      }};
}

}  // namespace cclgym::algorithms
