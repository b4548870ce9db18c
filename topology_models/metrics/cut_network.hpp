// Cuts of a fabric in whole link units, from which the bandwidth metrics are computed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "topology_models/fabric.hpp"
#include "topology_models/metrics/max_flow.hpp"
#include "topology_models/metrics/metrics.hpp"

namespace cclgym {

/// A fabric as a flow network: GPUs are nodes 0 .. ranks() - 1 by rank, parallel links are one
/// edge, and switches and NICs that only join two neighbours are folded into the edge between
/// them, which changes no minimum cut between GPUs. Links of avoided_nodes() are left out.
class CutNetwork {
 public:
  /// The greatest common divisor of the links' unit bandwidths, B/s, without links of
  /// avoided_nodes().
  [[nodiscard]] static Computed<std::int64_t> unit_Bps(const Fabric& fabric);

  CutNetwork(const Fabric& fabric, std::int64_t unit_Bps);

  [[nodiscard]] int gpus() const { return gpus_; }
  [[nodiscard]] std::size_t nodes() const { return nodes_; }
  [[nodiscard]] std::size_t edges() const { return edges_.size(); }
  /// Sum of the capacities of all links, in units.
  [[nodiscard]] std::int64_t total_capacity() const { return total_; }

  /// (GPUs in S) / (units out of S), where S is all nodes but one GPU.
  [[nodiscard]] Rational ratio_of_all_but(int gpu) const;
  /// The ratio of a node set S that leaves out the GPU, if some ratio exceeds `bound`; otherwise
  /// nullopt. Needs gpus() * total_capacity() < 2^61.
  [[nodiscard]] std::optional<Rational> better_cut(int gpu, const Rational& bound);
  /// MaxFlow::work() of all calls of better_cut().
  [[nodiscard]] std::int64_t work() const { return feed_ ? feed_->work() : 0; }
  /// Number of flows that least_halving() computes.
  [[nodiscard]] std::int64_t halvings() const;
  /// Minimum capacity from one half of the GPUs to the other, in units.
  [[nodiscard]] std::int64_t least_halving() const;

 private:
  struct Edge {
    int u;
    int v;
    std::int64_t forwards;   // units, u -> v
    std::int64_t backwards;  // units, v -> u
  };

  [[nodiscard]] std::int64_t capacity_out(const std::vector<bool>& set) const;
  [[nodiscard]] bool is_half(std::uint32_t set) const;
  void add_links_to(MaxFlow& flow) const;  // edge k of the flow is edges_[k]

  int gpus_ = 0;
  std::size_t nodes_ = 0;
  std::int64_t total_ = 0;
  std::vector<Edge> edges_;
  bool symmetric_ = false;       // every edge has the same capacity in both directions
  std::optional<MaxFlow> feed_;  // for better_cut: node nodes_ feeds every GPU
  Rational fed_{-1};             // the bound for which feed_ has capacities
};

}  // namespace cclgym
