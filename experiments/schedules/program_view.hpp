// Synthesised programs as data of pictures.
#pragma once

#include "experiments/schedules/schedule_view.hpp"
#include "synthesis/strategies/synthesized_program.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// View of a program on its fabric: facts, steps (of trees: the levels of the trees of one rank)
/// and the loads of links.
[[nodiscard]] ScheduleView view_of(const synthesis::SynthesizedProgram& program,
                                   const Fabric& fabric);

}  // namespace cclgym
