// NCCL's search for channels in a node (src/graph/search.cc).
#pragma once

#include <span>

#include "cost_models/nccl/nccl_node.hpp"

namespace cclgym {

/// NCCL's limit for the heads of NVLS (NCCL_MAX_NVLS_ARITY).
inline constexpr int kMostNvlsHeads = 32;

/// Channels that a search finds.
struct NcclChannels {
  int channels = 0;
  double inside_GBps = 0;   ///< bandwidth of a channel within a node
  double between_GBps = 0;  ///< bandwidth of a channel between nodes
};

/// Searches for the channels of one communicator. The node must outlive the search.
class NcclSearch {
 public:
  /// `one_node`: the communicator has no other node.
  NcclSearch(const NcclNode& node, const NcclVersion& version, int compute_capability,
             bool one_node);

  /// Rings inside one node, as many as the GPU's links can carry at the best bandwidth.
  [[nodiscard]] NcclChannels ring_inside() const;
  /// Rings over several nodes, as many as both the NICs and the links inside a node can carry.
  [[nodiscard]] NcclChannels ring_between() const;
  /// Trees over several nodes may run up to twice as fast inside a node: with two nodes, each link
  /// between them carries half.
  [[nodiscard]] NcclChannels tree_between(const NcclChannels& ring) const;
  /// CollNetDirect has a head for each NIC that is as fast as a channel. A head's link carries its
  /// channel, and a part of the channel of every other head.
  [[nodiscard]] NcclChannels collnet_direct(int gpus) const;
  /// NVLS has one channel per GPU, of at most kMostNvlsHeads. This GPU is its head, and the head's
  /// link carries the channel twice. No channels if the links cannot carry that.
  [[nodiscard]] NcclChannels nvls(int gpus) const;

 private:
  [[nodiscard]] double width() const;
  [[nodiscard]] int channels_inside(double speed) const;
  [[nodiscard]] int channels_between(double speed) const;
  [[nodiscard]] double slowest_nic() const;
  template <class Channels>
  [[nodiscard]] NcclChannels best(const Channels& channels_at) const;
  [[nodiscard]] NcclChannels doubled(NcclChannels found, int most) const;
  [[nodiscard]] std::size_t place(double speed) const;

  const NcclNode& node_;
  bool old_;
  bool hopper_;
  bool one_node_;
  double nvlink_;                   // GB/s of one NVLink
  std::span<const double> speeds_;  // bandwidths to try, GB/s, in NCCL's order
  int most_channels_;
};

}  // namespace cclgym
