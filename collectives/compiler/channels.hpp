// Second pass: chooses the channels that the program leaves open.
#pragma once

#include "collectives/compiler/chunk_dag.hpp"
#include "collectives/program.hpp"

namespace cclgym {

/// Gives every operation without a channel the lowest legal channel.
///
/// A connection belongs to one thread block at either end, so on one channel, chunks received from
/// one peer can be fused only with sends to one other peer. A chain is a sequence of operations,
/// each of which sends on the result of the previous one; if several operations send on a result,
/// the chain continues with the operation on the longest path. A chain stays on one channel on
/// which none of its ranks pairs either peer with a third; if one of its operations names a
/// channel, the chain uses that channel. Every kernel starts again at channel 0. With `keep_chains`
/// = false (for a program that will not be fused) channel 0 is always legal.
///
/// Cost: O(n) for n operations, times the channels tried.
void assign_channels(Program& program, const ChunkDag& dag, bool keep_chains);

}  // namespace cclgym
