// From a traced program to thread blocks, one pass a file:
//
//   Program --chunk_dag--> ChunkDag --schedule--> Schedule --instruction_dag--> InstructionDag
//           --thread_blocks--> ThreadBlockProgram
#pragma once

#include "collectives/ir.hpp"
#include "collectives/program.hpp"

namespace cclgym {

/// Compiles a program whose locations are all in range (ProgramBuilder sees to that; asserted).
/// Does not check that the program fulfils its contract: that is verify's business.
/// Cost: O(n log n) time for n operations, and about 250 bytes an operation at the peak.
[[nodiscard]] ThreadBlockProgram compile(const Program& program);

}  // namespace cclgym
