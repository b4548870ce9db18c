// Loads of links by the messages of a program, compared with the plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/ir.hpp"
#include "collectives/program.hpp"
#include "synthesis/flow_graph.hpp"
#include "synthesis/instance.hpp"
#include "synthesis/step_schedule.hpp"
#include "synthesis/tree_packing.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym::synthesis {

/// Chunks that the messages of a program send over each link of a fabric, by LinkId, in whole
/// numbers: every message takes Fabric::route. Messages of one group load a link once. Throws
/// UserError if the program has other ranks than the fabric.
[[nodiscard]] std::vector<std::int64_t> link_loads(const Program& program, const Fabric& fabric);
[[nodiscard]] std::vector<std::int64_t> link_loads(const ThreadBlockProgram& program,
                                                   const Fabric& fabric);

/// Chunks that trees send over each link, by LinkId. Edges of a group of `multicast`
/// (TreeOptions) load a link once. `inward`: data flow against the edges. Throws UserError if the
/// graph has no devices or the fabric lacks a link.
[[nodiscard]] std::vector<std::int64_t> planned_link_loads(const FlowGraph& graph,
                                                           const Fabric& fabric,
                                                           const TreePacking& packing,
                                                           bool inward = false,
                                                           bool multicast = false);

/// First link whose load differs from the plan, in words; empty if there is none.
[[nodiscard]] std::string audit_loads(const std::vector<std::int64_t>& loads,
                                      const std::vector<std::int64_t>& planned,
                                      const Fabric& fabric);

/// First limit of the instance through which a program sends more than `units` x `rounds` chunks,
/// in words; empty if there is none. `rounds` is the sum over the program's schedules
/// (StepSchedule::total_rounds).
[[nodiscard]] std::string audit_limits(const std::vector<std::int64_t>& loads,
                                       const Instance& instance, std::int64_t rounds);

/// Time in which the busiest link carries its load, s: no run of the program is faster.
[[nodiscard]] double bottleneck_s(const std::vector<std::int64_t>& loads, const Fabric& fabric,
                                  double chunk_bytes);

}  // namespace cclgym::synthesis
