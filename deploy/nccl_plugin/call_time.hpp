// Time of a call of NCCL, from the times of its kernels.
#pragma once

#include <cstdint>
#include <string_view>

namespace cclgym {

/// A tree AllReduce as NCCL's profiler reports it.
struct TreeCall {
  std::string_view protocol;  ///< "ll", "ll128" or "simple"
  std::uint64_t bytes = 0;
  int channels = 1;
  int ranks = 2;
  int nodes = 1;
};

/// Ratio of the time of a tree AllReduce, until its last rank has the sum, to the longest time that
/// a rank's profiler reports, which is that of the root; from 1 to 2.
///
/// NCCL's kernel takes the time at its end in thread 0, before the block's other threads have ended
/// (src/device/common.h, 2.28.9 to 2.30.7: FINI). In a tree, thread 0 of all ranks but the root
/// belongs to the half of the block that sends up (src/device/all_reduce.h, runTreeSplit), so what
/// goes down is not timed. With c chunks per channel and d hops to the root, the root has sent the
/// last chunk after c + d - 1 steps, and the leaves have it after d more. With four ranks on four
/// nodes of one H100, times of whole calls (docs/closed-loop.md) give 1.9 where this is 2.00 (1
/// MiB, Simple), 1.6 at 1.40 (4 MiB, Simple), 1.4 at 1.22 and 1.5 at 1.67 (256 and 64 KiB, LL128),
/// and 1.2 at 2.00 (1 KiB, LL), where most of the root's time is not that of steps.
[[nodiscard]] double tree_time_ratio(const TreeCall& call);

}  // namespace cclgym
