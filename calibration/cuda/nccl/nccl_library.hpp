// libnccl, opened when a measurement starts, with one copy for each rank that needs its own.
#pragma once

#include <memory>
#include <nccl.h>
#include <string>

#include "cost_models/nccl/nccl_version.hpp"

namespace cclgym {

/// The functions of one copy of the library. Stays open until the program ends, because threads
/// started by NCCL may run in it.
struct NcclLibrary {
  /// Throws UserError if the file cannot be opened or is not NCCL. Copies of the file opened
  /// through different paths share no state.
  explicit NcclLibrary(const std::string& path);

  /// Throws std::runtime_error "WHAT: …" with NCCL's own message unless the call succeeded.
  void check(ncclResult_t result, const char* what) const;

  std::string path;
  NcclVersion version{};

  // Types as declared in nccl.h.
  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRankConfig) comm_init_rank_config = nullptr;
  decltype(&ncclCommDestroy) comm_destroy = nullptr;
  decltype(&ncclCommGetAsyncError) comm_get_async_error = nullptr;
  decltype(&ncclGetErrorString) get_error_string = nullptr;
  decltype(&ncclGetLastError) get_last_error = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclAllGather) all_gather = nullptr;
  decltype(&ncclReduceScatter) reduce_scatter = nullptr;
  decltype(&ncclBroadcast) broadcast = nullptr;
  decltype(&ncclReduce) reduce = nullptr;
};

}  // namespace cclgym
