// Third pass: the order in which the operations run.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/compiler/chunk_dag.hpp"
#include "collectives/program.hpp"

namespace cclgym {

/// A list schedule in unit steps ("levels"): an operation runs at the first level after all its
/// dependencies at which its connection is free; a connection carries one message per level. If
/// several operations are ready, priority goes to operations that send on data that arrived at the
/// previous level (so that they can be fused with the receive), then to the longest path, then to
/// the trace order.
///
/// The trace order is unsuitable: a ring written chunk by chunk would send chunk 0 all the way
/// around before chunk 1. (MSCCLang orders by depth in the DAG for the same reason.)
///
/// Levels are assigned kernel by kernel: the first level of a kernel is above all levels of the
/// previous one.
struct Schedule {
  std::vector<std::int32_t> level;  ///< by operation, from 0; greater than the level of any
                                    ///< predecessor
  std::vector<std::int32_t> order;  ///< operations in the order of levels, then of tracing
};

/// Cost: O(n log n) for n operations.
[[nodiscard]] Schedule make_schedule(const Program& program, const ChunkDag& dag);

/// The same, except that every connection carries its messages in the trace order. Cost: O(n).
[[nodiscard]] Schedule schedule_in_trace_order(const Program& program, const ChunkDag& dag);

}  // namespace cclgym
