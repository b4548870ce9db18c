// Last pass: assigns instructions to thread blocks, and determines their waits.
#pragma once

#include "collectives/compiler/instruction_dag.hpp"
#include "collectives/ir.hpp"
#include "collectives/program.hpp"

namespace cclgym {

/// Peers that share a thread block even without fused instructions (CompileOptions).
struct BlockSharing {
  bool both_directions = true;  ///< the sends to and receives from one peer
  bool forwarding = true;       ///< two peers between which chunks pass
};

/// Assigns the instructions to thread blocks, in the global order of the DAG. docs/collectives.md,
/// "The three IRs", explains why the result cannot deadlock.
///
/// Every kernel has its own blocks. Within a kernel, on each rank and channel, each peer and
/// direction has exactly one block. A receive peer and a send peer share a block if instructions
/// are fused; then, as `sharing` allows, if both are the same peer; then if data received from one
/// is sent to the other (of several pairs, the pair with the highest number of messages). A local
/// instruction runs on the block of its channel that produced its data, else on the block that uses
/// its result, else on a block without peers.
///
/// A step waits only for steps of the same kernel, and only if their completion does not follow
/// from its block's order or earlier waits. Cost: O(n) expected time for n instructions and edges,
/// times the logarithm of the waits per step.
[[nodiscard]] ThreadBlockProgram assign_thread_blocks(const Program& program,
                                                      const InstructionDag& dag,
                                                      const BlockSharing& sharing);

/// most_resident_blocks() of the program that assign_thread_blocks makes, without making it.
[[nodiscard]] std::int64_t count_resident_blocks(const Program& program, const InstructionDag& dag,
                                                 const BlockSharing& sharing);

}  // namespace cclgym
