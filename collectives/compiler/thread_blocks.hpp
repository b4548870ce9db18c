// Last pass: which thread block runs which instruction, and what it waits for.
#pragma once

#include "collectives/compiler/instruction_dag.hpp"
#include "collectives/ir.hpp"
#include "collectives/program.hpp"

namespace cclgym {

/// Which peers share a thread block though no instruction is fused (CompileOptions).
struct BlockSharing {
  bool both_directions = true;  ///< of one peer
  bool forwarding = true;       ///< between which chunks pass
};

/// Assigns the instructions to thread blocks, in the global order of the DAG.
///
/// Every kernel has blocks of its own. In each, on each rank and channel, each peer and direction
/// has exactly one block. A block serves a receive peer and a send peer together where instructions
/// are fused; then, as `sharing` allows, where both are the same peer; then where what is
/// received from the one is what is sent to the other (most often, if there are several). Other
/// peers get a block of their own. A local instruction runs on the block of its channel that
/// produced its data, else on the one that uses its result, else on a block without peers.
///
/// A step waits only for what does not follow from its block's order and earlier waits, and not for
/// other kernels.
///
/// Deadlock-free by construction: each block runs its steps in the global order, in which every
/// dependency and every message leads from a lower to a higher instruction. So of all instructions
/// not yet done the lowest can always run. Since a connection carries at most one message a level,
/// and that is received in the level or at the beginning of the next, this holds with room for two
/// messages on each connection (for one, if nothing is fused), and both ends see the messages of a
/// connection in the same order.
///
/// Cost: O(n) expected time for n instructions and edges, times the logarithm of the waits a step.
[[nodiscard]] ThreadBlockProgram assign_thread_blocks(const Program& program,
                                                      const InstructionDag& dag,
                                                      const BlockSharing& sharing);

}  // namespace cclgym
