// NCCL's kernels for symmetric memory (2.27 and newer) and NCCL's choice among them. NCCL uses
// them for buffers that are registered in symmetric windows (ncclCommWindowRegister with
// NCCL_WIN_COLL_SYMMETRIC) on one node. docs/cost-models.md describes the model and its checks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "cost_models/nccl/nccl_comm.hpp"
#include "cost_models/nccl/nccl_version.hpp"

namespace cclgym {

/// How a kernel moves data, in NCCL's order of kernels: of equal estimates, NCCL takes the first.
enum class SymmetricAccess : std::uint8_t {
  Lines,             ///< lines of LL to every peer
  SwitchedLines,     ///< lines of LL that the switches copy
  LoadStore,         ///< loads and stores
  SwitchedLoadStore  ///< loads that the switches add, stores that they copy
};
[[nodiscard]] const std::array<SymmetricAccess, 4>& all_symmetric_accesses();

/// NCCL's name of the kernel, "AllReduce_AGxLLMC_R"; empty if there is none.
[[nodiscard]] std::string_view symmetric_kernel_name(NcclCollective collective,
                                                     SymmetricAccess access);

/// NCCL's choice for a call.
struct SymmetricChoice {
  SymmetricAccess access = SymmetricAccess::Lines;
  int blocks = 1;          ///< thread blocks that NCCL picks
  int channels = 1;        ///< blocks that get data
  double predicted_s = 0;  ///< NCCL's estimate, s

  friend bool operator==(const SymmetricChoice&, const SymmetricChoice&) = default;
};

inline constexpr int kSymmetricThreads = 512;  ///< threads of a block
inline constexpr NcclVersion kFirstSymmetric{2, 27, 0};

/// True if NCCL uses the kernels in this communicator: one node, all of whose GPUs are connected by
/// NVLink to each other, and a release from 2.27 on.
[[nodiscard]] bool uses_symmetric_memory(const NcclVersion& version, const NcclComm& comm);

/// NCCL's choice for one sum of 2-byte or 4-byte floating-point numbers (no other call of the same
/// group), or for an AllGather, of `bytes` bytes (the larger of a rank's send and receive buffer).
/// nullopt if NCCL has no kernel: its other algorithms carry out the call.
[[nodiscard]] std::optional<SymmetricChoice> choose_symmetric(const NcclVersion& version,
                                                              const NcclComm& comm,
                                                              NcclCollective collective,
                                                              std::uint64_t bytes);

/// Rate at which a thread block of these kernels loads from its peers or stores to them, without
/// lines of LL, B/s: the rate of one SM in NCCL's estimates.
[[nodiscard]] double symmetric_block_rate_Bps(int compute_capability);

}  // namespace cclgym
