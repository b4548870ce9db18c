// Experience of a training: what its agent has tried on each of its machines.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agents/experts/experience.hpp"
#include "agents/training/collect.hpp"
#include "agents/training/train_config.hpp"

namespace cclgym {

class TrainingExperience {
 public:
  /// `levels` are the sizes of the action's dimensions. The configuration must outlive the object.
  TrainingExperience(const TrainConfig& config, const std::vector<std::size_t>& levels);

  /// Lends the experience of their machines to environments, which belong to the parts `taken`.
  void lend(std::span<const TrainingPart* const> taken, std::vector<CollectSlot>& slots) const;
  /// Adds the notes of the environments, in their order.
  void keep(std::span<const TrainingPart* const> taken, const std::vector<CollectSlot>& slots);

  /// `memory` and the experience as bytes, each after its length.
  [[nodiscard]] std::string bytes(const std::string& memory) const;
  /// Replaces the experience by that of bytes(), and sets `memory`. Returns false if they are
  /// damaged; the experience is then unspecified.
  [[nodiscard]] bool restore(std::string_view bytes, std::string& memory);

 private:
  [[nodiscard]] std::size_t number_of(const TrainingPart* part) const {
    return static_cast<std::size_t>(part - config_.parts.data());
  }

  const TrainConfig& config_;
  std::vector<Experience> experiences_;  ///< by part
};

}  // namespace cclgym
