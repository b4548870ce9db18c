// Programs of schedules and trees, compiled, verified and audited.
#pragma once

#include <memory>
#include <string>

#include "synthesis/strategies/synthesized_program.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym::synthesis {

/// Collective of a program that is to be made.
struct ProgramRequest {
  std::string name = "synthesised";
  CollectiveKind collective = CollectiveKind::AllGather;
  int root = 0;
  std::vector<int> group{};  ///< participating ranks, ascending; empty: all
  int max_channels = 32;     ///< 32 is the limit of MSCCL XML
  std::string optimal{};     ///< SynthesizedProgram::optimal
  int instances = 1;         ///< copies of the program, each with its part of every chunk
  bool fuse = true;          ///< lowered_compile_options: false under cost model hockney
};

/// Program of step schedules with `chunks` chunks per rank or pair (make_demand). Throws UserError
/// if the schedules are wrong, std::logic_error if the program differs from the plan: a load of a
/// link, or the result (verify).
[[nodiscard]] SynthesizedProgram make_step_program(const Fabric& fabric, StepPlan plan, int chunks,
                                                   const ProgramRequest& request);

/// Program of trees. Throws as make_step_program does.
[[nodiscard]] SynthesizedProgram make_tree_program(const Fabric& fabric, TreePlan plan,
                                                   const ProgramRequest& request);

/// Program of an AllToAll along the paths `plan.outward` (rounded_paths) with `parts` parts per
/// pair. Throws as make_step_program does.
[[nodiscard]] SynthesizedProgram make_path_program(const Fabric& fabric, TreePlan plan, int parts,
                                                   const ProgramRequest& request);

}  // namespace cclgym::synthesis
