// The backend `mpi`: OpenMPI's collectives with each of its algorithms and with its own choice, on
// any network that a launcher reaches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibration/measure/sweep.hpp"
#include "collectives/contract.hpp"

namespace cclgym {

/// Name of OpenMPI's own choice in the column `algorithm`.
inline constexpr std::string_view kMpiDefault = "openmpi-default";

struct MpiSweep {
  std::string system = "mpi";               ///< name of the system in the rows
  std::string config;                       ///< distinguishes the run, e.g. "idle"
  std::vector<CollectiveKind> collectives;  ///< empty: all for which OpenMPI has algorithms
  std::vector<std::uint64_t> sizes;         ///< as counted by nccl-tests, B
  std::vector<std::uint64_t> segments;  ///< B; in addition to no segments, for algorithms that take
                                        ///< segments
  std::vector<std::string> algorithms;  ///< the library's names, or kMpiDefault; empty: all
};

/// One configuration of OpenMPI for a collective.
struct MpiConfig {
  std::string algorithm;  ///< the library's name, or kMpiDefault
  int number = 0;         ///< OpenMPI's number; 0: its own choice
  std::uint64_t segment_bytes = 0;
  friend bool operator==(const MpiConfig&, const MpiConfig&) = default;
};

/// "ring in 32KiB", or the algorithm alone without segments.
[[nodiscard]] std::string mpi_config_text(const std::string& algorithm,
                                          std::uint64_t segment_bytes);

/// All configurations of the sweep for a call: OpenMPI's choice first, then each algorithm without
/// segments and with segments smaller than the call.
[[nodiscard]] std::vector<MpiConfig> mpi_configs(const MpiSweep& sweep, CollectiveKind collective,
                                                 std::uint64_t bytes);

/// The columns of the backend's rows: system, ranks, nodes, config, collective, size_bytes,
/// algorithm, segment_bytes, openmpi_algorithm.
[[nodiscard]] const std::vector<std::string>& mpi_columns();
/// The fields of a cell in the order of mpi_columns.
[[nodiscard]] std::vector<std::string> mpi_cell(const MpiSweep& sweep, const TextMap& environment,
                                                CollectiveKind collective, std::uint64_t bytes,
                                                const MpiConfig& config);

/// `launch`: the launcher that starts the worker on the ranks, e.g. {"mpirun", "-n", "4"}; the
/// worker's command follows. Throws UserError if this build has no worker.
[[nodiscard]] MeasurementBackend mpi_backend(const MpiSweep& sweep,
                                             const std::vector<std::string>& launch);

/// Path of the worker beside this program. Throws UserError "…: install …" if it was not built.
[[nodiscard]] std::string worker_program(const std::string& name, const std::string& needs);

}  // namespace cclgym
