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
  ResultRow config;                  ///< its first row, which defines the configuration
  std::vector<SpeedupPoint> points;  ///< by size, ascending
};

/// The fastest configuration at one size.
struct BestSpeedup {
  std::uint64_t bytes = 0;
  double speedup = 0;
  std::size_t series = 0;  ///< index into the series
};

/// Speedups of rows of one fabric and collective over the fastest row with the same size and seed
/// that `is_baseline` accepts. Series are made of the rows that `is_candidate` accepts, in row
/// order. Rows without a positive time are ignored.
[[nodiscard]] std::vector<SpeedupSeries> speedup_series(
    std::span<const ResultRow* const> rows,
    const std::function<bool(const ResultRow&)>& is_baseline,
    const std::function<bool(const ResultRow&)>& is_candidate);

/// The fastest of the series that `takes` accepts (all if `takes` is empty) at each size; a tie
/// goes to the first.
[[nodiscard]] std::vector<BestSpeedup> best_speedups(
    std::span<const SpeedupSeries> series,
    const std::function<bool(const ResultRow&)>& takes = nullptr);

/// Short name of a configuration: "spread-ring LL128 c4 r8"; with " t256" unless it has 512
/// threads.
[[nodiscard]] std::string short_config(const ResultRow& config);

}  // namespace cclgym
