// A fabric: the GPUs, switches and NICs of a machine or cluster, the directed links between them,
// and the route that each channel's traffic takes from one rank to another.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology_models/dragonfly.hpp"
#include "topology_models/ids.hpp"

namespace cclgym {

enum class NodeKind : std::uint8_t { Gpu, NvSwitch, PcieSwitch, Nic, NetworkSwitch, Generic };
/// NvLink: between GPUs, and between GPUs and NVSwitches; AMD's xGMI between GPUs counts as such.
/// Network: between a NIC and a network switch, and between network switches.
enum class LinkKind : std::uint8_t { NvLink, Pcie, Network, Generic };
inline constexpr std::array<LinkKind, 4> kLinkKinds{LinkKind::NvLink, LinkKind::Pcie,
                                                    LinkKind::Network, LinkKind::Generic};

/// How traffic finds its way through a dragonfly; other networks have one way only.
enum class Routing : std::uint8_t {
  Adaptive,  ///< a minimal way or a detour, by the load that it meets (UGAL)
  Minimal,   ///< always the same minimal way
  Valiant,   ///< always the same detour
};

[[nodiscard]] std::string_view to_string(NodeKind kind);
[[nodiscard]] std::string_view to_string(LinkKind kind);
[[nodiscard]] std::string_view to_string(Routing routing);

/// A device of the fabric.
struct Node {
  std::string name;  ///< unique in the fabric, e.g. "gpu3" or "node1/nic0"
  NodeKind kind = NodeKind::Gpu;
  int server =
      0;  ///< index of the server (cluster node) it sits in; -1: in none (a network switch)
  int multiplicity = 1;  ///< identical chips that hardware interleaves and that so act as one
  /// A switch that copies what comes in once to several links, and adds up what comes from several
  /// (NVLink SHARP; SHARP of InfiniBand).
  bool computes = false;
};

/// A directed link: `multiplicity` parallel units that hardware stripes traffic over, so that
/// they act as one pipe of `capacity_Bps()`. Traffic in the two directions does not interfere.
struct Link {
  NodeId source = -1;
  NodeId target = -1;
  LinkKind kind = LinkKind::Generic;
  double latency_s = 0;           ///< propagation and switching latency of one traversal, s
  double unit_bandwidth_Bps = 0;  ///< bandwidth of one unit, B/s, one direction
  int multiplicity = 1;           ///< parallel units
  /// True if `latency_s` wins over a cost model's alpha for links of this kind: because a user
  /// stated it, in a fabric file or as an option of a shipped fabric, or because the alpha does not
  /// speak of this link (of those between network switches: alpha is that of the way from a NIC to
  /// a switch).
  bool latency_stated = false;

  [[nodiscard]] double capacity_Bps() const { return unit_bandwidth_Bps * multiplicity; }
};

/// Immutable after `FabricBuilder::build`; safe to share between threads.
class Fabric {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }
  [[nodiscard]] std::span<const Link> links() const { return links_; }

  /// Number of ranks: one a GPU, numbered in the order in which the GPUs were added.
  [[nodiscard]] int ranks() const { return static_cast<int>(gpus_.size()); }
  [[nodiscard]] int servers() const { return servers_; }
  /// The node that carries a rank. Unit: index into nodes().
  [[nodiscard]] NodeId gpu(int rank) const { return gpus_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int server_of(int rank) const;
  /// How many ranks each server carries, if all carry as many and ranks are numbered server by
  /// server, so that rank r is number r % n of server r / n (what hierarchical programs are written
  /// for); nothing otherwise, also where some server has no GPU. Takes time linear in ranks().
  [[nodiscard]] std::optional<int> ranks_per_server() const;
  /// The GPU model that cost parameters are keyed by ("V100", "A100"); empty if generic.
  [[nodiscard]] const std::string& gpu_model() const { return gpu_model_; }

  /// The links from `source` to `target` rank that channel `channel` uses, in order; empty iff
  /// the ranks are equal. A shortest path by hops, then by widest bottleneck; where several are
  /// equally good (two NICs, say), channels take them in turn, in the order of link ids, channel 0
  /// starting with number `source` of them (at those of another server: with number `target`) so
  /// that ranks with the same choice spread over it: with one channel, GPU k of a pair sends and
  /// receives through NIC k of its two, whoever is at the other end. The turn at the sending end is
  /// repeated at the receiving end until all have had it. Routes do not pass through another GPU
  /// unless there is no other way (DGX-1: 0 -> 5); then the data cuts through that GPU as through a
  /// switch. Within a server, they pass through other GPUs rather than through NICs. Through a
  /// dragonfly leads a minimal way; between two groups, that is one of the links that join them, of
  /// which each pair of switches has its own, whether or not another would be a link shorter.
  /// With Routing::Valiant, it is a detour, if there is any.
  /// Throws UserError if the ranks are not connected.
  ///
  /// Computes the route afresh: cache it where it is used in a loop.
  [[nodiscard]] std::vector<LinkId> route(int source, int target, int channel) const;

  /// Other routes that an adaptive network may take instead of route(source, target, channel): they
  /// have the same links up to the first network switch and from the last one on. First the other
  /// minimal ways, then up to `most_detours` detours (Valiant), evenly spread over the groups (or,
  /// within a group, the switches) that they can lead through. Empty unless the network is a
  /// dragonfly and the two NICs sit on different switches of it.
  [[nodiscard]] std::vector<std::vector<LinkId>> alternative_routes(int source, int target,
                                                                    int channel,
                                                                    int most_detours = 4) const;
  [[nodiscard]] Routing routing() const { return routing_; }
  /// The network between the servers, if it is a dragonfly.
  [[nodiscard]] const std::optional<Dragonfly>& dragonfly() const { return dragonfly_; }

  /// Bytes-exact description for hashing: two fabrics with the same text simulate alike.
  [[nodiscard]] std::string canonical_text() const;

 private:
  friend class FabricBuilder;
  struct NetworkWay;

  [[nodiscard]] std::vector<std::vector<LinkId>> ways_to_network(int rank, bool outwards) const;
  [[nodiscard]] std::optional<NetworkWay> network_way(int source, int target, int channel) const;

  std::string name_;
  std::string gpu_model_;
  std::vector<Node> nodes_;
  std::vector<Link> links_;
  std::vector<NodeId> gpus_;
  std::vector<std::vector<LinkId>> links_out_;  ///< by node, ascending link id
  std::vector<std::vector<LinkId>> links_in_;   ///< by node, ascending link id
  int servers_ = 1;
  std::optional<Dragonfly> dragonfly_;
  Routing routing_ = Routing::Minimal;
};

/// Collects nodes and links, checks them, and builds a Fabric.
class FabricBuilder {
 public:
  explicit FabricBuilder(std::string name);

  void set_gpu_model(std::string model);
  NodeId add_node(Node node);
  /// Adds one directed link. Throws UserError on a bad endpoint, latency < 0 or bandwidth <= 0.
  LinkId add_link(Link link);
  /// Adds the link and its twin in the other direction; returns the id of the first.
  LinkId add_duplex_link(const Link& link);
  /// Declares that these switches and links, already added, make a dragonfly. Throws
  /// std::logic_error if they do not.
  void set_dragonfly(const DragonflyShape& shape);
  /// Of the dragonfly; minimal unless this is called.
  void set_routing(Routing routing);
  /// Checks (names unique, >= 1 GPU, every GPU pair connected) and builds. Throws UserError.
  [[nodiscard]] std::shared_ptr<const Fabric> build();

 private:
  std::shared_ptr<Fabric> fabric_;
};

}  // namespace cclgym
