// A communicator as NCCL sees it when it chooses: the result of its topology search.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cclgym {

/// The collectives that NCCL tunes, in its own order. (AllToAll, Gather, Scatter and AllToNext run
/// as grouped sends and receives: nccl_p2p.hpp.)
enum class NcclCollective : std::uint8_t { Broadcast, Reduce, AllGather, ReduceScatter, AllReduce };
inline constexpr std::size_t kNcclCollectives = 5;
[[nodiscard]] std::string_view to_string(NcclCollective collective);  ///< "allreduce"

/// NCCL's algorithms, in its own order: if two have the same predicted time, NCCL chooses the
/// first. CollNetDirect also stands for the only CollNet algorithm of NCCL 2.8.4.
enum class NcclAlgorithm : std::uint8_t {
  Tree,
  Ring,
  CollNetDirect,
  CollNetChain,
  Nvls,
  NvlsTree,
  Pat
};
inline constexpr std::size_t kNcclAlgorithms = 7;
[[nodiscard]] std::string_view to_string(
    NcclAlgorithm algorithm);  ///< NCCL's name, "CollNetDirect"

/// A set of algorithms, by index.
using NcclAlgorithmSet = std::bitset<kNcclAlgorithms>;
inline constexpr NcclAlgorithmSet kAllNcclAlgorithms{(1u << kNcclAlgorithms) - 1};

enum class NcclLink : std::uint8_t { NvLink, Pcie };

/// Result of the search for one algorithm, before the channels are doubled.
struct NcclGraph {
  int channels = 0;                  ///< >= 1
  double intra_Bps = 0;              ///< bandwidth of a channel inside a node, B/s
  double inter_Bps = 0;              ///< bandwidth of a channel between nodes, B/s
  NcclLink link = NcclLink::NvLink;  ///< slowest kind of link inside a node
  double inter_latency_s = 0;        ///< latency that the network plugin states, s
  bool same_channels = true;         ///< all channels have the GPUs in the same order
};

enum class NcclCpu : std::uint8_t { Intel, Amd, Arm, Mixed };

/// A communicator. `graphs` has the algorithms that the topology supports.
struct NcclComm {
  int ranks = 2;                ///< >= 2
  int nodes = 1;                ///< 1 to ranks
  int compute_capability = 80;  ///< minimum over all GPUs: 70, 80, 90, 100, …
  NcclCpu cpu = NcclCpu::Intel;
  std::array<std::optional<NcclGraph>, kNcclAlgorithms> graphs;  ///< index: NcclAlgorithm
  int channels = 1;        ///< channels of the communicator, after doubling
  int nvls_channels = 16;  ///< channels of NVLS and NVLSTree
  /// True if NCCL trusts 128-byte stores on every connection (NVLink inside a node, at most PCIe
  /// switches between GPU and NIC, a single compute capability).
  bool ll128 = true;
  bool plain_tree = false;  ///< trees enter and leave a node at one GPU (NCCL: pattern TREE)
  bool nvswitch = false;
  bool collnet = false;     ///< the network can reduce, and NCCL may use it
  int heads = 1;            ///< number of GPUs through which NVLS and CollNet enter a node
  double nic_Bps = 0;       ///< bandwidth of the NIC that a GPU sends through, B/s; 0: unknown
  int nvlinks_to_peer = 1;  ///< minimum number of NVLinks from a GPU to a peer; 0: none
  bool all_nvlink = false;  ///< NVLinks connect every two GPUs of a node, directly or by NVSwitches

  [[nodiscard]] const std::optional<NcclGraph>& graph(NcclAlgorithm algorithm) const {
    return graphs[static_cast<std::size_t>(algorithm)];
  }
  [[nodiscard]] double ranks_per_node() const { return static_cast<double>(ranks) / nodes; }
};

/// Throws UserError if a number is out of range or there is no ring.
void check(const NcclComm& comm);

}  // namespace cclgym
