// Second pass: the channels that the program leaves to the compiler.
#pragma once

#include "collectives/compiler/chunk_dag.hpp"
#include "collectives/program.hpp"

namespace cclgym {

/// Gives every operation without a channel the lowest legal one.
///
/// A connection belongs to one thread block at either end, so on one channel what a rank receives
/// from one peer can be fused only with sends to one other peer. Operations that send on what the
/// one before them brought form a chain (where several send it on: with the one on the longest
/// path); a chain stays on one channel, on which none of its ranks pairs either peer with another
/// already. Every kernel begins anew with channel 0. A chain with an operation of a named channel
/// uses that one. `keep_chains` = false (for a program that will not be fused): channel 0 is always
/// legal.
///
/// Cost: O(n) for n operations, times the channels tried.
void assign_channels(Program& program, const ChunkDag& dag, bool keep_chains);

}  // namespace cclgym
