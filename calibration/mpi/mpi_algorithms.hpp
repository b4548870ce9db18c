// Forces OpenMPI's choice of algorithm through the control variables of MPI_T.
#pragma once

#include <map>
#include <mpi.h>
#include <string>
#include <utility>

namespace cclgym {

/// An algorithm of OpenMPI's component `tuned`, with MPI_T's name of the collective: "allreduce",
/// "bcast", …
struct ForcedAlgorithm {
  std::string collective;
  int algorithm = 0;      ///< OpenMPI's number; 0: its own choice
  int segment_bytes = 0;  ///< 0: no segments
  friend auto operator<=>(const ForcedAlgorithm&, const ForcedAlgorithm&) = default;
};

/// Communicators that run a collective with a forced algorithm. OpenMPI reads the forced algorithm
/// when a communicator is made, so one communicator is kept per algorithm. Every rank must request
/// the same algorithms in the same order. Needs the MCA parameter coll_tuned_use_dynamic_rules to
/// be true from the start.
class ForcedCommunicators {
 public:
  /// Makes copies of `base`. Throws std::runtime_error if MPI_T does not start.
  explicit ForcedCommunicators(MPI_Comm base);
  ~ForcedCommunicators();
  ForcedCommunicators(const ForcedCommunicators&) = delete;
  ForcedCommunicators& operator=(const ForcedCommunicators&) = delete;

  /// Throws std::runtime_error if this MPI does not have the variable, or does not let it be set.
  [[nodiscard]] MPI_Comm communicator(const ForcedAlgorithm& forced);

 private:
  void set(const std::string& variable, int value);

  MPI_Comm base_;
  std::map<ForcedAlgorithm, MPI_Comm> made_;
  std::map<std::string, MPI_T_cvar_handle> handles_;
};

}  // namespace cclgym
