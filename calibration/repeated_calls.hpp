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

/// Time from one call to the next, s, where calls are issued back to back, as nccl-tests does, and
/// a rank may begin the next one while others are still busy with this: the rank that is busy
/// longest decides. A rank is busy with its launch, and from the first message of any channel (the
/// root: from its launch) until all are done: its kernel is one, and where channels pass through
/// the ranks in different orders, a rank waits in one for what comes early in another.
[[nodiscard]] double time_between_calls_s(const SimulationRecord& record);

}  // namespace cclgym
