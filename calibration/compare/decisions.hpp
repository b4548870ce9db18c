// Choices of the simulator, judged by measured times: of each group of calls that were measured
// with several forced configurations, the one that is fastest in the simulator.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibration/fit/error_table.hpp"

namespace cclgym {

/// A configuration that was forced in a measurement.
struct ForcedRun {
  std::string name;       ///< "ring LL128"
  double measured_s = 0;  ///< median
  double simulated_s = 0;
  bool ring_simple = false;
};

/// Measurements of one call on one system with at least two forced configurations.
struct DecisionGroup {
  std::string system;
  int ranks = 0;
  int nodes = 1;
  CollectiveKind collective = CollectiveKind::AllReduce;
  std::uint64_t bytes = 0;
  Seen seen = Seen::HeldOut;      ///< fitted if a fit saw any of the runs
  std::vector<ForcedRun> runs{};  ///< by measured time, fastest first
  std::optional<double> own_s{};  ///< measured time of NCCL's own choice
  double own_simulated_s = 0;     ///< simulated time of what our model of NCCL chooses

  /// Run that is fastest in the simulator; among equals the first by name.
  [[nodiscard]] const ForcedRun& chosen() const;
  /// Measured time of the chosen run over that of the best run: 1 is a perfect choice.
  [[nodiscard]] double regret() const;
  /// The same for NCCL's own choice, which noise can bring below 1; nullopt if not measured.
  [[nodiscard]] std::optional<double> own_regret() const;
  /// The same for "always ring Simple"; nullopt if not measured.
  [[nodiscard]] std::optional<double> ring_simple_regret() const;
  /// Geometric mean over all runs: a choice by chance, the null model.
  [[nodiscard]] double chance_regret() const;
  /// Spearman's rank correlation of simulated and measured times, -1 to 1; equal times share their
  /// mean rank.
  [[nodiscard]] double rank_correlation() const;
};

/// The groups among the cells, in the order of their first cells. Cells without a forced
/// configuration are NCCL's own choice, or belong to no group.
[[nodiscard]] std::vector<DecisionGroup> decision_groups(std::span<const Compared> cells);

/// Geometric means over groups.
struct DecisionSummary {
  std::string name;
  int groups = 0;
  double regret = 1;
  double worst = 1;                     ///< largest regret of a group
  double best_chosen = 0;               ///< share of groups whose best run was chosen
  std::optional<double> own{};          ///< over the groups that measured it
  std::optional<double> ring_simple{};  ///< over the groups that measured it
  double chance = 1;
  double rank_correlation = 0;  ///< arithmetic mean
};
[[nodiscard]] DecisionSummary summarise_decisions(std::string name,
                                                  std::span<const DecisionGroup* const> groups);
/// One summary for each system, fitted groups apart from those held out, and for all held-out
/// groups together.
[[nodiscard]] std::vector<DecisionSummary> decision_summaries(
    std::span<const DecisionGroup> groups);

/// The summaries, and the `worst` groups with the largest regret.
[[nodiscard]] std::string decisions_text(std::span<const DecisionGroup> groups, std::size_t worst);
/// One line for each run of each group, and one for NCCL's own choice.
[[nodiscard]] std::string decisions_csv(std::span<const DecisionGroup> groups);

}  // namespace cclgym
