#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "collectives/algorithm.hpp"

namespace cclgym {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// Backtracking is exponential: give up a search after this many moves.
constexpr std::int64_t kMostMoves = 200'000;
constexpr int kMostBacktrackingRanks = 16;

/// Ordering the rings over servers takes a route for each two of them.
constexpr int kMostOrderedRings = 32;

/// Direct GPU-GPU links: free units by (source rank, target rank).
class DirectLinks {
 public:
  explicit DirectLinks(const Fabric& fabric) : neighbours_(at(fabric.ranks())) {
    std::map<NodeId, int> rank_of;
    for (int rank = 0; rank < fabric.ranks(); ++rank) rank_of[fabric.gpu(rank)] = rank;
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
  /// Units that the two ranks can use: of the forward link, or of the narrower direction.
  [[nodiscard]] int width(int source, int target, bool both_ways) const {
    const int forward = units(source, target);
    return both_ways ? std::min(forward, units(target, source)) : forward;
  }
  void take(int source, int target, int width) { neighbours_[at(source)].at(target) -= width; }

 private:
  std::vector<std::map<int, int>> neighbours_;
};

/// The first Hamiltonian cycle from rank 0 on, in lexicographic order, whose links all have at
/// least `width` units. Iterative: a ring of thousands of GPUs is one long path.
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

/// Takes cycles, the widest first, until there is none.
void take_cycles(DirectLinks& links, bool both_ways, std::vector<std::vector<int>>& rings) {
  const int ranks = links.ranks();
  std::set<int, std::greater<>> widths;
  const auto note_widths = [&] {
    widths.clear();
    for (int rank = 0; rank < ranks; ++rank) {
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
    std::vector<int> reverse(cycle->rbegin(), cycle->rend());
    std::rotate(reverse.begin(), reverse.end() - 1, reverse.end());  // it starts at rank 0, too
    for (int unit = 0; unit < width; ++unit) {
      rings.push_back(*cycle);
      if (both_ways) rings.push_back(reverse);
    }
    for (int place = 0; place < ranks; ++place) {
      const int source = (*cycle)[at(place)];
      const int target = (*cycle)[at((place + 1) % ranks)];
      links.take(source, target, width);
      if (both_ways) links.take(target, source, width);
    }
    note_widths();
  }
}

/// On many GPUs, is the search forced at every step, as on a ring?
bool is_sparse(const DirectLinks& links) {
  for (int rank = 0; rank < links.ranks(); ++rank) {
    if (links.neighbours(rank).size() > 2) return false;
  }
  return true;
}

/// One ring for each rank of a server: number j goes through the ranks j, j + 1, … j - 1 of each
/// server, server after server, so that each crosses between servers at GPUs of its own. In the
/// order in which channels keep clear of each other's NICs, too: channel after channel takes the
/// ring whose crossing meets the least traffic of those before it.
std::vector<std::vector<int>> rings_over_servers(const Fabric& fabric, int each) {
  const int servers = fabric.ranks() / each;
  std::vector<int> left(at(each));
  std::iota(left.begin(), left.end(), 0);
  std::vector<double> load_s(fabric.links().size(), 0);  // of the crossings so far, s a byte
  std::vector<std::vector<int>> rings;
  while (!left.empty()) {
    const int channel = static_cast<int>(rings.size());
    std::size_t best = 0;
    double best_s = std::numeric_limits<double>::infinity();
    std::vector<LinkId> best_route;
    for (std::size_t i = 0; i < left.size() && each <= kMostOrderedRings; ++i) {
      const int last = (left[i] + each - 1) % each;
      std::vector<LinkId> route = fabric.route(last, each + left[i], channel);
      double most_s = 0;
      for (const LinkId link : route) {
        most_s = std::max(most_s, load_s[at(link)] + 1 / fabric.links()[at(link)].capacity_Bps());
      }
      if (most_s >= best_s) continue;
      best = i;
      best_s = most_s;
      best_route = std::move(route);
    }
    for (const LinkId link : best_route) {
      load_s[at(link)] += 1 / fabric.links()[at(link)].capacity_Bps();
    }
    std::vector<int>& ring = rings.emplace_back();
    for (int server = 0; server < servers; ++server) {
      for (int i = 0; i < each; ++i) ring.push_back(server * each + (left[best] + i) % each);
    }
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(best));
  }
  return rings;
}

}  // namespace

std::vector<std::vector<int>> logical_rings(const Fabric& fabric) {
  std::vector<std::vector<int>> rings;
  DirectLinks links(fabric);
  const int ranks = links.ranks();
  if (ranks >= 2 && (ranks <= kMostBacktrackingRanks || is_sparse(links))) {
    // Two GPUs: the cycle there and back uses both directions already.
    if (ranks > 2) take_cycles(links, true, rings);
    take_cycles(links, false, rings);
  }
  const std::optional<int> each = fabric.ranks_per_server();
  if (rings.empty() && each && fabric.servers() > 1) return rings_over_servers(fabric, *each);
  if (rings.empty()) {
    rings.emplace_back(at(ranks));
    std::iota(rings[0].begin(), rings[0].end(), 0);
  }
  return rings;
}

}  // namespace cclgym
