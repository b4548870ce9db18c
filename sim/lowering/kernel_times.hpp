// Times of the kernels of a simulated program.
#pragma once

#include <span>
#include <vector>

#include "sim/call/call.hpp"
#include "sim/lowering/lowering.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// The times of the kernels of a program with several. `end_s`: dates of LoweredProgram::rank_last;
/// `time_s`: date at which the call is done.
[[nodiscard]] std::vector<KernelTime> kernel_times(const LoweredProgram& lowered,
                                                   const Fabric& fabric,
                                                   std::span<const double> end_s, double time_s);

}  // namespace cclgym
