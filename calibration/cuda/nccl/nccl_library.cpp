#include "calibration/cuda/nccl/nccl_library.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <stdexcept>

#include "core/error.hpp"

namespace cclgym {

namespace {

template <class Function>
void find(void* handle, const std::string& path, const char* name, Function*& function) {
  void* symbol = ::dlsym(handle, name);
  if (symbol == nullptr) {
    throw UserError(
        fmt::format("{}: no function {}; expected libnccl of release 2.21 or newer", path, name));
  }
  function = reinterpret_cast<Function*>(symbol);
}

}  // namespace

NcclLibrary::NcclLibrary(const std::string& file) : path(file) {
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw UserError(fmt::format("cannot open NCCL: {}", ::dlerror()));
  find(handle, path, "ncclGetVersion", get_version);
  find(handle, path, "ncclGetUniqueId", get_unique_id);
  find(handle, path, "ncclCommInitRankConfig", comm_init_rank_config);
  find(handle, path, "ncclCommDestroy", comm_destroy);
  find(handle, path, "ncclCommGetAsyncError", comm_get_async_error);
  find(handle, path, "ncclGetErrorString", get_error_string);
  find(handle, path, "ncclGetLastError", get_last_error);
  find(handle, path, "ncclAllReduce", all_reduce);
  find(handle, path, "ncclAllGather", all_gather);
  find(handle, path, "ncclReduceScatter", reduce_scatter);
  find(handle, path, "ncclBroadcast", broadcast);
  find(handle, path, "ncclReduce", reduce);
  int number = 0;
  check(get_version(&number), "ncclGetVersion");
  version = {number / 10000, number % 10000 / 100, number % 100};
}

void NcclLibrary::check(ncclResult_t result, const char* what) const {
  if (result == ncclSuccess) return;
  const char* last = get_last_error(nullptr);
  throw std::runtime_error(fmt::format("{}: {}{}{}", what, get_error_string(result),
                                       last == nullptr || *last == '\0' ? "" : ": ",
                                       last == nullptr ? "" : last));
}

}  // namespace cclgym
