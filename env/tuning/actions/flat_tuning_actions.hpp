// The actions of one machine in a row, for policies that choose one number.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "env/tuning/actions/tuning_action.hpp"

namespace cclgym {

/// Every action of TuningActions that is legal for some collective, once for each configuration
/// that it stands for: of actions that mean the same (a chunk that is the protocol's own anyway)
/// the first one stays. Immutable.
class FlatTuningActions {
 public:
  explicit FlatTuningActions(const TuningActions& actions);

  /// knobs() numbers an action, in lexicographical order.
  [[nodiscard]] const std::shared_ptr<const std::vector<std::int32_t>>& actions() const {
    return actions_;
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  /// Which of them are legal for a collective, a byte each: none, if it will not be called.
  [[nodiscard]] std::span<const std::uint8_t> mask(CollectiveKind collective) const {
    return masks_[static_cast<std::size_t>(collective)];
  }

 private:
  std::shared_ptr<const std::vector<std::int32_t>> actions_;
  std::size_t count_ = 0;
  std::vector<std::vector<std::uint8_t>> masks_;  ///< by collective
};

}  // namespace cclgym
