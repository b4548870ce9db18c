// Order in which the nodes of a Chakra trace are issued.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/index.hpp"
#include "workloads/readers/traces/chakra_node.hpp"

namespace cclgym {

/// Dependencies of nodes as indices, and an order that respects them.
struct ChakraOrder {
  std::vector<std::int32_t> nodes;       ///< indices into ChakraTrace::nodes, in order
  std::vector<std::uint32_t> dep_begin;  ///< by node
  std::vector<std::int32_t> deps;        ///< indices into ChakraTrace::nodes
  std::size_t missing = 0;               ///< dependencies on nodes that are not in the trace
  std::int32_t missing_of = -1;          ///< node with the first of them
  std::uint64_t missing_id = 0;          ///< id on which it depends

  [[nodiscard]] std::span<const std::int32_t> dependencies(std::int32_t node) const {
    return std::span(deps).subspan(dep_begin[at(node)],
                                   dep_begin[at(node) + 1] - dep_begin[at(node)]);
  }
};

/// The next node is the one with the smallest id of those whose dependencies are done, as in
/// ASTRA-sim (workload/Workload.cc, issue_dep_free_nodes). Throws UserError located in the trace's
/// file on an id that occurs twice, and on a cycle. Nodes that are not in the trace count as done.
[[nodiscard]] ChakraOrder order_nodes(const ChakraTrace& trace);

}  // namespace cclgym
