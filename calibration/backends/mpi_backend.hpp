// The backend `mpi`: OpenMPI's collectives, each of its algorithms and its own choice, on whatever
// network a launcher reaches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibration/measure/sweep.hpp"
#include "collectives/contract.hpp"

namespace cclgym {

/// What OpenMPI's own choice is called in the column `algorithm`.
inline constexpr std::string_view kMpiDefault = "openmpi-default";

struct MpiSweep {
  std::string system = "mpi";               ///< what the rows call the machine
  std::string config;                       ///< what distinguishes the run, e.g. "idle"
  std::vector<CollectiveKind> collectives;  ///< empty: all that OpenMPI has algorithms for
  std::vector<std::uint64_t> sizes;         ///< as nccl-tests count, B
  std::vector<std::uint64_t> segments;      ///< B, on top of none; of the algorithms that take them
  std::vector<std::string> algorithms;      ///< of the library, or kMpiDefault; empty: all
};

/// One way in which OpenMPI can carry out a collective.
struct MpiConfig {
  std::string algorithm;  ///< of the library, or kMpiDefault
  int number = 0;         ///< OpenMPI's; 0: its own choice
  std::uint64_t segment_bytes = 0;
  friend bool operator==(const MpiConfig&, const MpiConfig&) = default;
};

/// All that the sweep asks for of a call: OpenMPI's choice first, each algorithm whole, then in
/// segments smaller than the call.
[[nodiscard]] std::vector<MpiConfig> mpi_configs(const MpiSweep& sweep, CollectiveKind collective,
                                                 std::uint64_t bytes);

/// The columns of the backend's rows: system, ranks, nodes, config, collective, size_bytes,
/// algorithm, segment_bytes, openmpi_algorithm.
[[nodiscard]] const std::vector<std::string>& mpi_columns();
/// A cell in that order.
[[nodiscard]] std::vector<std::string> mpi_cell(const MpiSweep& sweep, const TextMap& environment,
                                                CollectiveKind collective, std::uint64_t bytes,
                                                const MpiConfig& config);

/// `launch`: what starts the worker on the ranks, e.g. {"mpirun", "-n", "4"}; its own words follow.
/// Throws UserError if this build has no worker.
[[nodiscard]] MeasurementBackend mpi_backend(const MpiSweep& sweep,
                                             const std::vector<std::string>& launch);

/// The worker beside this program. Throws UserError "…: install …" if it was not built.
[[nodiscard]] std::string worker_program(const std::string& name, const std::string& needs);

}  // namespace cclgym
