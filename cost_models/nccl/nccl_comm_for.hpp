// The communicator that NCCL would make from all GPUs of a fabric.
#pragma once

#include "cost_models/nccl/nccl_comm.hpp"
#include "cost_models/nccl/nccl_version.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Follows NCCL's topology search as far as fabrics of equal nodes need it: from the links of each
/// GPU inside its node and the NICs of a node, it derives the maximum number of channels for each
/// bandwidth that the search tries (docs/cost-models.md, "What it reads from a fabric"). A fabric
/// does not state the CPU vendor: shipped fabrics are known by name, and others are assumed to have
/// Intel CPUs (GH200: Arm). Throws UserError if the GPUs are not NVIDIA's or have no known model,
/// or if the nodes differ.
[[nodiscard]] NcclComm nccl_comm_for(const Fabric& fabric, const NcclVersion& version);
/// The communicator of the GPUs of one node of the fabric. Throws UserError also if a node has a
/// single GPU.
[[nodiscard]] NcclComm nccl_comm_of_node(const Fabric& fabric, const NcclVersion& version);

}  // namespace cclgym
