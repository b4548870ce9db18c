// Derives the fastest dispatch table from the results of a sweep.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiments/run/results.hpp"
#include "experiments/sweep/experiment.hpp"
#include "sim/tuners/dispatch_table.hpp"

namespace cclgym {

/// A range of a tuned table, with its loss and speedup at the sizes tested in it.
struct TunedRange {
  DispatchRange range;
  std::size_t tested = 0;  ///< number of sizes
  /// Max over the sizes of (time of its configuration / time of the fastest one) - 1.
  double loss = 0;
  /// Min and max of baseline time / time of its configuration; nullopt without a baseline.
  std::optional<double> least_speedup;
  std::optional<double> most_speedup;
};

/// The ranges of one collective on one fabric, ascending; the first begins at 0, the last has no
/// end.
struct TunedBlock {
  std::string fabric;
  CollectiveKind collective = CollectiveKind::AllReduce;
  std::vector<TunedRange> ranges;
};

/// For each fabric and collective of the results, the smallest number of size ranges with one
/// configuration each such that no tested size is slower than its fastest time by more than
/// `tolerance` (0.01: 1 %); among equals, the one with the smallest sum of relative losses. A range
/// begins at the first tested size that uses its configuration; sizes between two tested ones
/// belong to the smaller. Times are medians over the seeds; a row of a tuner belongs to the
/// configuration that the tuner chose. The cost is linear in the rows, except for sorting.
[[nodiscard]] std::vector<TunedBlock> tune_dispatch(const Experiment& experiment,
                                                    std::span<const ResultRow> rows,
                                                    double tolerance);

/// The dispatch table made of the blocks, for a file in `folder`; paths of its programs are
/// relative to this folder. Throws UserError if a program of the experiment was not read from a
/// file.
[[nodiscard]] DispatchTable dispatch_table(const Experiment& experiment,
                                           const std::vector<TunedBlock>& blocks,
                                           const std::string& folder = {});

/// The blocks as a table for the terminal: ranges, configurations, speedups over the experiment's
/// baseline and losses.
[[nodiscard]] std::string tuned_text(const Experiment& experiment,
                                     const std::vector<TunedBlock>& blocks);

}  // namespace cclgym
