// Hosts that no message of a program passes through, although routes may.
#pragma once

#include <vector>

#include "topology_models/fabric.hpp"

namespace cclgym {

/// By node: the number of a GPU's home, a server (or the part of it that links join without NICs)
/// whose GPUs reach each other without NICs (Fabric::route); -1 for other nodes.
[[nodiscard]] std::vector<int> gpu_homes(const Fabric& fabric);

/// By node: true for hosts, if GPUs reach each other without them. A message through the memory of
/// hosts is the last resort of NCCL (SHM); programs are made for the other links, as SCCL's are
/// (section 2.1: PCIe is ignored). False everywhere if some GPUs, or some
/// of one home without NICs, meet only through hosts.
[[nodiscard]] std::vector<char> avoided_hosts(const Fabric& fabric);

/// avoided_hosts(), and PCIe switches that no route without these hosts uses: those that join
/// avoided hosts with GPUs that all have direct links to each other, or a relay.
[[nodiscard]] std::vector<char> avoided_nodes(const Fabric& fabric);

/// True if the route passes through no GPU and no node of `avoided`: a step of a program.
[[nodiscard]] bool is_one_step(const Fabric& fabric, const std::vector<char>& avoided,
                               const std::vector<LinkId>& route);

}  // namespace cclgym
