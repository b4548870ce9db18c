// Lowered programs with one node for each class of equal nodes.
#pragma once

#include <cstdint>
#include <optional>

#include "collectives/library/direct_exchange.hpp"
#include "sim/classes/exchange_classes.hpp"
#include "sim/lowering/lowering.hpp"

namespace cclgym {

/// The program with one node for each class of equal nodes (sim/graph/symmetry.hpp), which ends at
/// the same dates except for rounding: LoweredProgram::classes is set, the graph is the graph of
/// the classes, and a node has the origin of the first node of its class. Returns nullopt if the
/// graph has no such classes, if it has more than a quarter as many as nodes, or if kernels wait
/// for gates.
[[nodiscard]] std::optional<LoweredProgram> program_of_classes(const LoweredProgram& lowered);

/// The same for a direct exchange, from the lowering of its `classes.first` (lower_some).
[[nodiscard]] LoweredProgram exchange_of_classes(const LoweredProgram& examples,
                                                 const DirectExchange& exchange,
                                                 const ExchangeClasses& classes);

/// Transfers of a program, those of all nodes of a class included (Result::flows).
[[nodiscard]] std::int64_t flow_firings(const LoweredProgram& lowered);
/// Nodes of a program's graph as a share of the nodes for which they stand.
[[nodiscard]] double share_of_nodes(const LoweredProgram& lowered);

}  // namespace cclgym
