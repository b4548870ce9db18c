#include "topology_models/metrics/metrics.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/index.hpp"
#include "topology_models/host_use.hpp"
#include "topology_models/metrics/cut_network.hpp"

namespace cclgym {

namespace {

constexpr std::int64_t kDiameterWork = 100'000'000;  // links visited; about 0.2 s
constexpr double kFlowWork = 1e9;                    // estimated by too_dear(), ns; about a second
constexpr std::int64_t kCutWork = 250'000'000;       // arcs visited; about a second
constexpr std::size_t kMostLinks = 300'000;          // in a flow network
constexpr int kBisectionGpus = 16;                   // C(16, 8) = 12,870 cuts

// Steps from one GPU to the farthest, by a breadth-first search over GPUs; other nodes are crossed
// within a step, as routes cross them: GPUs of one home (gpu_homes) reach each other without NICs
// (Fabric::route). Counts the links that it visits.
class StepSearch {
 public:
  explicit StepSearch(const Fabric& fabric)
      : fabric_(fabric),
        out_(fabric.nodes().size()),
        home_(gpu_homes(fabric)),
        gpu_seen_(fabric.nodes().size(), -1) {
    const std::vector<char> avoided = avoided_nodes(fabric);
    for (const Link& link : fabric.links()) {
      if (!avoided[at(link.source)] && !avoided[at(link.target)]) {
        out_[at(link.source)].push_back(link.target);
      }
    }
    for (std::vector<From>& layer : from_) layer.resize(fabric.nodes().size());
  }

  int farthest(int rank) {
    std::vector<NodeId> frontier{fabric_.gpu(rank)};
    gpu_seen_[at(fabric_.gpu(rank))] = rank;
    int missing = fabric_.ranks() - 1;
    int steps = 0;
    for (; missing > 0; ++steps) {
      if (frontier.empty()) throw std::logic_error("a GPU that no step reaches");
      std::vector<NodeId> gpus;
      std::vector<Place> open;
      for (const NodeId gpu : frontier) open.push_back({gpu, home_[at(gpu)], false});
      while (!open.empty() && missing > 0) {
        const Place place = open.back();
        open.pop_back();
        work_ += static_cast<std::int64_t>(out_[at(place.node)].size());
        for (const NodeId next : out_[at(place.node)]) {
          const NodeKind kind = fabric_.nodes()[at(next)].kind;
          if (kind == NodeKind::Gpu) {
            if (gpu_seen_[at(next)] == rank) continue;
            if (place.beyond_nic && place.home == home_[at(next)]) continue;
            gpu_seen_[at(next)] = rank;
            gpus.push_back(next);
            --missing;
            continue;
          }
          const bool beyond = place.beyond_nic || kind == NodeKind::Nic;
          From& from = from_[beyond ? 1 : 0][at(next)];
          if (from.rank != rank) {
            from = {rank, place.home};
          } else if (from.home != kSeveral && from.home != place.home) {
            from.home = kSeveral;
          } else {
            continue;
          }
          open.push_back({next, from.home, beyond});
        }
      }
      frontier = std::move(gpus);
    }
    return steps;
  }

  [[nodiscard]] std::int64_t work() const { return work_; }

 private:
  static constexpr int kSeveral = -1;
  // A node on the way of a step, and the home of the GPU from which the step leads there.
  struct Place {
    NodeId node;
    int home;
    bool beyond_nic;
  };
  // The homes from which a node was reached by the search of a rank.
  struct From {
    int rank = -1;
    int home = kSeveral;
  };

  const Fabric& fabric_;
  std::vector<std::vector<NodeId>> out_;
  std::vector<int> home_;                  // by node
  std::vector<int> gpu_seen_;              // by node: the last rank whose search saw it
  std::array<std::vector<From>, 2> from_;  // by node; without a NIC, and beyond one
  std::int64_t work_ = 0;
};

// True if computing `flows` flows would take too long, by an estimate in nanoseconds (measured on
// rings, complete graphs and switched clusters).
bool too_dear(const CutNetwork& network, std::int64_t flows) {
  const auto nodes = static_cast<double>(network.nodes());
  const auto edges = static_cast<double>(network.edges());
  return static_cast<double>(flows) * (nodes * nodes + 12 * edges) > kFlowWork;
}

std::string too_many(const Fabric& fabric) {
  return fmt::format("{} GPUs and {} links are too many", fabric.ranks(), fabric.links().size());
}

}  // namespace

Computed<int> diameter(const Fabric& fabric) {
  StepSearch search(fabric);
  int steps = 0;
  for (int rank = 0; rank < fabric.ranks(); ++rank) {
    steps = std::max(steps, search.farthest(rank));
    if (search.work() > kDiameterWork) {
      return {std::nullopt, too_many(fabric)};
    }
  }
  return {steps, {}};
}

Computed<double> link_unit_Bps(const Fabric& fabric) {
  const Computed<std::int64_t> unit = CutNetwork::unit_Bps(fabric);
  if (!unit.value) return {std::nullopt, unit.why_not};
  return {static_cast<double>(*unit.value), {}};
}

Computed<Rational> inverse_bisection(const Fabric& fabric) {
  const std::int64_t gpus = fabric.ranks();
  if (gpus == 1) return {Rational(0), {}};
  const Computed<std::int64_t> unit = CutNetwork::unit_Bps(fabric);
  if (!unit.value) return {std::nullopt, unit.why_not};
  if (fabric.links().size() > kMostLinks) return {std::nullopt, too_many(fabric)};
  CutNetwork network(fabric, *unit.value);
  if (network.total_capacity() > std::numeric_limits<std::int64_t>::max() / (4 * gpus)) {
    return {std::nullopt, "the links' bandwidths have no large enough common divisor"};
  }

  // Each flow visits every edge.
  if (static_cast<std::int64_t>(network.edges()) * gpus > kCutWork) {
    return {std::nullopt, too_many(fabric)};
  }

  // Dinkelbach's method: while some cut has (GPUs in S) / (units out of S) > best, take it. With
  // best = p/q, a maximum flow into GPU v tests for a cut that leaves out v: every GPU supplies q,
  // every link carries up to p per unit, and the entire supply arrives iff there is no such cut.
  Rational best(0);
  for (int rank = 0; rank < fabric.ranks(); ++rank) {
    best = std::max(best, network.ratio_of_all_but(rank));
  }
  // The work of the first GPUs tells whether all would take too long.
  constexpr int kSample = 2;
  for (int rank = 0; rank < fabric.ranks(); ++rank) {
    while (const auto better = network.better_cut(rank, best)) best = *better;
    const std::int64_t expected = rank + 1 == kSample ? network.work() / kSample * gpus : 0;
    if (std::max(expected, network.work()) > kCutWork) return {std::nullopt, too_many(fabric)};
  }
  return {best, {}};
}

Computed<double> bisection_Bps(const Fabric& fabric) {
  const int gpus = fabric.ranks();
  if (gpus == 1) return {std::nullopt, "one GPU has no halves"};
  if (gpus > kBisectionGpus) {
    return {std::nullopt, fmt::format("more than {} GPUs ({})", kBisectionGpus, gpus)};
  }
  const Computed<std::int64_t> unit = CutNetwork::unit_Bps(fabric);
  if (!unit.value) return {std::nullopt, unit.why_not};
  if (fabric.links().size() > kMostLinks) return {std::nullopt, too_many(fabric)};
  CutNetwork network(fabric, *unit.value);
  if (too_dear(network, network.halvings())) return {std::nullopt, too_many(fabric)};
  return {static_cast<double>(network.least_halving()) * static_cast<double>(*unit.value), {}};
}

Computed<int> switch_hops(const Fabric& fabric) {
  const auto kind = [&](NodeId id) { return fabric.nodes()[at(id)].kind; };
  std::vector<std::vector<NodeId>> next(fabric.nodes().size());
  std::vector<NodeId> edge;  // distinct switches with a NIC
  std::vector<bool> is_edge(fabric.nodes().size());
  for (const Link& link : fabric.links()) {
    if (kind(link.target) != NodeKind::NetworkSwitch) continue;
    if (kind(link.source) == NodeKind::NetworkSwitch) {
      next[at(link.source)].push_back(link.target);
    } else if (!is_edge[at(link.target)]) {
      is_edge[at(link.target)] = true;
      edge.push_back(link.target);
    }
  }
  int most = 0;
  std::int64_t work = 0;
  std::vector<int> hops(fabric.nodes().size());
  for (const NodeId source : edge) {
    std::fill(hops.begin(), hops.end(), -1);
    hops[at(source)] = 0;
    std::vector<NodeId> queue{source};
    for (std::size_t k = 0; k < queue.size(); ++k) {
      const NodeId node = queue[k];
      if (is_edge[at(node)]) most = std::max(most, hops[at(node)]);
      work += static_cast<std::int64_t>(next[at(node)].size());
      for (const NodeId other : next[at(node)]) {
        if (hops[at(other)] >= 0) continue;
        hops[at(other)] = hops[at(node)] + 1;
        queue.push_back(other);
      }
    }
    if (work > kDiameterWork) return {std::nullopt, too_many(fabric)};
  }
  return {most, {}};
}

FabricMetrics fabric_metrics(const Fabric& fabric) {
  return {diameter(fabric), link_unit_Bps(fabric), inverse_bisection(fabric), bisection_Bps(fabric),
          switch_hops(fabric)};
}

}  // namespace cclgym
