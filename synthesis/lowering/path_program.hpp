// Programs of flows: the data from each rank to each other rank goes along a set of paths.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/program.hpp"
#include "synthesis/flow_graph.hpp"
#include "synthesis/flows/alltoall.hpp"
#include "synthesis/lowering/program_form.hpp"
#include "synthesis/tree_packing.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym::synthesis {

/// Paths of a flow with `parts` equal parts per pair of ranks, each part on one path: shares that
/// are no multiple of a part are rounded such that each pair has all its parts. A path is a tree of
/// `count` parts that does not span. Ascending by source and target. Throws UserError for parts < 1
/// and for paths whose first or last node is no rank.
[[nodiscard]] TreePacking rounded_paths(const FlowGraph& graph, const std::vector<FlowPath>& paths,
                                        int parts);

/// Rounds per part of the fullest edge: load / units.
[[nodiscard]] Rational rounds_of_paths(const FlowGraph& graph, const TreePacking& paths);

/// Program of an AllToAll with `parts` parts per pair of ranks. Each message takes a channel on
/// which Fabric::route takes its path, and no more than `channels` are used. Compile it with
/// lowered_compile_options. Throws UserError if the paths do not carry all parts of every pair of
/// the group, or if no channel takes a path.
[[nodiscard]] Program lower_paths(const FlowGraph& graph, const Fabric* fabric,
                                  const ProgramForm& form, const TreePacking& paths, int parts,
                                  int channels = 32);

}  // namespace cclgym::synthesis
