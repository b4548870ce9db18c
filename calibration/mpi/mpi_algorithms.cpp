#include "calibration/mpi/mpi_algorithms.hpp"

#include <stdexcept>

namespace cclgym {

ForcedCommunicators::ForcedCommunicators(MPI_Comm base) : base_(base) {
  int provided = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) {
    throw std::runtime_error("MPI_T does not start");
  }
}

ForcedCommunicators::~ForcedCommunicators() {
  for (auto& [forced, comm] : made_) MPI_Comm_free(&comm);
  for (auto& [name, handle] : handles_) MPI_T_cvar_handle_free(&handle);
  MPI_T_finalize();
}

void ForcedCommunicators::set(const std::string& variable, int value) {
  auto found = handles_.find(variable);
  if (found == handles_.end()) {
    int index = 0;
    if (MPI_T_cvar_get_index(variable.c_str(), &index) != MPI_SUCCESS) {
      throw std::runtime_error("this MPI has no control variable '" + variable + "'");
    }
    MPI_T_cvar_handle handle = nullptr;
    int count = 0;
    if (MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS || count != 1) {
      throw std::runtime_error("the control variable '" + variable + "' is not accessible");
    }
    found = handles_.emplace(variable, handle).first;
  }
  if (MPI_T_cvar_write(found->second, &value) != MPI_SUCCESS) {
    throw std::runtime_error("the control variable '" + variable + "' cannot be set to " +
                             std::to_string(value));
  }
}

MPI_Comm ForcedCommunicators::communicator(const ForcedAlgorithm& forced) {
  if (const auto found = made_.find(forced); found != made_.end()) return found->second;
  const std::string stem = "coll_tuned_" + forced.collective + "_algorithm";
  set(stem, forced.algorithm);
  set(stem + "_segmentsize", forced.segment_bytes);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(base_, &comm);
  // Otherwise a communicator for another collective would inherit this choice.
  set(stem, 0);
  set(stem + "_segmentsize", 0);
  made_.emplace(forced, comm);
  return comm;
}

}  // namespace cclgym
