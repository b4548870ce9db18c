// Simulated speedups beside published ones: which published rows hold.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiments/published/published.hpp"
#include "experiments/summary/speedup_series.hpp"

namespace cclgym {

/// A published row holds if, at every size of its range that was simulated, the speedup lies in
/// [kPublishedLeast * low, kPublishedMost * high].
inline constexpr double kPublishedLeast = 0.75;
inline constexpr double kPublishedMost = 1.25;

/// Simulated speedups over a published range, and how they stand to it.
struct PublishedVerdict {
  std::vector<BestSpeedup> points;  ///< at the simulated sizes of the range, ascending
  /// How far the point that is furthest out lies beyond the tolerated bound, relative to it: 0.1 is
  /// 10 % above the upper one, -0.1 10 % below the lower one; 0 if all lie within.
  double miss = 0;
  std::uint64_t miss_bytes = 0;  ///< size of that point
  /// If all lie within: how far the point that is nearest to a tolerated bound lies from it,
  /// relative to the bound. A row with a margin of 0.01 would miss if its time changed by 1 %.
  double margin = 0;

  [[nodiscard]] bool simulated() const { return !points.empty(); }
  [[nodiscard]] bool holds() const { return simulated() && miss == 0; }
  /// Least and greatest speedup; only if there are points.
  [[nodiscard]] double low() const;
  [[nodiscard]] double high() const;
};

/// Would a simulator that always answers 1 (no configuration is faster or slower than the baseline)
/// hold the row? That is the null model: a row it holds says little about any simulator.
[[nodiscard]] bool null_model_holds(const PublishedRow& row);

/// A published row that is of one of the experiment's fabrics, collectives and baselines.
struct PublishedComparison {
  PublishedRow row;
  PublishedVerdict best;                    ///< of the fastest configuration at each size
  std::optional<PublishedVerdict> variant;  ///< of the row's variant, if it selects one
  /// What the row is judged by.
  [[nodiscard]] const PublishedVerdict& judged() const;
  /// The configuration that is judged at most of the sizes: index into the block's series; nothing
  /// without points, or where the fallback is the baseline itself (BestSpeedup::series is then
  /// kBaselineSeries).
  [[nodiscard]] std::optional<std::size_t> winner() const;
  /// Points at which another configuration than winner() is judged.
  [[nodiscard]] std::size_t other_winners() const;
};

/// In the place of a series: the baseline itself, whose speedup is 1.
inline constexpr std::size_t kBaselineSeries = static_cast<std::size_t>(-1);

/// The rows over one baseline on one fabric for one collective.
struct PublishedBlock {
  std::string fabric;  ///< label
  std::string collective;
  int servers = 1;
  int ranks = 1;
  std::string baseline;
  std::vector<SpeedupSeries> series;  ///< all configurations but baselines and tuners
  std::vector<BestSpeedup> best;      ///< at every simulated size
  std::vector<PublishedComparison> rows;
};

/// Compares the published rows that are of a fabric, collective and baseline among the results;
/// others are left out. A baseline of any such row is not among the configurations compared.
[[nodiscard]] std::vector<PublishedBlock> compare_published(
    const Experiment& experiment, std::span<const ResultRow> rows,
    std::span<const PublishedRow> published);

/// How a comparison ended, in two words: "holds", "high 12 %", "low 3 %", "not simulated".
[[nodiscard]] std::string verdict_text(const PublishedVerdict& verdict);

/// "spread-ring LL128 c4 r8 +2": the winner, and at how many other sizes another configuration is;
/// "-" if there is none.
[[nodiscard]] std::string winner_text(const PublishedBlock& block,
                                      const PublishedComparison& comparison);

/// The comparison for the terminal: one line a published row. Empty without published rows.
[[nodiscard]] std::string published_text(std::span<const PublishedBlock> blocks,
                                         std::size_t published_rows);

/// The comparison as CSV, one line a published row, with a header line.
[[nodiscard]] std::string published_csv(std::span<const PublishedBlock> blocks);

}  // namespace cclgym
