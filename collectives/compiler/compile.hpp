// From a traced program to thread blocks, one pass per file:
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
  /// True: receives are fused with sends of the same chunks.
  bool fuse = true;
  /// True: one thread block serves both directions of a peer unless another rule applies. This
  /// halves the number of blocks, but a send may wait for a receive that it does not need.
  bool share_blocks = true;
  /// True: one thread block receives from a peer and sends to another if chunks pass between them,
  /// even in separate instructions. This needs fewer blocks, but the block's next receive waits for
  /// its send.
  bool join_forwarding = true;
  /// True: the messages of every connection are sent in the order of tracing, as a synthesised
  /// schedule needs; otherwise messages on a longer path go first.
  bool keep_order = false;
  /// Number of messages that fit on every connection, >= 1. With 1 nothing is fused: a ring whose
  /// ranks all pass on at once would deadlock.
  int slots = 2;
  /// Copies of the program, each on its own channels with its part of the data.
  int instances = 1;
  InstancePolicy policy = InstancePolicy::Interleaved;
};

/// Compiles a program whose locations are all in range (ProgramBuilder ensures this; asserted).
/// Unlike verify, it does not check that the program fulfils its contract. Checks that the result
/// cannot deadlock with `slots` slots (otherwise std::logic_error: a compiler bug). Throws
/// UserError on bad options.
/// Cost: O(n log n) time for n operations, and about 300 bytes per operation at peak.
[[nodiscard]] ThreadBlockProgram compile(const Program& program,
                                         const CompileOptions& options = {});

}  // namespace cclgym
