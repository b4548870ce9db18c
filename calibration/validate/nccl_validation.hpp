// Validation of a policy on NCCL: the plan of its measurements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibration/cuda/cell_table.hpp"
#include "calibration/measure/sweep.hpp"
#include "deploy/nccl_plugin/tuner_choices.hpp"
#include "experiments/measured/measured_file.hpp"

namespace cclgym {

/// Calls and configurations to compare.
struct NcclValidation {
  std::string system = "nccl";  ///< name of the system in the rows
  std::string config;           ///< distinguishes the run, e.g. "idle"
  /// Cells of calibrate (nccl_cells). Each collective and size is a call, and its cells with a
  /// named algorithm are the configurations to measure beside the policy's and NCCL's choice,
  /// unless `measured` has them.
  CellTable table;
  /// Rows of an earlier sweep on these ranks; empty: none.
  std::vector<Measurement> measured{};
  std::string measured_path{};
  double within = 1.3;  ///< max time of a configuration of `measured` relative to its best
};

/// Ranks and nodes that a worker of NCCL reports.
struct NcclShape {
  int ranks = 0;
  int nodes = 1;
};
/// Throws UserError if the environment has no valid number.
[[nodiscard]] NcclShape nccl_shape(const TextMap& environment);

/// The plan of the measurements, in blocks of one call and round (interleaved_plan). The columns
/// are those of calibrate with the column config, round and role. The policy's choice is the
/// algorithm "policy": the plugin decides in the job, as it does when it is deployed. If `choices`
/// leave the call to NCCL, the default has the roles of both. With `measured`, the configurations
/// of a call are those within the factor of its fastest one, which has the role swept; a call
/// without rows has none. Throws UserError if `measured` has no row of these ranks and nodes, or if
/// `choices` leave every call to NCCL.
[[nodiscard]] SweepPlan nccl_validation_plan(const NcclValidation& wanted,
                                             const TextMap& environment,
                                             const TunerChoices& choices, int rounds);

/// Max number of different configurations that a plan can have, each of which needs a communicator.
[[nodiscard]] std::size_t most_nccl_configs(const NcclValidation& wanted);

}  // namespace cclgym
