// Outline of the compiled ring program (ring.cpp): one block per rank and channel.
#include <numeric>
#include <vector>

#include "collectives/algorithms/outlines.hpp"
#include "collectives/algorithms/ring_steps.hpp"
#include "core/index.hpp"

namespace cclgym::algorithms {

std::optional<ProgramOutline> ring_outline(const AlgorithmRequest& request) {
  const int n = request.ranks;
  const int instances = request.compile.instances;
  if (n < 3 || !joins(request.compile)) return std::nullopt;
  const CollectiveKind kind = request.collective;
  const bool sliced = kind == CollectiveKind::AllGather || kind == CollectiveKind::ReduceScatter;
  const int chunks = sliced ? request.channels : n * request.channels;
  ProgramOutline outline(
      "ring", Contract::make(kind, n, chunks, true, request.root).refined(instances), CostTraits{});

  std::vector<int> in_order(at(n));
  std::iota(in_order.begin(), in_order.end(), 0);
  std::vector<std::vector<int>> rings = request.rings;
  if (rings.empty()) rings.push_back(in_order);
  std::vector<std::vector<int>> places(rings.size(), in_order);  // by ring and rank
  for (std::size_t ring = 0; ring < rings.size(); ++ring) {
    for (int place = 0; place < n; ++place) places[ring][at(rings[ring][at(place)])] = place;
  }

  for (int rank = 0; rank < n; ++rank) {
    outline.begin_rank();
    for (int channel = 0; channel < request.channels * instances; ++channel) {
      const std::size_t number = at(channel % request.channels) % rings.size();
      const auto& ring = rings[number];
      const int place = places[number][at(rank)];
      // Broadcast passes chunks from the root to the rank in front of it, Reduce from the rank
      // behind the root to the root.
      const bool broadcast = kind == CollectiveKind::Broadcast;
      const bool line = broadcast || kind == CollectiveKind::Reduce;
      const int first = places[number][at(request.root)] + (broadcast ? 0 : 1);
      const int position = (place - first + n) % n;
      const bool sends = !line || position < n - 1;
      const bool receives = !line || position > 0;
      outline.begin_block({.send_peer = sends ? ring[at((place + 1) % n)] : -1,
                           .recv_peer = receives ? ring[at((place + n - 1) % n)] : -1,
                           .channel = channel});
      RingSteps steps(outline, request.compile, n);
      if (kind == CollectiveKind::AllReduce) steps.all_reduce();
      if (kind == CollectiveKind::AllGather) steps.phase(kCopyOnRing);
      if (kind == CollectiveKind::ReduceScatter) steps.phase(kReduceOnRing);
      if (line) steps.line(broadcast ? kCopyOnRing : kReduceOnRing, position, n);
    }
  }
  outline.finish();
  outline.channels = request.channels * instances;
  return outline;
}

}  // namespace cclgym::algorithms
