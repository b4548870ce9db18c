// Ring algorithms: every chunk travels once around the ring of its channel.
//
// They run in place, as NCCL's users run them; the reducing collectives then need no local copy.
// The data is cut into one chunk per rank and channel; channel k has the chunks k, k + channels, …
// and the ring rings[k % rings]. AllReduce takes 2 (n - 1) steps, and AllGather and ReduceScatter
// take n - 1, each step of size / (ranks * channels) bytes per channel. Broadcast sends `ranks`
// chunks per channel one after the other in 2 n - 2 such steps, and Reduce does so from the rank
// behind the root to the root (NCCL's reduce.h).
#include <algorithm>
#include <numeric>
#include <utility>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/outlines.hpp"
#include "core/index.hpp"

namespace cclgym::algorithms {

namespace {

/// Rank at a position of the ring; positions wrap around.
class Ring {
 public:
  Ring(const AlgorithmRequest& request, int channel) : order_(at(request.ranks)) {
    std::iota(order_.begin(), order_.end(), 0);
    if (!request.rings.empty()) order_ = request.rings[at(channel) % request.rings.size()];
  }
  int operator[](int place) const { return order_[at(place) % order_.size()]; }
  [[nodiscard]] int place_of(int rank) const {
    int place = 0;
    while ((*this)[place] != rank) ++place;
    return place;
  }

 private:
  std::vector<int> order_;
};

void all_reduce(ProgramBuilder& p, const AlgorithmRequest& request) {
  const int n = request.ranks;
  for (int channel = 0; channel < request.channels; ++channel) {
    const Ring ring(request, channel);
    for (int place = 0; place < n; ++place) {
      const int index = place * request.channels + channel;
      ChunkRef c = p.chunk(ring[place], Buffer::Input, index);
      for (int step = 1; step < n; ++step) {
        c = p.chunk(ring[place + step], Buffer::Input, index).reduce(c, {.channel = channel});
      }
      for (int step = n; step < 2 * n - 1; ++step) {
        c = c.copy(ring[place + step], Buffer::Input, index, {.channel = channel});
      }
    }
  }
}

void all_gather(ProgramBuilder& p, const AlgorithmRequest& request) {
  for (int channel = 0; channel < request.channels; ++channel) {
    const Ring ring(request, channel);
    for (int place = 0; place < request.ranks; ++place) {
      const int index = ring[place] * request.channels + channel;
      ChunkRef c = p.chunk(ring[place], Buffer::Output, index);
      for (int step = 1; step < request.ranks; ++step) {
        c = c.copy(ring[place + step], Buffer::Output, index, {.channel = channel});
      }
    }
  }
}

void reduce_scatter(ProgramBuilder& p, const AlgorithmRequest& request) {
  for (int channel = 0; channel < request.channels; ++channel) {
    const Ring ring(request, channel);
    for (int place = 0; place < request.ranks; ++place) {
      const int index = ring[place] * request.channels + channel;
      ChunkRef c = p.chunk(ring[place + 1], Buffer::Input, index);
      for (int step = 2; step <= request.ranks; ++step) {
        c = p.chunk(ring[place + step], Buffer::Input, index).reduce(c, {.channel = channel});
      }
    }
  }
}

void broadcast(ProgramBuilder& p, const AlgorithmRequest& request) {
  for (int channel = 0; channel < request.channels; ++channel) {
    const Ring ring(request, channel);
    const int root = ring.place_of(request.root);
    for (int i = 0; i < request.ranks; ++i) {
      const int index = i * request.channels + channel;
      ChunkRef c = p.chunk(request.root, Buffer::Input, index);
      for (int step = 1; step < request.ranks; ++step) {
        c = c.copy(ring[root + step], Buffer::Input, index, {.channel = channel});
      }
    }
  }
}

void reduce(ProgramBuilder& p, const AlgorithmRequest& request) {
  for (int channel = 0; channel < request.channels; ++channel) {
    const Ring ring(request, channel);
    const int root = ring.place_of(request.root);
    for (int i = 0; i < request.ranks; ++i) {
      const int index = i * request.channels + channel;
      ChunkRef c = p.chunk(ring[root + 1], Buffer::Input, index);
      for (int step = 2; step <= request.ranks; ++step) {
        c = p.chunk(ring[root + step], Buffer::Input, index).reduce(c, {.channel = channel});
      }
    }
  }
}

Program ring(const AlgorithmRequest& request) {
  const CollectiveKind kind = request.collective;
  const bool sliced = kind == CollectiveKind::AllGather || kind == CollectiveKind::ReduceScatter;
  const int chunks = sliced ? request.channels : request.ranks * request.channels;
  ProgramBuilder p("ring", Contract::make(kind, request.ranks, chunks, true, request.root));
  if (kind == CollectiveKind::AllReduce) all_reduce(p, request);
  if (kind == CollectiveKind::AllGather) all_gather(p, request);
  if (kind == CollectiveKind::ReduceScatter) reduce_scatter(p, request);
  if (kind == CollectiveKind::Broadcast) broadcast(p, request);
  if (kind == CollectiveKind::Reduce) reduce(p, request);
  return p.finish();
}

std::int64_t ring_blocks(const AlgorithmRequest& request) {
  // With two ranks, AllGather and ReduceScatter have nothing to send on.
  const bool forwards = request.collective == CollectiveKind::AllReduce ||
                        request.collective == CollectiveKind::Broadcast ||
                        request.collective == CollectiveKind::Reduce;
  return std::int64_t{request.channels} * (request.ranks == 2 && !forwards ? 2 : 1);
}

DifferentChannels different_channels(const AlgorithmRequest& request) {
  if (request.rings.empty()) return {};
  const auto ring_of = [&](int channel) -> const std::vector<int>& {
    return request.rings[at(channel) % request.rings.size()];
  };
  const int period = least_period(request.channels, request.channels, [&](int one, int other) {
    return ring_of(one) == ring_of(other);
  });
  return {.count = period, .period = period};
}

}  // namespace

AlgorithmEntry ring_entry() {
  return {
      .name = "ring",
      .description = "every chunk travels once around the ring of its channel; optimal bandwidth",
      .collectives = {CollectiveKind::AllReduce, CollectiveKind::AllGather,
                      CollectiveKind::ReduceScatter, CollectiveKind::Broadcast,
                      CollectiveKind::Reduce},
      .traits = {.runtime = Runtime::Nccl},
      .in_nccl = true,
      .trace = ring,
      .thread_blocks = ring_blocks,
      .outline = ring_outline,
      .different_channels = different_channels};
}

}  // namespace cclgym::algorithms
