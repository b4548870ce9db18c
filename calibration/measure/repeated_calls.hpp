// Time of a broadcast or a reduction as measured by a benchmark that issues calls back to back.
#pragma once

#include <memory>
#include <vector>

#include "collectives/ir.hpp"
#include "sim/simulator.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// NCCL's Broadcast or Reduce: one chain per channel along the channel's ring, from the root or to
/// it, with the channel's share in a single chunk, which tiles cut further. (Algorithm "ring" cuts
/// it into one chunk per rank, so that it streams without tiles.)
[[nodiscard]] std::shared_ptr<const ThreadBlockProgram> rooted_chain(const Fabric& fabric,
                                                                     CollectiveKind collective,
                                                                     int channels, int root);

/// Calls between two clock readings: the default of nccl-tests (-n).
inline constexpr int kRepeatedCalls = 20;

/// Seconds per call if this many calls are issued back to back, until the root finishes the last
/// one: nccl-tests prints the clock of rank 0, its root (before 2022, without -a). The first rank
/// of the chain runs ahead as far as the FIFOs allow. `record` is the record of one call of
/// rooted_chain, with dates, which give the duration of each message. A rank's kernel begins one
/// launch after the end of the previous one, when the rank is done with the previous call in all
/// channels. A message starts when its sender's kernel has begun, it has arrived there, the
/// previous message has left, and the FIFO, which outlives calls, has a free slot.
[[nodiscard]] double time_between_calls_s(const SimulationRecord& record,
                                          int calls = kRepeatedCalls);

}  // namespace cclgym
