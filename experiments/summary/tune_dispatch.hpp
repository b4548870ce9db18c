// From the results of a sweep to the dispatch table that is fastest by them.
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

/// A range of a tuned table with what it is worth at the sizes that were tested in it.
struct TunedRange {
  DispatchRange range;
  std::size_t tested = 0;  ///< sizes
  /// Greatest time of its configuration over the fastest one's, minus 1.
  double loss = 0;
  /// Baseline time over its time: least and greatest; none without a baseline.
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

/// For each fabric and collective of the results, the fewest size ranges of one configuration each
/// that is nowhere slower than the fastest by more than `tolerance` (0.01: 1 %) at any size that
/// was tested; of these the ones with the least total of relative losses. A range begins at the
/// first tested size that its configuration carries out: sizes between two tested ones go with the
/// smaller. Times are medians over the seeds; what tuners chose counts as the configuration that
/// ran. Cost: linear in the rows, but for sorting.
[[nodiscard]] std::vector<TunedBlock> tune_dispatch(const Experiment& experiment,
                                                    std::span<const ResultRow> rows,
                                                    double tolerance);

/// The table of the blocks.
[[nodiscard]] DispatchTable dispatch_table(const std::vector<TunedBlock>& blocks);

/// The blocks for people: ranges, configurations, speedups over the experiment's baseline and
/// losses in aligned columns.
[[nodiscard]] std::string tuned_text(const Experiment& experiment,
                                     const std::vector<TunedBlock>& blocks);

}  // namespace cclgym
