// Online coordinate descent, as AutoCCL tunes NCCL.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "agents/baselines/tuning_policy.hpp"

namespace cclgym {

/// "autoccl": coordinate descent over the knobs while the job runs (Xu et al., "AutoCCL: Automated
/// Collective Communication Tuning for Accelerating Distributed and Parallel DNN Training", NSDI
/// 2025), for each collective and size on its own, as AutoCCL tells communications apart. From
/// NCCL's own choice on, one knob after the other is tried at all its legal levels, the others
/// held, and stays where the median time of `repeats` calls was least; when a round over all knobs
/// has changed nothing, that configuration is kept for good. Every call of the search is a call of
/// the job: it counts. Algorithm and inter are one knob, since hardly any of one goes with any of
/// the other.
///
/// AutoCCL's own search has three more parts, which a simulated job does not: a leader that decides
/// for all ranks, a profiler, and a split into subspaces by transport.
class CoordinateDescentPolicy : public TuningPolicy {
 public:
  explicit CoordinateDescentPolicy(std::size_t repeats = 1)
      : TuningPolicy("autoccl"), repeats_(repeats) {}

  /// Calls so far that searched, and that did not.
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
    std::size_t knob = 0;              ///< of coordinates_
    std::size_t unchanged = 0;         ///< knobs in a row that changed nothing
    std::vector<Action> candidates{};  ///< still to be tried, the last one first
    std::vector<double> times_us{};    ///< of the candidate at hand
    bool started = false;              ///< is best_us known?
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
