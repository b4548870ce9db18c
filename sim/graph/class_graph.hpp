// A transfer graph with one node for each class of equal nodes.
#pragma once

#include <memory>

#include "sim/graph/symmetry.hpp"
#include "sim/graph/transfer_graph.hpp"

namespace cclgym {

/// The graph of the classes: a flow stands for all flows of its class, and loads a link, which
/// stands for a class of links, like all of them that cross it. Its dates are those of the full
/// graph, except for rounding. Engine simgrid refuses it (TransferGraph::loaded). `symmetry`: that
/// of the finished graph, with keys that tell apart nodes of different bytes, latency or rate cap;
/// if they do not, the costs of a class are those of its first node.
[[nodiscard]] std::shared_ptr<const TransferGraph> class_graph(const TransferGraph& graph,
                                                               const GraphSymmetry& symmetry);

}  // namespace cclgym
