// Constants of NCCL's own cost model, from 2.23 on. A tuner plugin may change them in 2.28 and
// newer.
#pragma once

#include <array>
#include <cstddef>

#include "cost_models/nccl/nccl_comm.hpp"
#include "cost_models/nccl/nccl_version.hpp"

namespace cclgym {

/// Constants in NCCL's units (us and GB/s) and order: protocols LL, LL128, Simple; links NVLink,
/// PCIe, network; GPUs Volta, Ampere, Hopper, Blackwell; 1, 2, more nodes.
struct NcclConstants {
  using ByProtocol = std::array<double, 3>;
  using ByAlgorithm = std::array<ByProtocol, kNcclAlgorithms>;
  using ByNodes = std::array<double, 3>;
  using ByGpu = std::array<ByNodes, 4>;

  ByAlgorithm base_us;
  std::array<ByAlgorithm, 3> hardware_us;
  ByGpu ll_most_GBps;  ///< LL; on several nodes, row Ampere for AMD or mixed CPUs, else row Volta
  // Maximum bandwidth per channel.
  ByGpu ring_ll128_GBps;
  ByGpu tree_ll128_GBps;
  ByGpu tree_GBps;
  ByGpu nvls_tree_GBps;
};

/// Constants of a release, which is 2.23 or newer.
[[nodiscard]] NcclConstants nccl_constants(const NcclVersion& version);

/// Place of a communicator in the tables: row of ll_most_GBps, row of the other tables by GPU, and
/// column.
struct NcclConstantsPlace {
  std::size_t ll_row = 0;
  std::size_t gpu_row = 0;
  std::size_t column = 0;
};
[[nodiscard]] NcclConstantsPlace nccl_constants_place(const NcclVersion& version,
                                                      const NcclComm& comm);

}  // namespace cclgym
