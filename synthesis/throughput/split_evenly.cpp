#include <algorithm>
#include <array>
#include <numeric>

#include "core/index.hpp"
#include "synthesis/throughput/balance.hpp"
#include "synthesis/throughput/split_state.hpp"

namespace cclgym::synthesis {

namespace {

// A neighbour of the node that is removed.
struct Neighbour {
  int node = 0;
  int cluster = 0;   // neighbours that are near each other, such as the GPUs of a server
  int position = 0;  // number within the cluster
  std::int64_t to_send = 0;
  std::int64_t to_receive = 0;
};

// Pairs in the order of preference: different clusters, at the same position; different clusters;
// same cluster.
enum class Affinity : std::uint8_t { Rail, Remote, Near };

Affinity affinity(const Neighbour& one, const Neighbour& other) {
  if (one.cluster == other.cluster) return Affinity::Near;
  return one.position == other.position ? Affinity::Rail : Affinity::Remote;
}

std::vector<Neighbour> neighbours_of(const SplitState& state, int w) {
  std::vector<int> nodes = state.sources(w);
  for (const int t : state.targets(w)) nodes.push_back(t);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  const auto index_of = [&](int node) {
    const auto found = std::lower_bound(nodes.begin(), nodes.end(), node);
    return found == nodes.end() || *found != node ? -1 : static_cast<int>(found - nodes.begin());
  };
  std::vector<int> cluster(nodes.size());
  std::iota(cluster.begin(), cluster.end(), 0);
  const auto find = [&](int k) {
    while (cluster[at(k)] != k) k = cluster[at(k)] = cluster[at(cluster[at(k)])];
    return k;
  };
  const auto join = [&](int one, int other) {
    const int a = find(one);
    const int b = find(other);
    cluster[at(std::max(a, b))] = std::min(a, b);
  };
  // Neighbours are near each other if there is an edge between them, or a node that is linked to
  // both by wider edges than the one that is removed.
  std::map<int, int> linked_to;
  std::vector<Neighbour> result(nodes.size());
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    result[k] = {.node = nodes[k],
                 .to_send = state.units(nodes[k], w),
                 .to_receive = state.units(w, nodes[k])};
    for (const auto& [target, cable] : state.out(nodes[k])) {
      if (target == w) continue;
      if (const int other = index_of(target); other >= 0) join(static_cast<int>(k), other);
      if (state.is_member(target) || cable.units <= result[k].to_send) continue;
      join(static_cast<int>(k), linked_to.try_emplace(target, static_cast<int>(k)).first->second);
    }
  }
  std::vector<int> size(nodes.size(), 0);
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    result[k].cluster = find(static_cast<int>(k));
    result[k].position = size[at(result[k].cluster)]++;
  }
  std::sort(result.begin(), result.end(), [](const Neighbour& a, const Neighbour& b) {
    return std::pair(a.position, a.cluster) < std::pair(b.position, b.cluster);
  });
  return result;
}

// Splits off pairs of one affinity. Neighbours take turns, each with the next one in the circle, so
// that equal neighbours end up with equal edges. Returns true if anything was split off.
bool spread(SplitState& state, int w, std::vector<Neighbour>& around, Affinity wanted) {
  const std::size_t count = around.size();
  std::vector<std::int64_t> quota(count, 0);
  for (std::size_t k = 0; k < count; ++k) {
    std::int64_t partners = 0;
    for (std::size_t other = 0; other < count; ++other) {
      if (other == k || around[other].to_receive == 0) continue;
      if (affinity(around[k], around[other]) == wanted) ++partners;
    }
    if (partners > 0) quota[k] = std::max<std::int64_t>(1, around[k].to_send / partners);
  }
  bool progress = false;
  for (std::size_t offset = 1; offset < count; ++offset) {
    for (std::size_t k = 0; k < count; ++k) {
      Neighbour& from = around[k];
      Neighbour& to = around[(k + offset) % count];
      if (affinity(from, to) != wanted) continue;
      const std::int64_t units = std::min({from.to_send, to.to_receive, quota[k]});
      if (units <= 0) continue;
      state.split(from.node, w, to.node, units);
      from.to_send -= units;
      to.to_receive -= units;
      progress = true;
    }
  }
  return progress;
}

}  // namespace

void split_evenly(SplitState& state, int w) {
  std::vector<Neighbour> around = neighbours_of(state, w);
  std::vector<std::int64_t*> sends;
  std::vector<std::int64_t*> receipts;
  for (Neighbour& neighbour : around) {
    if (neighbour.to_send > 0) sends.push_back(&neighbour.to_send);
    if (neighbour.to_receive > 0) receipts.push_back(&neighbour.to_receive);
  }
  const auto sum = [](const std::vector<std::int64_t*>& shares) {
    return std::accumulate(
        shares.begin(), shares.end(), std::int64_t{0},
        [](std::int64_t total, const std::int64_t* share) { return total + *share; });
  };
  const std::int64_t total = std::min(sum(sends), sum(receipts));
  scale_shares(sends, total);
  scale_shares(receipts, total);
  for (const Affinity wanted : {Affinity::Rail, Affinity::Remote, Affinity::Near}) {
    while (spread(state, w, around, wanted)) {
    }
  }
  state.isolate(w);
}

}  // namespace cclgym::synthesis
