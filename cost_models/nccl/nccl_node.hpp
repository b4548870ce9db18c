// Links and NICs of a node of a fabric, as NCCL's topology search counts them.
#pragma once

#include <vector>

#include "cost_models/nccl/nccl_version.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Links of a GPU and NICs of its node, as NCCL counts them.
struct NcclNode {
  std::vector<int> nvlinks;  ///< NVLinks of a GPU by neighbour; all switches form one neighbour
  bool nvswitch = false;     ///< the NVLinks lead to NVSwitches
  bool nvls = false;         ///< the NVSwitches can copy and reduce
  std::vector<double>
      nics_GBps;  ///< NICs that the communicator uses, each limited by its PCIe path
  /// True if the NICs sit behind PCIe switches shared with GPUs, not at the CPU: NCCL trusts LL128
  /// only there.
  bool nics_at_switches = false;
  /// Ordered pairs of the CPUs of the node, if a ring must leave by the NIC by which it entered and
  /// every GPU has a CPU and a NIC of its own: the ring's last GPU reaches the NIC of the first
  /// from CPU to CPU. 0: no such limit.
  int cpu_pairs = 0;
  double cpu_pair_GBps = 0;  ///< NCCL's figure for the link between two CPUs, in one direction
  double pcie_GBps = 12;     ///< PCIe link of a GPU; Gen3 x16 if the fabric has no PCIe links
};

/// Reads the first node, whose GPUs have this compute capability (times 10). A communicator of
/// fewer GPUs per node than the node has NICs uses the NICs near its GPUs, others use all.
[[nodiscard]] NcclNode nccl_node(const Fabric& fabric, int compute_capability);

/// NCCL's figure for one NVLink in one direction, GB/s (src/graph/topo.h of the release).
[[nodiscard]] double nvlink_GBps(const NcclVersion& version, int compute_capability);

}  // namespace cclgym
