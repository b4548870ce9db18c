// What a benchmark that issues call after call measures of a broadcast.
#pragma once

#include <memory>
#include <vector>

#include "collectives/ir.hpp"
#include "sim/simulator.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// NCCL's Broadcast: on each channel one chain along the channel's ring, the whole share of the
/// channel in one chunk, which tiles cut further. (Algorithm "ring" cuts it into as many chunks as
/// there are ranks, so that it streams without tiles.)
[[nodiscard]] std::shared_ptr<const ThreadBlockProgram> broadcast_chain(const Fabric& fabric,
                                                                        int channels, int root);

/// Calls between two looks at the clock: the default of nccl-tests (-n).
inline constexpr int kRepeatedCalls = 20;

/// Seconds a call, where so many calls are issued back to back, as nccl-tests does, until the root
/// is done with the last of them, whose clock it prints (so it did before 2022, without -a). The
/// root runs ahead of the chain, as far as the FIFOs let it.
/// `record` is of one call of broadcast_chain, with dates; how long each message takes is taken
/// from there. A rank's kernel begins, a launch after the end of the one before, when the rank is
/// done with the call before in all channels; a message moves when its sender's kernel has begun,
/// it has arrived there, the one before it has left, and the FIFO, which outlives calls, has a
/// slot.
[[nodiscard]] double time_between_calls_s(const SimulationRecord& record,
                                          int calls = kRepeatedCalls);

}  // namespace cclgym
