// A fabric: the GPUs, switches and NICs of a node or a cluster, the directed links between them,
// and the route that each channel's traffic takes from one rank to another.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topology_models/dragonfly.hpp"
#include "topology_models/ids.hpp"

namespace cclgym {

/// Host: a CPU socket with its memory, through which data of the SHM transport pass.
enum class NodeKind : std::uint8_t { Gpu, NvSwitch, PcieSwitch, Nic, NetworkSwitch, Generic, Host };
/// NvLink: between GPUs, and between GPUs and NVSwitches; also AMD's xGMI between GPUs. Network:
/// between a NIC and a network switch, and between network switches.
enum class LinkKind : std::uint8_t { NvLink, Pcie, Network, Generic };
inline constexpr std::array<LinkKind, 4> kLinkKinds{LinkKind::NvLink, LinkKind::Pcie,
                                                    LinkKind::Network, LinkKind::Generic};

/// Choice of path through a dragonfly; other networks have only one path.
enum class Routing : std::uint8_t {
  Adaptive,  ///< a minimal path or a detour, by the load on them (UGAL)
  Minimal,   ///< always the same minimal path
  Valiant,   ///< always the same detour
};

/// Network between the nodes, and the stack by which a library uses it. InfiniBand: verbs, of
/// InfiniBand or RoCE. Efa: libfabric over AWS's Elastic Fabric Adapter.
enum class NetworkKind : std::uint8_t { InfiniBand, Slingshot, Tcp, Efa, Other };
inline constexpr std::array<NetworkKind, 5> kNetworkKinds{NetworkKind::InfiniBand,
                                                          NetworkKind::Slingshot, NetworkKind::Tcp,
                                                          NetworkKind::Efa, NetworkKind::Other};

[[nodiscard]] std::string_view to_string(NodeKind kind);
[[nodiscard]] std::string_view to_string(LinkKind kind);
[[nodiscard]] std::string_view to_string(Routing routing);
[[nodiscard]] std::string_view to_string(NetworkKind network);

/// A device of the fabric.
struct Node {
  std::string name;  ///< unique in the fabric, e.g. "gpu3" or "node1/nic0"
  NodeKind kind = NodeKind::Gpu;
  int server = 0;  ///< index of the cluster node that holds the device; -1: none (a network switch)
  int multiplicity = 1;  ///< identical chips that the hardware interleaves, so that they act as one
  /// True for a switch that copies data to several links and reduces data from several links
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
  /// True if `latency_s` wins over a cost model's alpha for links of this kind: a user stated it,
  /// in a fabric file or as an option of a shipped fabric, or the alpha does not apply (it is for
  /// the link from a NIC to a switch, not for links between network switches).
  bool latency_stated = false;

  [[nodiscard]] double capacity_Bps() const { return unit_bandwidth_Bps * multiplicity; }
};

// Latencies of links for which nothing is stated; an alpha of the cost model replaces them.
inline constexpr double kGpuLinkLatency_s = 0.7e-6;    ///< NVLink to a GPU: TE-CCL (NDv2, DGX-1)
inline constexpr double kNvSwitchLatency_s = 0.35e-6;  ///< NVLink to an NVSwitch: TE-CCL (DGX-2)
inline constexpr double kHostLatency_s = 5e-7;         ///< PCIe to a host: host_facts()
/// TE-CCL's alpha between a GPU and the network: 1.3 us to a network switch, and so 2.6 us between
/// nodes. It covers the entire route from GPU memory to the switch, so that the PCIe links on it
/// add nothing.
inline constexpr double kNetworkLatency_s = 1.3e-6;

enum class NicBinding : std::uint8_t;  // fabric_spec.hpp

/// Immutable after `FabricBuilder::build`; safe to share between threads.
/// Maker of a node's CPUs, on which some of NCCL's constants depend.
enum class HostCpu : std::uint8_t { Intel, Amd, Arm };

/// Host side of the nodes, as far as NCCL's choice and its rings and trees depend on it. The costs
/// of messages do not.
struct HostTraits {
  /// The default is that of DGX-1, DGX-2, HGX H100 and H200, NDv2 and ABCI.
  HostCpu cpu = HostCpu::Intel;
  /// True if NCCL finds the host bridge between a GPU and its NIC (path PHB) although the fabric
  /// has both at one PCIe switch: NCCL then does not trust LL128 between nodes.
  bool nics_behind_host_bridge = false;
  /// True if NCCL's rings may leave a node by another NIC than that by which they entered
  /// (NCCL_CROSS_NIC of 1, or of 2, the default). False (NCCL_CROSS_NIC=0) matters where every GPU
  /// has a CPU and a NIC of its own: the way back to the NIC leads from CPU to CPU.
  bool crosses_nics = true;
  /// Orders in which NCCL's rings and trees visit the GPUs of a node, by channel (channel k has
  /// order k mod their number), if its search was run on the topology of the machine: numbers of
  /// GPUs within the node. Empty: logical_rings() finds the orders of rings, and trees follow them.
  std::vector<std::vector<int>> ring_orders{};
  std::vector<std::vector<int>> tree_orders{};
};

class Fabric {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }
  [[nodiscard]] std::span<const Link> links() const { return links_; }

  /// Number of ranks: one per GPU, numbered in the order in which the GPUs were added.
  [[nodiscard]] int ranks() const { return static_cast<int>(gpus_.size()); }
  [[nodiscard]] int servers() const { return servers_; }
  /// The device that carries a rank. Unit: index into nodes().
  [[nodiscard]] NodeId gpu(int rank) const { return gpus_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int server_of(int rank) const;
  /// Number of ranks n per cluster node, if all have the same number and ranks are numbered node by
  /// node, so that rank r is number r % n of cluster node r / n, as hierarchical programs expect.
  /// Empty otherwise, and if some cluster node has no GPU. Takes time linear in ranks().
  [[nodiscard]] std::optional<int> ranks_per_server() const;
  /// The GPU model that cost parameters are keyed by ("V100", "A100"); empty if generic.
  [[nodiscard]] const std::string& gpu_model() const { return gpu_model_; }
  [[nodiscard]] const HostTraits& host() const { return host_; }
  /// By the GPU model and this, the cost model `auto` finds its parameters.
  [[nodiscard]] NetworkKind network() const { return network_; }
  /// The set or file that the description of the machine states for `auto`; empty: none.
  [[nodiscard]] const std::string& cost_model() const { return cost_model_; }

  /// The links that channel `channel` uses from rank `source` to rank `target`, in order; empty iff
  /// the ranks are equal. The path has the fewest hops and, among such paths, the widest
  /// bottleneck; channels take equally good paths in turn. docs/fabrics.md, "Routes", has all the
  /// rules. Throws UserError if the ranks are not connected.
  ///
  /// Computes the route on every call: cache it in loops.
  [[nodiscard]] std::vector<LinkId> route(int source, int target, int channel) const;

  /// Alternative routes that an adaptive network may take instead of route(source, target,
  /// channel), with the same links up to the first network switch and from the last one on. The
  /// other minimal paths come first, then up to `most_detours` detours (Valiant), evenly spread
  /// over the groups (or, within a group, the switches) that they can go through. Empty unless the
  /// network is a dragonfly and the two NICs sit on different switches of it.
  [[nodiscard]] std::vector<std::vector<LinkId>> alternative_routes(int source, int target,
                                                                    int channel,
                                                                    int most_detours = 4) const;
  [[nodiscard]] Routing routing() const { return routing_; }
  /// Maximum number of GPUs that data between two GPUs of a cluster node pass through along NVLinks
  /// rather than take a path through switches or hosts: 1 in NCCL (its NVB), no limit for the links
  /// of AMD's GPUs, which route by themselves. Data pass through GPUs in any number, over any
  /// links, if there is no other path in the node.
  [[nodiscard]] int max_relays() const { return max_relays_; }
  /// The network between the cluster nodes, if it is a dragonfly.
  [[nodiscard]] const std::optional<Dragonfly>& dragonfly() const { return dragonfly_; }

  /// True if the NICs of its GPUs can be chosen: it is a shipped fabric with option nic_binding.
  [[nodiscard]] bool bindable() const { return make_bound_ != nullptr; }
  /// This fabric with other NICs for its GPUs. Devices and links have the same numbers as here.
  /// Links that only the other binding needs have numbers above them; links that it does not need
  /// are on no route. Throws UserError unless bindable().
  [[nodiscard]] std::shared_ptr<const Fabric> bound(NicBinding binding) const;

  /// Sentences for the user about what the description of a machine left open, and what was assumed
  /// instead.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

  /// This fabric with only some of its GPUs as ranks, in the given order: the view of a
  /// communicator of these ranks. Devices and links have the same numbers as here, and routes
  /// between two GPUs are the same. Cluster nodes are numbered in the order in which the ranks
  /// mention them; those without a rank count no more (Node::server is -1 for their devices).
  /// `ranks`: different ranks of this fabric, at least one; else throws std::logic_error.
  [[nodiscard]] std::shared_ptr<const Fabric> with_ranks(std::span<const int> ranks) const;

  /// Byte-exact description for hashing: two fabrics with the same text give the same simulation.
  [[nodiscard]] std::string canonical_text() const;

 private:
  friend class FabricBuilder;
  struct NetworkWay;

  /// Number of a rank by which its routes take equally good paths in turn.
  [[nodiscard]] int turn_of(int rank) const {
    return full_rank_.empty() ? rank : full_rank_[static_cast<std::size_t>(rank)];
  }

  [[nodiscard]] std::vector<std::vector<LinkId>> ways_to_network(int rank, bool outwards) const;
  [[nodiscard]] std::optional<NetworkWay> network_way(int source, int target, int channel) const;

  std::string name_;
  std::string gpu_model_;
  HostTraits host_;
  NetworkKind network_ = NetworkKind::InfiniBand;
  std::string cost_model_;
  std::vector<Node> nodes_;
  std::vector<Link> links_;
  std::vector<NodeId> gpus_;
  std::vector<int>
      full_rank_;  ///< by rank: its rank in the full fabric, for routes; empty: the same
  std::vector<std::vector<LinkId>> links_out_;  ///< by node, ascending link id
  std::vector<std::vector<LinkId>> links_in_;   ///< by node, ascending link id
  int servers_ = 1;
  std::optional<Dragonfly> dragonfly_;
  Routing routing_ = Routing::Minimal;
  int max_relays_ = 0;
  std::vector<std::string> warnings_;
  /// Builds the fabric anew with a binding; empty: it has no choice of NICs.
  std::function<std::shared_ptr<const Fabric>(NicBinding)> make_bound_;
};

/// Collects nodes and links, checks them, and builds a Fabric.
class FabricBuilder {
 public:
  explicit FabricBuilder(std::string name);
  /// Starts with a copy of a fabric.
  explicit FabricBuilder(const Fabric& fabric);

  /// Sets the GPU model; throws UserError if it is unknown. If the model is a superchip
  /// (GpuModel::with_arm_cpu), this also sets the CPU.
  void set_gpu_model(std::string model);
  void set_host(const HostTraits& host) { fabric_->host_ = host; }
  [[nodiscard]] const HostTraits& host() const { return fabric_->host_; }
  void set_network(NetworkKind network) { fabric_->network_ = network; }
  void set_cost_model(std::string name) { fabric_->cost_model_ = std::move(name); }
  NodeId add_node(Node node);
  /// Adds one directed link. Throws UserError on a bad endpoint, latency < 0 or bandwidth <= 0.
  LinkId add_link(Link link);
  /// Adds the link and its twin in the other direction; returns the id of the first.
  LinkId add_duplex_link(const Link& link);
  /// Takes a link out of all routes; it keeps its number.
  void hide_link(LinkId link);
  /// Makes the fabric bindable: `make` builds it anew with a binding.
  void set_bindings(std::function<std::shared_ptr<const Fabric>(NicBinding)> make);
  /// Declares that these switches and links, already added, make a dragonfly. Throws
  /// std::logic_error if they do not.
  void set_dragonfly(const DragonflyShape& shape);
  /// Sets the routing of the dragonfly; the default is Minimal.
  void set_routing(Routing routing);
  /// Sets Fabric::max_relays(); the default is 0.
  void set_max_relays(int gpus);
  /// Sets Fabric::warnings().
  void set_warnings(std::vector<std::string> warnings) { fabric_->warnings_ = std::move(warnings); }
  /// Checks (names unique, >= 1 GPU, every GPU pair connected) and builds. Throws UserError.
  [[nodiscard]] std::shared_ptr<const Fabric> build();

 private:
  std::shared_ptr<Fabric> fabric_;
};

}  // namespace cclgym
