// Speedups of configurations over one named baseline, by size.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiments/run/results.hpp"

namespace cclgym {

/// A speedup at one size: the median over the seeds.
struct SpeedupPoint {
  std::uint64_t bytes = 0;
  double speedup = 0;
};

/// One configuration of an algorithm over the sizes.
struct SpeedupSeries {
  ResultRow config;                  ///< its first row: what it is
  std::vector<SpeedupPoint> points;  ///< by size, ascending
};

/// The fastest configuration at one size.
struct BestSpeedup {
  std::uint64_t bytes = 0;
  double speedup = 0;
  std::size_t series = 0;  ///< index into the series
};

/// The rows, all of one fabric and collective, as speedups over the fastest of those that
/// `is_baseline` takes, of the same size and seed. Series are of the rows that `is_candidate`
/// takes, in row order. Rows without a positive time count nowhere.
[[nodiscard]] std::vector<SpeedupSeries> speedup_series(
    std::span<const ResultRow* const> rows,
    const std::function<bool(const ResultRow&)>& is_baseline,
    const std::function<bool(const ResultRow&)>& is_candidate);

/// The fastest of the series that `takes` takes (nothing: all) at each size; a tie goes to the
/// first.
[[nodiscard]] std::vector<BestSpeedup> best_speedups(
    std::span<const SpeedupSeries> series,
    const std::function<bool(const ResultRow&)>& takes = nullptr);

/// "spread-ring LL128 c4 r8": a configuration in short; with " t256" if it has not 512 threads.
[[nodiscard]] std::string short_config(const ResultRow& config);

}  // namespace cclgym
