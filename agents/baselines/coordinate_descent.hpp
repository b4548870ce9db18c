// Online coordinate descent, as in AutoCCL for NCCL.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "agents/baselines/tuning_policy.hpp"

namespace cclgym {

/// "autoccl": coordinate descent over the knobs while the job runs, separately for each collective
/// and size (Xu et al., "AutoCCL: Automated Collective Communication Tuning for Accelerating
/// Distributed and Parallel DNN Training", NSDI 2025). Starting from NCCL's own choice, it tries
/// one knob after another at all its legal levels while the others are fixed. It keeps the level
/// with the minimum median time of `repeats` calls, until a round over all knobs changes nothing.
/// Algorithm and inter are one knob here, since few of their combinations are legal. Search calls
/// are calls of the job. docs/baselines.md lists the parts of AutoCCL that are left out.
class CoordinateDescentPolicy : public TuningPolicy {
 public:
  explicit CoordinateDescentPolicy(std::size_t repeats = 1)
      : TuningPolicy("autoccl"), repeats_(repeats) {}

  /// Number of calls so far during the search, and of calls after it.
  [[nodiscard]] std::uint64_t searching() const { return searching_; }
  [[nodiscard]] std::uint64_t settled() const { return settled_; }

 protected:
  void begin_setup(const TuningSetup& setup) override;
  void choose(const CollectiveTuningEnv& environment, std::span<std::int32_t> action) override;
  void learn(double time_us) override;

 private:
  using Action = std::vector<std::int32_t>;
  struct Cell {
    CollectiveKind collective = CollectiveKind::AllReduce;
    Action best;
    double best_us = 0;
    std::size_t knob = 0;              ///< index into coordinates_
    std::size_t unchanged = 0;         ///< consecutive knobs that changed nothing
    std::vector<Action> candidates{};  ///< untried candidates, in reverse order
    std::vector<double> times_us{};    ///< times of the current candidate
    bool started = false;              ///< true once best_us is known
    bool settled = false;
  };

  void next_candidates(Cell& cell) const;
  [[nodiscard]] std::vector<Action> neighbours(const Cell& cell) const;

  std::size_t repeats_;
  std::vector<std::vector<std::size_t>> coordinates_;  ///< dimensions that change together
  std::map<std::pair<CollectiveKind, std::uint64_t>, Cell> cells_;  ///< by collective and bytes
  Cell* cell_ = nullptr;
  std::uint64_t searching_ = 0;
  std::uint64_t settled_ = 0;
};

}  // namespace cclgym
