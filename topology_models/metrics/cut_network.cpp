#include "topology_models/metrics/cut_network.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <numeric>

#include "core/index.hpp"
#include "topology_models/host_use.hpp"

namespace cclgym {

namespace {

// Units that a node can send to each neighbour, while the network is folded.
using Neighbours = std::map<int, std::int64_t>;

class Folding {
 public:
  explicit Folding(std::size_t nodes) : out_(nodes), in_(nodes) {}

  void add(int u, int v, std::int64_t units) {
    if (u == v || units == 0) return;
    out_[at(u)][v] += units;
    in_[at(v)][u] += units;
  }

  // Folds a node that is not a GPU if it has at most two neighbours a and b: the minimum cut puts
  // it on the side where it costs the smaller of a -> node and node -> b. Returns its neighbours,
  // or nothing if it was not folded.
  std::vector<int> fold(int node) {
    if (out_[at(node)].size() > 2 || in_[at(node)].size() > 2) return {};
    std::vector<int> around;
    for (const auto& [v, units] : out_[at(node)]) around.push_back(v);
    for (const auto& [u, units] : in_[at(node)]) {
      if (!out_[at(node)].contains(u)) around.push_back(u);
    }
    if (around.size() > 2) return {};
    const auto through = [&](int a, int b) {
      const auto from = in_[at(node)].find(a);
      const auto to = out_[at(node)].find(b);
      const bool both = from != in_[at(node)].end() && to != out_[at(node)].end();
      return both ? std::min(from->second, to->second) : 0;
    };
    if (around.size() == 2) {
      add(around[0], around[1], through(around[0], around[1]));
      add(around[1], around[0], through(around[1], around[0]));
    }
    for (const int other : around) {
      out_[at(other)].erase(node);
      in_[at(other)].erase(node);
    }
    out_[at(node)].clear();
    in_[at(node)].clear();
    return around;
  }

  [[nodiscard]] const Neighbours& out(int node) const { return out_[at(node)]; }
  [[nodiscard]] bool isolated(int node) const {
    return out_[at(node)].empty() && in_[at(node)].empty();
  }

 private:
  std::vector<Neighbours> out_;
  std::vector<Neighbours> in_;
};

}  // namespace

Computed<std::int64_t> CutNetwork::unit_Bps(const Fabric& fabric) {
  constexpr double kGreatestUnit_Bps = 1e18;
  constexpr double kGreatestTotal = 1e18;  // units
  std::int64_t unit = 0;
  double total_Bps = 0;
  const std::vector<char> avoided = avoided_nodes(fabric);
  for (const Link& link : fabric.links()) {
    if (avoided[at(link.source)] || avoided[at(link.target)]) continue;
    if (link.unit_bandwidth_Bps < 0.5 || link.unit_bandwidth_Bps > kGreatestUnit_Bps) {
      return {std::nullopt, fmt::format("a link has {} B/s", link.unit_bandwidth_Bps)};
    }
    unit = std::gcd(unit, static_cast<std::int64_t>(std::llround(link.unit_bandwidth_Bps)));
    total_Bps += link.capacity_Bps();
  }
  if (unit == 0) return {std::nullopt, "there are no links"};
  if (total_Bps / static_cast<double>(unit) > kGreatestTotal) {
    return {std::nullopt, "the links' bandwidths have no large enough common divisor"};
  }
  return {unit, {}};
}

CutNetwork::CutNetwork(const Fabric& fabric, std::int64_t unit_Bps) : gpus_(fabric.ranks()) {
  // GPUs by rank, then the other nodes.
  const std::size_t count = fabric.nodes().size();
  std::vector<int> number(count, -1);
  for (int rank = 0; rank < gpus_; ++rank) number[at(fabric.gpu(rank))] = rank;
  int next = gpus_;
  for (int& node : number) {
    if (node < 0) node = next++;
  }
  Folding folding(count);
  const std::vector<char> avoided = avoided_nodes(fabric);
  for (const Link& link : fabric.links()) {
    if (avoided[at(link.source)] || avoided[at(link.target)]) continue;
    const std::int64_t units = std::llround(link.unit_bandwidth_Bps) / unit_Bps * link.multiplicity;
    folding.add(number[at(link.source)], number[at(link.target)], units);
  }
  std::vector<int> open(count - at(gpus_));
  std::iota(open.begin(), open.end(), gpus_);
  while (!open.empty()) {
    const int node = open.back();
    open.pop_back();
    if (folding.isolated(node)) continue;
    for (const int other : folding.fold(node)) {
      if (other >= gpus_) open.push_back(other);
    }
  }

  std::vector<int> kept(count, -1);
  for (int node = 0; at(node) < count; ++node) {
    if (node < gpus_ || !folding.isolated(node)) kept[at(node)] = static_cast<int>(nodes_++);
  }
  for (int u = 0; at(u) < count; ++u) {
    for (const auto& [v, units] : folding.out(u)) {
      total_ += units;
      const Neighbours& back = folding.out(v);
      const auto twin = back.find(u);
      if (twin != back.end() && v < u) continue;  // added with the twin
      edges_.push_back({kept[at(u)], kept[at(v)], units, twin == back.end() ? 0 : twin->second});
    }
  }
  symmetric_ = std::all_of(edges_.begin(), edges_.end(),
                           [](const Edge& edge) { return edge.forwards == edge.backwards; });
}

void CutNetwork::add_links_to(MaxFlow& flow) const {
  for (const Edge& edge : edges_) flow.add_edge(edge.u, edge.v);
}

std::int64_t CutNetwork::capacity_out(const std::vector<bool>& set) const {
  std::int64_t units = 0;
  for (const Edge& edge : edges_) {
    const bool u_in = set[at(edge.u)];
    const bool v_in = set[at(edge.v)];
    if (u_in && !v_in) units += edge.forwards;
    if (v_in && !u_in) units += edge.backwards;
  }
  return units;
}

Rational CutNetwork::ratio_of_all_but(int gpu) const {
  std::vector<bool> set(nodes_, true);
  set[at(gpu)] = false;
  return {gpus_ - 1, capacity_out(set)};
}

std::optional<Rational> CutNetwork::better_cut(int gpu, const Rational& bound) {
  const int source = static_cast<int>(nodes_);
  const int first_feed = static_cast<int>(edges_.size());
  if (!feed_) {
    feed_.emplace(source + 1);
    add_links_to(*feed_);
    for (int rank = 0; rank < gpus_; ++rank) feed_->add_edge(source, rank);
  }
  const std::int64_t p = bound.numerator();
  const std::int64_t q = bound.denominator();
  if (fed_ != bound) {
    for (std::size_t k = 0; k < edges_.size(); ++k) {
      feed_->set_capacity(static_cast<int>(k), p * edges_[k].forwards, p * edges_[k].backwards);
    }
    for (int rank = 0; rank < gpus_; ++rank) feed_->set_capacity(first_feed + rank, q, 0);
    fed_ = bound;
  }
  if (feed_->solve(source, gpu, q * gpus_) == q * gpus_) return std::nullopt;
  std::vector<bool> set = feed_->source_side();
  set.pop_back();  // the source itself
  return Rational(std::count(set.begin(), set.begin() + gpus_, true), capacity_out(set));
}

// True if the set of GPUs (by bit) is a half to try. In a symmetric network the cut in the other
// direction is the same, so that only halves with GPU 0 are tried.
bool CutNetwork::is_half(std::uint32_t set) const {
  const int size = std::popcount(set);
  return (size == gpus_ / 2 || size == gpus_ - gpus_ / 2) && (!symmetric_ || (set & 1U) != 0);
}

std::int64_t CutNetwork::halvings() const {
  std::int64_t count = 0;
  for (std::uint32_t set = 0; set < (1U << gpus_); ++set) count += is_half(set) ? 1 : 0;
  return count;
}

std::int64_t CutNetwork::least_halving() const {
  // The source, node nodes_, feeds one half; the other half drains into the sink, nodes_ + 1.
  const int source = static_cast<int>(nodes_);
  const int sink = source + 1;
  const int first_hold = static_cast<int>(edges_.size());
  MaxFlow flow(sink + 1);
  add_links_to(flow);
  for (std::size_t k = 0; k < edges_.size(); ++k) {
    flow.set_capacity(static_cast<int>(k), edges_[k].forwards, edges_[k].backwards);
  }
  for (int rank = 0; rank < gpus_; ++rank) {
    flow.add_edge(source, rank);
    flow.add_edge(rank, sink);
  }
  const bool only_gpus = nodes_ == at(gpus_);
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::vector<bool> set(nodes_);
  for (std::uint32_t half = 0; half < (1U << gpus_); ++half) {
    if (!is_half(half)) continue;
    if (only_gpus) {
      for (int rank = 0; rank < gpus_; ++rank) set[at(rank)] = (half >> rank & 1U) != 0;
      least = std::min(least, capacity_out(set));
      continue;
    }
    for (int rank = 0; rank < gpus_; ++rank) {
      const bool inside = (half >> rank & 1U) != 0;
      flow.set_capacity(first_hold + 2 * rank, inside ? total_ : 0, 0);
      flow.set_capacity(first_hold + 2 * rank + 1, inside ? 0 : total_, 0);
    }
    least = std::min(least, flow.solve(source, sink));
  }
  return least;
}

}  // namespace cclgym
