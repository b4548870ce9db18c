// A collective call of MPI with its buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mpi.h>
#include <string>
#include <vector>

namespace cclgym {

/// OpenMPI's name of a collective in its control variables, by our name: {"broadcast", "bcast"}.
[[nodiscard]] const std::map<std::string, std::string>& tuned_names();

struct MpiCall {
  std::string collective;  ///< our name
  std::uint64_t bytes =
      0;  ///< size of the larger of a rank's send and receive buffers (nccl-tests)
  int root = 0;
};

/// Reason why a call cannot be made on so many ranks; empty if it can.
[[nodiscard]] std::string refusal_of(const MpiCall& call, int ranks);

/// A rank's buffers for a call, and the call itself.
class MpiCollective {
 public:
  /// `comm` gives the rank and the number of ranks.
  MpiCollective(const MpiCall& call, MPI_Comm comm);

  /// Makes the call. The communicator has the same ranks in the same order.
  void call(MPI_Comm comm);
  /// True if the result of the last call is correct.
  [[nodiscard]] bool right() const;

 private:
  [[nodiscard]] float sum_at(std::size_t i) const;
  [[nodiscard]] float expected(std::size_t i, std::size_t part) const;

  MpiCall call_;
  int rank_ = 0;
  int ranks_ = 1;
  int whole_ = 0;
  int part_ = 0;
  std::vector<int> parts_;  ///< counts of MPI_Reduce_scatter, one per rank
  std::vector<float> send_;
  std::vector<float> receive_;
};

}  // namespace cclgym
