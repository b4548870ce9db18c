// Progress of the training of an agent, on standard error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agents/training/trainer.hpp"

namespace cclgym {

/// Shows a line that is redrawn on a terminal, otherwise an occasional line; nothing if `quiet`.
/// The configuration must outlive the object.
class TrainProgress {
 public:
  TrainProgress(const TrainConfig& config, std::uint64_t seed, bool quiet);

  void notice(const std::string& text) const;
  /// Starts the clock of the remaining time, after `iteration` iterations; without it, the first
  /// update does.
  void begin(int iteration);
  void update(const IterationReport& report);

 private:
  const TrainConfig& config_;
  std::uint64_t seed_;
  bool quiet_;
  bool terminal_;
  std::optional<int> first_;
  double start_s_ = 0;
  double shown_s_ = -1e9;
  std::vector<PolicyMeasure> measured_;
};

}  // namespace cclgym
