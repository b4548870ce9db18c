// Call, Config and Result: the three types that the gym, the baselines, the experiments, the
// calibration and the deployed plugin share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/contract.hpp"
#include "cost_models/cost_model.hpp"

namespace cclgym {

/// One collective call of a job.
struct Call {
  CollectiveKind collective = CollectiveKind::AllReduce;
  /// Collective size as nccl-tests defines it: the larger of a rank's send and receive buffers,
  /// bytes. Positive.
  std::uint64_t bytes = 0;
  int root = 0;  ///< root rank, for rooted collectives
};

inline constexpr int kMostSlots = 8;  ///< NCCL_STEPS

/// Configuration of the call: the choice of a tuner.
struct Config {
  std::string algorithm = "ring";  ///< name in the algorithm library
  Protocol protocol = Protocol::Simple;
  int channels = 1;
  /// Copies of the program (MSCCL's parallelisation). Each copy moves its part of every chunk on
  /// channels of its own, so the program has channels * instances channels.
  int instances = 1;
  int threads = 512;  ///< threads per thread block
  /// Maximum payload of a tile, B; 0 if chunks are not divided into tiles.
  std::uint64_t tile_bytes = 0;
  /// Messages that a connection's FIFO holds, 1 to kMostSlots; 0 if it holds any number.
  int slots = 0;

  friend bool operator==(const Config&, const Config&) = default;
};

/// Part of a call that one kernel of its program carries out on all ranks.
struct KernelTime {
  /// Date at which the last rank starts it, apart from ranks that wait for a gate, s.
  double start_s = 0;
  /// Time until the next kernel starts, or until the call is done, s.
  double time_s = 0;
  bool across_nodes = false;  ///< true if it has messages between nodes
};

/// Outcome of a call.
struct Result {
  double time_s = 0;                 ///< time from the call to the last rank's last instruction, s
  double algbw_Bps = 0;              ///< bytes / time (nccl-tests)
  double busbw_Bps = 0;              ///< algbw times the collective's bus factor (nccl-tests)
  std::vector<double> rank_time_s;   ///< completion date by rank, s
  int steps = 0;                     ///< transfers on the longest chain of dependent transfers
  std::int64_t flows = 0;            ///< total number of transfers
  std::vector<KernelTime> kernels;   ///< by kernel; empty if the program has only one
  std::int32_t tiles = 1;            ///< tiles per chunk
  std::int32_t simulated_tiles = 1;  ///< if fewer than `tiles`, dates are extrapolated from these
  /// Bound on the error of extrapolated dates, s; 0 if every tile was simulated. If the tiles never
  /// repeat exactly (`periodic` is false), it is an estimate, not a bound.
  double tile_error_s = 0;
  bool periodic = true;
};

}  // namespace cclgym
