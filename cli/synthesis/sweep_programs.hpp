// The sweep of synthesised programs that chooses the fastest for each size.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/synthesis/synthesis_files.hpp"
#include "collectives/contract.hpp"
#include "core/tasks/run_tasks.hpp"
#include "cost_models/cost_model.hpp"
#include "experiments/schedules/synthesis_sweep.hpp"
#include "sim/tuners/dispatch_table.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Algorithms to compare with: NCCL's choice where NCCL has one, the ring and naive.
[[nodiscard]] std::vector<std::string> rivals_of(CollectiveKind collective, const Fabric& fabric,
                                                 const CostModel& model);

/// 1 KiB to 1 GiB in steps of 4, as multiples of the ranks where a buffer has a slice per rank.
[[nodiscard]] std::string default_sizes(CollectiveKind collective, int ranks);

/// Names of the files in the folder of a synthesis that sweep_programs() writes.
[[nodiscard]] const std::vector<std::string>& sweep_files();

/// How and where the sweep runs.
struct SweepPlace {
  std::size_t jobs = 1;
  bool quiet = false;
  TaskPlace* place = nullptr;
  double peer_timeout_s = 60;
  TaskSet* sent = nullptr;  ///< the set that was shared for the cells; used if there is a place
};

/// The fastest programs by size.
struct SweptTable {
  DispatchTable table{};
  std::string text{};  ///< its ranges, for the terminal
};

/// Simulates the programs, whose files are in the folder, and their rivals over the sizes;
/// continues a sweep that was interrupted. `files` are those of the programs, by their names in the
/// folder.
[[nodiscard]] SweptTable sweep_programs(const SynthesisSweep& plan, const std::string& folder,
                                        const std::vector<NamedText>& files,
                                        const SweepPlace& where);

}  // namespace cclgym
