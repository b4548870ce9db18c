// The actions of one machine as a flat list, for policies that choose a single number.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "env/tuning/actions/tuning_action.hpp"

namespace cclgym {

/// Every action of TuningActions that is legal for some collective, one per configuration: of
/// several actions with the same meaning (such as a chunk level equal to the protocol's own chunk),
/// only the first is kept. Immutable.
class FlatTuningActions {
 public:
  explicit FlatTuningActions(const TuningActions& actions);

  /// Actions in lexicographical order, knobs() numbers each.
  [[nodiscard]] const std::shared_ptr<const std::vector<std::int32_t>>& actions() const {
    return actions_;
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  /// Mask of the legal actions of a collective, one byte each; empty if the workload has no such
  /// calls. `large`: for calls that are too large for actions of limited size.
  [[nodiscard]] std::span<const std::uint8_t> mask(CollectiveKind collective,
                                                   bool large = false) const {
    return (large ? of_large_ : masks_)[static_cast<std::size_t>(collective)];
  }

 private:
  std::shared_ptr<const std::vector<std::int32_t>> actions_;
  std::size_t count_ = 0;
  std::vector<std::vector<std::uint8_t>> masks_;     ///< by collective
  std::vector<std::vector<std::uint8_t>> of_large_;  ///< the same for large calls
};

}  // namespace cclgym
