// Programs of trees at full throughput.
#pragma once

#include "collectives/program.hpp"
#include "synthesis/flow_graph.hpp"
#include "synthesis/lowering/program_form.hpp"
#include "synthesis/tree_packing.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym::synthesis {

struct TreeOptions {
  int channels = 32;  ///< upper bound on channels; 32 is the limit of MSCCL XML
  /// True: a tree of count c becomes c trees of one part each. Links are shared per message, not
  /// per byte, so that a tree that carried more would be slower than the plan.
  bool unit_trees = true;
  /// True: the edges from a rank through one switch that computes (FlowGraph::computes) become one
  /// multicast, or, towards the root, one reduction in the switch. MSCCL XML has no such operation.
  bool multicast = false;
  /// True: an edge along a path that no channel's route takes may use any route between its ends,
  /// so that loads differ from the plan (load_audit.hpp). False: it is an error.
  bool reroute = false;
};

/// Program of the trees for AllGather, Broadcast (trees of one root), ReduceScatter, Reduce and
/// AllReduce (each root's parts are summed up to it and spread from it). Compile it with
/// lowered_compile_options.
///
/// In ReduceScatter and Reduce, data flow against the edges: the trees are those of
/// graph.reversed(), which a graph of duplex links equals. So are `inward` in AllReduce; without
/// it, `packing` serves both directions.
///
/// The chunks of the contract are the parts. AllGather and ReduceScatter need the same number of
/// parts from each root; AllReduce cuts the buffer into all parts of all roots, with root after
/// root.
///
/// Every message is on a channel on which Fabric::route takes the path of its edge
/// (assign_tree_channels). `fabric` may be null for a graph without devices. Throws UserError if
/// the trees do not span the group, or do not fit the collective, and if no channel takes a path.
[[nodiscard]] Program lower_trees(const FlowGraph& graph, const Fabric* fabric,
                                  const ProgramForm& form, const TreePacking& packing,
                                  const TreeOptions& options = {});
[[nodiscard]] Program lower_trees(const FlowGraph& graph, const Fabric* fabric,
                                  const ProgramForm& form, const TreePacking& packing,
                                  const TreePacking& inward, const TreeOptions& options = {});

}  // namespace cclgym::synthesis
