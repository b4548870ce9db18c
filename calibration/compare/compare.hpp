// Comparison of predictions with every row of a measured file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "calibration/fit/error_table.hpp"
#include "calibration/fit/predict.hpp"
#include "calibration/measure/measured_cells.hpp"
#include "cost_models/intervals/time_intervals.hpp"

namespace cclgym {

struct Comparison {
  std::string file;                   ///< measured file, as the user named it
  std::vector<Compared> cells;        ///< simulated cells
  std::vector<RefusedRows> refused;   ///< rows that were not simulated, with the reason
  int rows = 0;                       ///< rows of the file that the filter accepted
  int left_out = 0;                   ///< rows that the filter rejected
  std::vector<std::string> warnings;  ///< Predictor::warnings
  double coverage = 0.9;              ///< aim of the intervals of held-out cells
};

/// Simulates every cell, with its own parameter set or with `cost_model` (in the form that
/// cost_model_for takes). Uses options.jobs threads, or options.place if there is one. A held-out
/// cell that is not among the rows of `table` has the table's interval for its class; the others
/// have intervals from the other held-out cells (state_intervals). Throws UserError if a fabric or
/// a parameter set cannot be made.
[[nodiscard]] Comparison compare(const std::string& file, MeasuredCells cells,
                                 const std::optional<std::string>& cost_model,
                                 const TaskOptions& options,
                                 const PredictionProgress& progress = {},
                                 const TimeIntervals& table = shipped_time_intervals());

/// The tables: systems, then per system the sets, size decades, ranks and collectives, the worst
/// cells, and the rows that were not simulated. No line mixes fitted and held-out cells.
[[nodiscard]] std::string comparison_text(const Comparison& comparison, std::size_t worst);

/// The cells of one system that are all fitted, or all held out.
struct ComparedPart {
  std::string system;
  Seen seen = Seen::NotSaid;
  std::vector<Compared> cells;  ///< at least one
};
/// The parts of a comparison by system, fitted parts first.
[[nodiscard]] std::vector<ComparedPart> parts_of(const Comparison& comparison);

/// One line per cell: measured and simulated time, configuration, and whether the cell was fitted.
[[nodiscard]] std::string comparison_csv(const Comparison& comparison);

/// The comparison with plots as a self-contained HTML page. Equal inputs give equal bytes.
[[nodiscard]] std::string comparison_html(const Comparison& comparison);

}  // namespace cclgym
