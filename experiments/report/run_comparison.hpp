// Two runs beside each other: cells whose times differ, and the plots of both.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "experiments/run/results.hpp"
#include "experiments/sweep/experiment.hpp"

namespace cclgym {

/// A run to compare.
struct ComparedRun {
  std::string folder;
  const Experiment* experiment = nullptr;
  std::span<const ResultRow> rows{};
};

/// A cell of both runs whose times differ.
struct ChangedCell {
  std::string cell_key;
  double first_us = 0;
  double second_us = 0;
  double ratio = 1;  ///< second / first
};

struct RunComparison {
  std::size_t common = 0;  ///< cells of both runs with a time
  std::size_t only_first = 0;
  std::size_t only_second = 0;
  double mean_ratio = 1;             ///< geometric mean of second / first over the common cells
  std::vector<ChangedCell> changed;  ///< greatest change first; ties by key
};

/// Cells are matched by their keys. Rows without a positive time are ignored.
[[nodiscard]] RunComparison compare_runs(std::span<const ResultRow> first,
                                         std::span<const ResultRow> second);

/// Counts, the geometric mean, and a table of the `most` greatest changes.
[[nodiscard]] std::string comparison_table(const RunComparison& comparison,
                                           const ComparedRun& first, const ComparedRun& second,
                                           std::size_t most);

/// The page, with the plots of both runs side by side.
[[nodiscard]] std::string comparison_page(const RunComparison& comparison, const ComparedRun& first,
                                          const ComparedRun& second);

}  // namespace cclgym
