// Removes waits between the thread blocks of a GPU that follow from other waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cclgym {

/// Tracks, for each thread block, the steps of its GPU's other blocks that are known to be done
/// because the block has waited for them, or for steps that had waited for them. Blocks are
/// numbered over all GPUs. Steps must be added in an order in which every wait points back.
///
/// Cost: linear in the waits times the number of blocks that a block knows of.
class WaitReducer {
 public:
  struct Wait {
    std::int32_t block;
    std::int32_t step;
    friend bool operator==(const Wait&, const Wait&) = default;
  };

  explicit WaitReducer(std::size_t blocks) : clocks_(blocks), snapshots_(blocks) {}

  /// Adds the next step `step` of `block`, which needs `waits` (for steps of other blocks). Leaves
  /// in `waits` one wait for each block whose step is not yet known to be done, in ascending order.
  /// `waited_for`: another block will wait for this step.
  void add_step(std::int32_t block, std::int32_t step, bool waited_for, std::vector<Wait>& waits);

 private:
  /// Latest known step of each block, ascending by block.
  using Clock = std::vector<Wait>;
  struct Snapshot {
    std::int32_t step;
    Clock clock;  ///< the block's clock after the step, without the block itself
  };
  [[nodiscard]] static bool knows(const Clock& clock, const Wait& wait);
  void merge(Clock& into, const Clock& from);
  [[nodiscard]] const Clock& snapshot(const Wait& wait) const;

  std::vector<Clock> clocks_;                     ///< by block
  std::vector<std::vector<Snapshot>> snapshots_;  ///< by block, ascending by step
  Clock merged_;                                  ///< working memory
  Clock implied_;
};

}  // namespace cclgym
