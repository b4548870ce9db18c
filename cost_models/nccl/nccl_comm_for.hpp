// The communicator that NCCL would make of all GPUs of a fabric.
#pragma once

#include "cost_models/nccl/nccl_comm.hpp"
#include "cost_models/nccl/nccl_version.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Follows NCCL's topology search, as far as fabrics of equal servers need it: the links that each
/// GPU has inside its server, the NICs of a server, and from them the most channels of the
/// bandwidths that the search tries (docs/cost-models.md). The maker of the CPU, which a fabric
/// does not say, is known for shipped fabrics by name; others count as Intel (GH200: Arm). Throws
/// UserError if the fabric's GPUs are not NVIDIA's or of no known model, or its servers differ.
[[nodiscard]] NcclComm nccl_comm_for(const Fabric& fabric, const NcclVersion& version);

}  // namespace cclgym
