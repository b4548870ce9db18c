#include "collectives/library/logical_rings.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "collectives/library/logical_rings.hpp"
#include "core/index.hpp"
#include "topology_models/metrics/nics.hpp"

namespace cclgym {

namespace {

/// Backtracking is exponential: a search ends after this many moves.
constexpr std::int64_t kMostMoves = 200'000;
constexpr int kMostBacktrackingRanks = 16;
constexpr int kMostEvenRanks = 8;  // 2,520 cycles at most

/// The order of the rings over nodes needs a route for every two of them.
constexpr int kMostOrderedRings = 32;

/// Direct GPU-GPU links: free units by (source rank, target rank).
class DirectLinks {
 public:
  /// Takes the links of the first `ranks` ranks.
  DirectLinks(const Fabric& fabric, int ranks) : neighbours_(at(ranks)) {
    std::map<NodeId, int> rank_of;
    for (int rank = 0; rank < ranks; ++rank) rank_of[fabric.gpu(rank)] = rank;
    for (const Link& link : fabric.links()) {
      const auto source = rank_of.find(link.source);
      const auto target = rank_of.find(link.target);
      if (source == rank_of.end() || target == rank_of.end()) continue;
      neighbours_[at(source->second)][target->second] += link.multiplicity;
    }
  }

  [[nodiscard]] int ranks() const { return static_cast<int>(neighbours_.size()); }
  [[nodiscard]] const std::map<int, int>& neighbours(int rank) const {
    return neighbours_[at(rank)];
  }
  [[nodiscard]] int units(int source, int target) const {
    const auto found = neighbours_[at(source)].find(target);
    return found == neighbours_[at(source)].end() ? 0 : found->second;
  }
  /// Units that the two ranks can use: the units of the forward link or, if `both_ways`, of the
  /// narrower direction.
  [[nodiscard]] int width(int source, int target, bool both_ways) const {
    const int forward = units(source, target);
    return both_ways ? std::min(forward, units(target, source)) : forward;
  }
  void take(int source, int target, int width) { neighbours_[at(source)].at(target) -= width; }

 private:
  std::vector<std::map<int, int>> neighbours_;
};

/// First Hamiltonian cycle from rank 0 on, in lexicographic order, whose links all have at least
/// `width` units. The search is iterative, because a ring of thousands of GPUs is one long path.
std::optional<std::vector<int>> find_cycle(const DirectLinks& links, int width, bool both_ways) {
  const int ranks = links.ranks();
  std::vector<int> path{0};
  std::vector<int> last_tried{-1};  // by place in the path: the neighbour tried last
  std::vector<bool> used(at(ranks), false);
  used[0] = true;
  for (std::int64_t moves = 0; moves < kMostMoves + 4 * std::int64_t{ranks};) {
    if (std::ssize(path) == ranks && links.width(path.back(), 0, both_ways) >= width) return path;
    const auto& neighbours = links.neighbours(path.back());
    auto next = neighbours.upper_bound(last_tried.back());
    while (next != neighbours.end() &&
           (used[at(next->first)] || links.width(path.back(), next->first, both_ways) < width)) {
      ++next;
      ++moves;
    }
    ++moves;
    if (next == neighbours.end()) {
      used[at(path.back())] = false;
      path.pop_back();
      last_tried.pop_back();
      if (path.empty()) return std::nullopt;
      continue;
    }
    last_tried.back() = next->first;
    path.push_back(next->first);
    last_tried.push_back(-1);
    used[at(next->first)] = true;
  }
  return std::nullopt;
}

/// Calls visit(cycle, units) once for every Hamiltonian cycle over links that are free in both
/// directions (rank 0 first, its lower neighbour next), with the sum of their free units.
template <class Visit>
void for_each_cycle(const DirectLinks& links, std::vector<int>& path, std::vector<bool>& used,
                    int units, Visit& visit) {
  const int last = path.back();
  if (std::ssize(path) == links.ranks()) {
    const int closing = links.width(last, 0, true);
    if (closing > 0 && path[1] < last) visit(path, units + closing);
    return;
  }
  for (const auto& [next, count] : links.neighbours(last)) {
    const int width = links.width(last, next, true);
    if (used[at(next)] || width == 0) continue;
    used[at(next)] = true;
    path.push_back(next);
    for_each_cycle(links, path, used, units + width, visit);
    path.pop_back();
    used[at(next)] = false;
  }
}

void take_cycle(DirectLinks& links, const std::vector<int>& cycle, int width, bool both_ways,
                std::vector<std::vector<int>>& rings) {
  std::vector<int> reverse(cycle.rbegin(), cycle.rend());
  std::rotate(reverse.begin(), reverse.end() - 1, reverse.end());  // it starts at rank 0, too
  for (int unit = 0; unit < width; ++unit) {
    rings.push_back(cycle);
    if (both_ways) rings.push_back(reverse);
  }
  for (std::size_t place = 0; place < cycle.size(); ++place) {
    const int source = cycle[place];
    const int target = cycle[(place + 1) % cycle.size()];
    links.take(source, target, width);
    if (both_ways) links.take(target, source, width);
  }
}

/// Takes cycles one unit at a time, each time the cycle over the links with the largest number of
/// units left, so that no link runs out before the others. Examines all cycles, so it is meant for
/// few ranks.
void take_cycles_evenly(DirectLinks& links, std::vector<std::vector<int>>& rings) {
  while (true) {
    std::vector<int> best;
    int most = 0;
    const auto visit = [&](const std::vector<int>& cycle, int units) {
      if (units <= most) return;
      most = units;
      best = cycle;
    };
    std::vector<int> path{0};
    std::vector<bool> used(at(links.ranks()), false);
    used[0] = true;
    for_each_cycle(links, path, used, 0, visit);
    if (best.empty()) return;
    take_cycle(links, best, 1, true, rings);
  }
}

/// Takes cycles, the widest first, until there are no more.
void take_cycles(DirectLinks& links, bool both_ways, std::vector<std::vector<int>>& rings) {
  std::set<int, std::greater<>> widths;
  const auto note_widths = [&] {
    widths.clear();
    for (int rank = 0; rank < links.ranks(); ++rank) {
      for (const auto& [other, units] : links.neighbours(rank)) {
        if (const int width = links.width(rank, other, both_ways); width > 0) widths.insert(width);
      }
    }
  };
  note_widths();
  while (!widths.empty()) {
    const int width = *widths.begin();
    const auto cycle = find_cycle(links, width, both_ways);
    if (!cycle) {
      widths.erase(width);
      continue;
    }
    take_cycle(links, *cycle, width, both_ways, rings);
    note_widths();
  }
}

/// True if no GPU has more than two neighbours: the search is then forced at every step, as on a
/// ring.
bool is_sparse(const DirectLinks& links) {
  for (int rank = 0; rank < links.ranks(); ++rank) {
    if (links.neighbours(rank).size() > 2) return false;
  }
  return true;
}

/// The cycles through the direct links of ranks 0 .. ranks - 1. `evenly`: also searches for more
/// cycles (over several nodes, the network is scarcer than these links).
std::vector<std::vector<int>> direct_cycles(DirectLinks links, bool evenly) {
  std::vector<std::vector<int>> rings;
  // With two GPUs, the cycle there and back already uses both directions.
  if (links.ranks() > 2) {
    DirectLinks others = links;
    take_cycles(links, true, rings);
    std::vector<std::vector<int>> even;
    if (evenly && others.ranks() <= kMostEvenRanks) take_cycles_evenly(others, even);
    if (even.size() > rings.size()) {
      rings = std::move(even);
      links = std::move(others);
    }
  }
  if (links.ranks() >= 2) take_cycles(links, false, rings);
  return rings;
}

/// Path of a ring through the nodes: the order in which it visits the ranks of one node.
struct Passage {
  std::vector<int> order;
  /// True if every other node is passed through backwards, so that the ring crosses between equal
  /// ranks. This is for nodes where the NICs of equal ranks are nearer to each other than to others
  /// ("rails").
  bool turning = false;
};

/// Traffic between nodes, by link.
class Crossings {
 public:
  Crossings(const Fabric& fabric, int each)
      : fabric_(fabric), each_(each), load_s_(fabric.links().size(), 0) {}

  [[nodiscard]] Passage passage(std::vector<int> order, int channel) const {
    const int out = order.back();
    const auto hops = [&](int to) { return fabric_.route(out, each_ + to, channel).size(); };
    const bool turning = hops(out) < hops(order.front());
    return {std::move(order), turning};
  }

  /// Cost of the passage for a new ring: seconds per byte on its busiest link, then its number of
  /// links.
  [[nodiscard]] std::pair<double, std::size_t> cost(const Passage& passage, int channel) const {
    std::pair<double, std::size_t> most{0, 0};
    for (const LinkId link : links(passage, channel)) {
      most.first = std::max(most.first, load_s_[at(link)] + byte_s(link));
      ++most.second;
    }
    return most;
  }

  void add(const Passage& passage, int channel) {
    for (const LinkId link : links(passage, channel)) load_s_[at(link)] += byte_s(link);
  }

 private:
  [[nodiscard]] double byte_s(LinkId link) const {
    return 1 / fabric_.links()[at(link)].capacity_Bps();
  }

  /// Links of the crossing into the second node and, if they differ, of the crossing out of it.
  [[nodiscard]] std::vector<LinkId> links(const Passage& passage, int channel) const {
    const int entry = passage.order.front();
    const int exit = passage.order.back();
    if (!passage.turning) return fabric_.route(exit, each_ + entry, channel);
    const int third = fabric_.servers() > 2 ? 2 * each_ : 0;
    std::vector<LinkId> all = fabric_.route(exit, each_ + exit, channel);
    const std::vector<LinkId> on = fabric_.route(each_ + entry, third + entry, channel);
    all.insert(all.end(), on.begin(), on.end());
    return all;
  }

  const Fabric& fabric_;
  int each_;
  std::vector<double> load_s_;  // seconds per byte
};

/// GPUs of a node with two NICs by which rings cross the network, one per NIC. With
/// NCCL_CROSS_NIC=1, a ring of NCCL enters a node by one NIC and leaves it by the other, at the
/// GPUs that are nearest to them (src/graph/search.cc, typeInter), so all rings share these two
/// GPUs, and the proxies of their ranks. All measured runs on such nodes of linked GPUs have this
/// setting. With another number of NICs, any GPU may be a gateway.
class Gateways {
 public:
  Gateways(const Fabric& fabric, int each) : fabric_(fabric), each_(each) {
    std::set<NodeId> nics;
    for (int rank = 0; rank < each; ++rank) nics.insert(nic_of(rank, 0));
    two_nics_ = nics.size() == 2;
  }

  /// True if the ring enters the node by one NIC and leaves it by the other, at their gateways.
  [[nodiscard]] bool allow(const std::vector<int>& order, int channel) const {
    if (!two_nics_) return true;
    const NodeId in = nic_of(order.front(), channel);
    const NodeId out = nic_of(order.back(), channel);
    return in != out && is_free_or_of(in, order.front()) && is_free_or_of(out, order.back());
  }
  /// Makes the ring's ends the gateways of their NICs, unless these have one.
  void take(const std::vector<int>& order, int channel) {
    for (const int rank : {order.front(), order.back()}) {
      of_nic_.try_emplace(nic_of(rank, channel), rank);
    }
  }

 private:
  [[nodiscard]] bool is_free_or_of(NodeId nic, int rank) const {
    const auto known = of_nic_.find(nic);
    return known == of_nic_.end() || known->second == rank;
  }
  /// First node of the rank's route to the next node that sends into the network.
  [[nodiscard]] NodeId nic_of(int rank, int channel) const {
    return nic_towards(fabric_, rank, each_ + rank, channel).value_or(fabric_.gpu(rank));
  }

  const Fabric& fabric_;
  int each_;
  bool two_nics_ = false;
  std::map<NodeId, int> of_nic_;  // the gateways
};

/// The ring that passes through node after node in this way.
std::vector<int> ring_of(const Passage& passage, int servers) {
  const auto each = static_cast<int>(passage.order.size());
  std::vector<int> ring;
  for (int server = 0; server < servers; ++server) {
    const bool back = passage.turning && server % 2 == 1;
    for (int i = 0; i < each; ++i) {
      ring.push_back(server * each + passage.order[at(back ? each - 1 - i : i)]);
    }
  }
  return ring;
}

/// Rings that visit the GPUs of each node in the orders of the host (HostTraits::ring_orders).
std::vector<std::vector<int>> rings_in_orders(const Fabric& fabric, int each) {
  const Crossings crossings(fabric, each);
  std::vector<std::vector<int>> rings;
  for (const std::vector<int>& order : fabric.host().ring_orders) {
    const int channel = static_cast<int>(rings.size());
    rings.push_back(ring_of(crossings.passage(order, channel), fabric.servers()));
  }
  return rings;
}

/// Rings through node after node, in the orders that the host states. Otherwise, inside a node,
/// they follow the cycles of direct links between the GPUs. Without such cycles, there is one ring
/// for each rank of a node; ring j visits the ranks j, j + 1, … j - 1. The place where a cycle is
/// cut open decides by which NICs its ring crosses: each channel takes the cut whose crossing meets
/// the smallest traffic of the channels before it, at the gateways of the NICs. Cycles that cannot
/// be cut there are left out.
std::vector<std::vector<int>> rings_over_servers(const Fabric& fabric, int each) {
  const auto& known = fabric.host().ring_orders;
  if (!known.empty() && std::ssize(known[0]) == each) return rings_in_orders(fabric, each);
  const int servers = fabric.ranks() / each;
  std::vector<std::vector<int>> cycles;
  if (each <= kMostBacktrackingRanks) cycles = direct_cycles(DirectLinks(fabric, each), false);
  const bool switched = cycles.empty();
  if (switched) {
    std::vector<int> in_order(at(each));
    std::iota(in_order.begin(), in_order.end(), 0);
    cycles.assign(at(each), in_order);
  }
  std::vector<bool> cut(at(each), false);  // switched ranks at which a ring is cut
  Crossings crossings(fabric, each);
  Gateways gateways(fabric, each);
  std::vector<std::vector<int>> rings;
  for (const std::vector<int>& cycle : cycles) {
    const int channel = static_cast<int>(rings.size());
    std::optional<Passage> best;
    std::pair<double, std::size_t> best_cost;
    int best_place = 0;
    for (int place = 0; place < each; ++place) {
      if (switched && cut[at(place)]) continue;
      if (best && each > kMostOrderedRings) break;
      std::vector<int> order = cycle;
      std::rotate(order.begin(), order.begin() + place, order.end());
      if (!switched && !gateways.allow(order, channel)) continue;
      Passage passage = crossings.passage(std::move(order), channel);
      const auto cost = crossings.cost(passage, channel);
      if (best && cost >= best_cost) continue;
      best = std::move(passage);
      best_cost = cost;
      best_place = place;
    }
    if (!best) continue;
    crossings.add(*best, channel);
    gateways.take(best->order, channel);
    cut[at(best_place)] = true;
    rings.push_back(ring_of(*best, servers));
  }
  return rings;
}

}  // namespace

std::vector<std::vector<int>> logical_rings(const Fabric& fabric) {
  const int ranks = fabric.ranks();
  const std::optional<int> each = fabric.ranks_per_server();
  std::vector<std::vector<int>> rings;
  DirectLinks links(fabric, ranks);
  if (ranks <= kMostBacktrackingRanks || is_sparse(links))
    rings = direct_cycles(std::move(links), true);
  if (rings.empty() && each && fabric.servers() > 1) return rings_over_servers(fabric, *each);
  if (rings.empty()) {
    rings.emplace_back(at(ranks));
    std::iota(rings[0].begin(), rings[0].end(), 0);
  }
  return rings;
}

}  // namespace cclgym
