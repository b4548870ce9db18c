// Tracks which kernels of each GPU have begun while a program is executed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/verifier/verify_internal.hpp"

namespace cclgym::verifier {

/// The blocks of a kernel begin when all blocks of the same GPU's earlier kernels are done. Cost:
/// linear in the blocks, over an entire execution.
class KernelOrder {
 public:
  /// Begins the first kernel of every GPU. `blocks` must outlive this object.
  explicit KernelOrder(const BlockIndex& blocks) : blocks_(blocks) {
    for (std::size_t rank = 0; rank < blocks.ranks(); ++rank) {
      begun_end_.push_back(blocks.first(rank));
      left_.push_back(0);
      begin_next(rank);
    }
  }

  [[nodiscard]] bool begun(std::int32_t block) const {
    return static_cast<std::size_t>(block) < begun_end_[rank_of(block)];
  }

  /// Records that `block` has done its last step. Calls begin(block) for each block that can now
  /// begin.
  template <typename Begin>
  void finish(std::int32_t block, const Begin& begin) {
    const std::size_t rank = rank_of(block);
    if (--left_[rank] > 0) return;
    std::size_t next = begun_end_[rank];
    begin_next(rank);
    for (; next < begun_end_[rank]; ++next) begin(static_cast<std::int32_t>(next));
  }

 private:
  [[nodiscard]] std::size_t rank_of(std::int32_t block) const {
    return static_cast<std::size_t>(blocks_[block].rank);
  }

  /// Begins the rank's next kernel with at least one step.
  void begin_next(std::size_t rank) {
    std::size_t& next = begun_end_[rank];
    const std::size_t end = blocks_.first(rank + 1);
    while (left_[rank] == 0 && next < end) {
      const std::int32_t kernel = blocks_[next].block->kernel;
      for (; next < end && blocks_[next].block->kernel == kernel; ++next) {
        if (!blocks_[next].block->steps.empty()) ++left_[rank];
      }
    }
  }

  const BlockIndex& blocks_;
  std::vector<std::size_t> begun_end_;  ///< by rank: blocks before this one have begun
  std::vector<std::int64_t> left_;      ///< by rank: begun blocks that are not finished
};

}  // namespace cclgym::verifier
