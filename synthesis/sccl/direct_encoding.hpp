// The encoding that SCCL tried first (section 6): a Boolean for every chunk, hop and step.
#pragma once

#include "synthesis/sccl/solve_steps.hpp"

namespace cclgym::synthesis {

/// Like solve_steps, but with a plain formula: a variable for each chunk, rank and step and for
/// each chunk, hop and step, without pruning by distance, order of equal chunks, unique arrivals or
/// symmetry. It is there for comparison: the answers agree. Only the deadline and the seed of the
/// options are used.
[[nodiscard]] StepAnswer solve_steps_directly(const Instance& instance, const Demand& demand,
                                              int steps, int rounds,
                                              const StepSearchOptions& options = {});

}  // namespace cclgym::synthesis
