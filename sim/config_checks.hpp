// Checks of calls and configurations that the simulator shares with config_checks.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/compiler/resident_blocks.hpp"
#include "collectives/library/algorithm_library.hpp"
#include "cost_models/cost_model.hpp"
#include "sim/call/call.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// True if the number of thread blocks that a GPU can run at once is limited.
[[nodiscard]] bool limits_blocks(const CostModel& model);

/// Throws UserError unless all blocks of a program, with `threads` threads each, can be resident at
/// once.
void require_resident(const ProgramOutline& program, const CostModel& model, int threads);

/// Request for the algorithm's program from the library.
[[nodiscard]] AlgorithmRequest request_of(const AlgorithmEntry& algorithm, const Call& call,
                                          const Config& config, const Fabric& fabric,
                                          const CostModel& model,
                                          const std::vector<std::vector<int>>& rings);

/// Thread blocks of a program on a GPU, which take long to count.
struct KnownBlocks {
  std::optional<std::int64_t> joined{};  ///< result of thread_blocks_per_gpu, for one instance
  /// Blocks as compiled with `instances` instances.
  std::optional<ResidentBlocks> compiled{};
  int instances = 0;
};
/// As check_resident() in sim/simulator.hpp, for several configurations of one program on the same
/// channels that differ in instances, in threads, or in protocols with several slots: counts only
/// what is not known yet.
[[nodiscard]] std::string check_resident(const AlgorithmLibrary& library, const Call& call,
                                         const Config& config, const Fabric& fabric,
                                         const CostModel& cost_model, KnownBlocks& known);

}  // namespace cclgym
