// The name and options with which a user selects a fabric.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/options/option.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// NICs that the GPUs of a node use.
enum class NicBinding : std::uint8_t {
  PcieLocal,      ///< the NICs nearest to the GPU in its node
  RoundRobin,     ///< GPU k of a node with n NICs uses NIC k mod n
  TopologyAware,  ///< each GPU uses the NIC with the fewest GPUs among those nearest to it
  SingleNic,      ///< all GPUs send by the last NIC and receive by the first: a bug of Cray MPICH
};

[[nodiscard]] std::string_view to_string(NicBinding binding);

/// A fabric and the options that a user sets. An option that is not given takes the fabric's
/// default; an option that the fabric does not have is an error. The options are bound to their
/// keys in servers/fabric_fields.cpp.
struct FabricSpec {
  std::string name{};            ///< a shipped fabric, or the path of a file
  std::optional<int> servers{};  ///< number of nodes; every fabric accepts 1
  std::optional<int> gpus{};
  std::optional<double> bandwidth_Bps{};  ///< bandwidth of one link unit in one direction, B/s
  std::optional<double> latency_s{};      ///< latency of one traversal of a link, s
  std::optional<int> gpus_per_server{};   ///< number of GPUs of each node that are used
  std::optional<NicBinding> nic_binding{};
  std::optional<double> oversubscription{};  ///< ratio at the leaf switches of a fat tree, >= 1
  std::optional<int> servers_per_leaf{};     ///< nodes under one leaf of a fat tree
  /// True: a leaf switch serves one rail (NIC k of each of its nodes), not all NICs of its nodes.
  std::optional<bool> rails{};
  std::optional<std::string> shape{};  ///< GPUs by dimension of a torus: "4x4x2"
  std::optional<int> groups{};       ///< dragonfly groups that hold the nodes; 0: as few as needed
  std::optional<Routing> routing{};  ///< routing in a dragonfly
  std::optional<bool> nvls{};        ///< true: NVSwitches may copy and add
  std::optional<bool> sharp{};       ///< true: network switches may copy and add
  /// True: a GPU forwards data between GPUs without a common NVLink; false: PCIe and hosts do.
  std::optional<bool> nvb{};
  /// True: NCCL's rings may leave a node by another NIC than that by which they entered.
  std::optional<bool> cross_nic{};
  /// Links, NICs, switches and GPUs that are left out (fabric_without). Every fabric has it.
  std::optional<std::string> without{};
};

/// Value of every option of FabricSpec: the given value, otherwise the fabric's default, or the
/// neutral value below if the fabric does not have the option.
struct FabricParameters {
  int servers = 1;
  int gpus = 0;
  double bandwidth_Bps = 0;
  double latency_s = 0;
  bool latency_stated = false;  ///< true: the user gave the latency
  int gpus_per_server = 0;
  NicBinding nic_binding = NicBinding::PcieLocal;
  double oversubscription = 1;
  int servers_per_leaf = 1;
  bool rails = false;
  std::string shape{};
  int groups = 0;
  Routing routing = Routing::Minimal;
  bool nvls = false;
  bool sharp = false;
  bool nvb = true;
  bool cross_nic = true;
  std::string without{};
};

/// A number or an arrangement that a shipped fabric is built from, and who published it.
struct FabricFact {
  std::string fact;
  std::string source;  ///< publication, or the reason for a choice if nothing is published
};

/// A shipped fabric, for `list` and `describe`.
struct FabricInfo {
  std::string name;
  std::string description;          ///< one line
  std::vector<OptionSpec> options;  ///< the options of this fabric, with its bounds and defaults
  std::vector<FabricFact> facts{};
  /// Hosts of one node: more than one where trays share an NVLink domain.
  int trays = 1;
  /// False: measured times of such GPUs are not taken for this machine unless its name is given,
  /// because another fabric has the same nodes or nodes of such GPUs differ.
  bool typical = true;

  /// Number of nodes that have this number of hosts, the last one perhaps with fewer.
  [[nodiscard]] int nodes_of(int hosts) const { return (hosts + trays - 1) / trays; }
};

}  // namespace cclgym
