// Comparison of simulated speedups with published ones: which published rows hold.
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

/// Simulated speedups over a published range, and their distance from it.
struct PublishedVerdict {
  std::vector<BestSpeedup> points;  ///< at the simulated sizes of the range, ascending
  /// Relative distance of the worst point from the tolerated bound: 0.1 is 10 % above the upper
  /// bound, -0.1 is 10 % below the lower one; 0 if all points lie within.
  double miss = 0;
  std::uint64_t miss_bytes = 0;  ///< size of that point
  /// Relative distance between the tolerated bound and the point nearest to it, if all points lie
  /// within. A row with a margin of 0.01 would miss if its time changed by 1 %.
  double margin = 0;

  [[nodiscard]] bool simulated() const { return !points.empty(); }
  [[nodiscard]] bool holds() const { return simulated() && miss == 0; }
  /// Min and max speedup; only if there are points.
  [[nodiscard]] double low() const;
  [[nodiscard]] double high() const;
};

/// True if the row holds for a simulator that always answers 1 (no configuration faster or slower
/// than the baseline). This is the null model: a row that holds for it says little about any
/// simulator.
[[nodiscard]] bool null_model_holds(const PublishedRow& row);

/// A published row about one of the experiment's fabrics, collectives and baselines.
struct PublishedComparison {
  PublishedRow row;
  PublishedVerdict best;                    ///< fastest configuration at each size
  std::optional<PublishedVerdict> variant;  ///< the row's variant, if it selects one
  /// The verdict that decides whether the row holds.
  [[nodiscard]] const PublishedVerdict& judged() const;
  /// The configuration judged at the largest number of sizes, as index into the block's series;
  /// nullopt without points, or where the fallback is the baseline itself (BestSpeedup::series is
  /// then kBaselineSeries).
  [[nodiscard]] std::optional<std::size_t> winner() const;
  /// Number of points at which a configuration other than winner() is judged.
  [[nodiscard]] std::size_t other_winners() const;
};

/// Series index that denotes the baseline itself, whose speedup is 1.
inline constexpr std::size_t kBaselineSeries = static_cast<std::size_t>(-1);

/// The rows with one baseline, on one fabric, for one collective.
struct PublishedBlock {
  std::string fabric;  ///< label
  std::string collective;
  int servers = 1;
  int ranks = 1;
  std::string baseline;
  std::vector<SpeedupSeries> series;  ///< all configurations except baselines and tuners
  std::vector<BestSpeedup> best;      ///< at every simulated size
  std::vector<PublishedComparison> rows;
};

/// Compares the published rows whose fabric, collective and baseline are among the results; other
/// rows are left out. The baselines of these rows are not among the compared configurations.
[[nodiscard]] std::vector<PublishedBlock> compare_published(
    const Experiment& experiment, std::span<const ResultRow> rows,
    std::span<const PublishedRow> published);

/// Verdict in two words: "holds", "high 12 %", "low 3 %", "not simulated".
[[nodiscard]] std::string verdict_text(const PublishedVerdict& verdict);

/// The winner, and the number of sizes at which a different configuration wins:
/// "spread-ring LL128 c4 r8 +2"; "-" without a winner.
[[nodiscard]] std::string winner_text(const PublishedBlock& block,
                                      const PublishedComparison& comparison);

/// The comparison for the terminal: one line per published row. Empty without published rows.
[[nodiscard]] std::string published_text(std::span<const PublishedBlock> blocks,
                                         std::size_t published_rows);

/// The comparison as CSV: a header line, then one line per published row.
[[nodiscard]] std::string published_csv(std::span<const PublishedBlock> blocks);

}  // namespace cclgym
