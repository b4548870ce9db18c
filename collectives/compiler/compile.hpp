// From a traced program to thread blocks, one pass a file:
//
//   Program --channels--> --replicate--> Program --chunk_dag--> ChunkDag --schedule--> Schedule
//           --fuse--> Fusion --instruction_dag--> InstructionDag --thread_blocks-->
//           ThreadBlockProgram
#pragma once

#include "collectives/compiler/replicate.hpp"
#include "collectives/ir.hpp"
#include "collectives/program.hpp"

namespace cclgym {

struct CompileOptions {
  /// Fuse receives with sends of the same chunks?
  bool fuse = true;
  /// Does one thread block serve both directions of a peer where nothing else decides? Half as many
  /// blocks, but a send may wait for a receive that it does not need.
  bool share_blocks = true;
  /// Does one thread block receive from a peer and send to another between which chunks pass,
  /// though in instructions of their own? Fewer blocks, but what it receives next waits for its
  /// send.
  bool join_forwarding = true;
  /// Messages for which every connection has room, >= 1. With 1 nothing is fused: a ring whose
  /// ranks all pass on at once would deadlock.
  int slots = 2;
  /// Copies of the whole program, each with its part of the data on channels of its own.
  int instances = 1;
  InstancePolicy policy = InstancePolicy::Interleaved;
};

/// Compiles a program whose locations are all in range (ProgramBuilder sees to that; asserted).
/// Does not check that the program fulfils its contract: that is verify's business. The result is
/// checked to be free of deadlocks with `slots` slots (std::logic_error: a bug of the compiler).
/// Throws UserError on bad options.
/// Cost: O(n log n) time for n operations, and about 300 bytes an operation at the peak.
[[nodiscard]] ThreadBlockProgram compile(const Program& program,
                                         const CompileOptions& options = {});

}  // namespace cclgym
