// Tracks which kernels of each GPU have begun while a program is executed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "collectives/verifier/verify_internal.hpp"

namespace cclgym::verifier {

/// The blocks of a kernel begin when all blocks of the same GPU's earlier kernels are done, and the
/// gates of the kernel are open. Cost: linear in the blocks and gates, over an entire execution.
class KernelOrder {
 public:
  /// Begins the first kernel of every GPU. `blocks` must outlive this object.
  KernelOrder(const BlockIndex& blocks, std::span<const KernelGate> gates)
      : blocks_(blocks), gates_(gates.begin(), gates.end()), waiters_(blocks.ranks()) {
    std::ranges::sort(gates_);
    for (const KernelGate& gate : gates_) {
      waiters_[static_cast<std::size_t>(gate.after)].push_back(static_cast<std::size_t>(gate.rank));
    }
    for (std::size_t rank = 0; rank < blocks.ranks(); ++rank) {
      begun_end_.push_back(blocks.first(rank));
      left_.push_back(0);
    }
    for (std::size_t rank = 0; rank < blocks.ranks(); ++rank) advance(rank, [](std::int32_t) {});
  }

  [[nodiscard]] bool begun(std::int32_t block) const {
    return static_cast<std::size_t>(block) < begun_end_[rank_of(block)];
  }

  /// Records that `block` has done its last step. Calls begin(block) for each block that can now
  /// begin.
  template <typename Begin>
  void finish(std::int32_t block, const Begin& begin) {
    const std::size_t rank = rank_of(block);
    if (--left_[rank] == 0) advance(rank, begin);
  }

 private:
  [[nodiscard]] std::size_t rank_of(std::int32_t block) const {
    return static_cast<std::size_t>(blocks_[block].rank);
  }

  /// The first kernel of the rank that is not done.
  [[nodiscard]] std::int32_t current(std::size_t rank) const {
    const std::size_t next = begun_end_[rank];
    if (left_[rank] > 0) return blocks_[next - 1].block->kernel;
    return next < blocks_.first(rank + 1) ? blocks_[next].block->kernel
                                          : std::numeric_limits<std::int32_t>::max();
  }

  [[nodiscard]] bool open(std::size_t rank, std::int32_t kernel) const {
    const KernelGate first{static_cast<std::int32_t>(rank), kernel, 0};
    for (auto gate = std::ranges::lower_bound(gates_, first);
         gate != gates_.end() && gate->rank == first.rank && gate->kernel == kernel; ++gate) {
      if (current(static_cast<std::size_t>(gate->after)) <= kernel) return false;
    }
    return true;
  }

  /// Begins the next kernel of a rank whose kernel is done, and of the ranks that waited for it.
  template <typename Begin>
  void advance(std::size_t done, const Begin& begin) {
    std::vector<std::size_t> ranks{done};
    for (bool first = true; !ranks.empty(); first = false) {
      const std::size_t rank = ranks.back();
      ranks.pop_back();
      const std::size_t before = begun_end_[rank];
      begin_next(rank);
      for (std::size_t next = before; next < begun_end_[rank]; ++next) {
        begin(static_cast<std::int32_t>(next));
      }
      if (!first && begun_end_[rank] == before) continue;
      ranks.insert(ranks.end(), waiters_[rank].begin(), waiters_[rank].end());
    }
  }

  /// Begins the rank's next kernel with at least one step.
  void begin_next(std::size_t rank) {
    std::size_t& next = begun_end_[rank];
    const std::size_t end = blocks_.first(rank + 1);
    while (left_[rank] == 0 && next < end) {
      const std::int32_t kernel = blocks_[next].block->kernel;
      if (!open(rank, kernel)) return;
      for (; next < end && blocks_[next].block->kernel == kernel; ++next) {
        if (!blocks_[next].block->steps.empty()) ++left_[rank];
      }
    }
  }

  const BlockIndex& blocks_;
  std::vector<KernelGate> gates_;                  ///< by rank and kernel
  std::vector<std::vector<std::size_t>> waiters_;  ///< by rank: ranks with a gate after it
  std::vector<std::size_t> begun_end_;             ///< by rank: blocks before this one have begun
  std::vector<std::int64_t> left_;                 ///< by rank: begun blocks that are not finished
};

}  // namespace cclgym::verifier
