// Last pass: which thread block runs which instruction, and what it waits for.
#pragma once

#include "collectives/compiler/instruction_dag.hpp"
#include "collectives/ir.hpp"
#include "collectives/program.hpp"

namespace cclgym {

/// Assigns the instructions to thread blocks, in the global order of the DAG.
///
/// On each rank and channel, each peer and direction has exactly one block. A block serves a
/// receive peer and a send peer together where what is received from the one is what is sent to the
/// other (most often, if there are several); other peers get a block of their own. A local
/// instruction runs on the block of its channel that produced its data, else on the one that uses
/// its result, else on a block without peers.
///
/// Deadlock-free by construction: each block runs its steps in the global order, in which every
/// dependency and every message leads from a lower to a higher instruction. So of all instructions
/// not yet done the lowest can always run. Since a connection carries at most one message a level,
/// this holds with room for only one message on each connection, and both ends see the messages of
/// a connection in the same order.
///
/// Cost: O(n) expected time for n instructions and edges.
[[nodiscard]] ThreadBlockProgram assign_thread_blocks(const Program& program,
                                                      const InstructionDag& dag);

}  // namespace cclgym
