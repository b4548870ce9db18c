// Predicted against measured, for every row of a file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "calibration/fit/error_table.hpp"
#include "calibration/fit/predict.hpp"
#include "calibration/measure/measured_cells.hpp"

namespace cclgym {

struct Comparison {
  std::string file;                   ///< the measured one, as the user named it
  std::vector<Compared> cells;        ///< those that were simulated
  std::vector<RefusedRows> refused;   ///< rows that were not, with the reason
  int rows = 0;                       ///< of the file that the filter let through
  int left_out = 0;                   ///< by the filter
  std::vector<std::string> warnings;  ///< Predictor::warnings
};

/// Simulates every cell, with its own parameter set or with `cost_model` (what cost_model_for
/// takes). Throws UserError if a fabric or a parameter set cannot be made.
[[nodiscard]] Comparison compare(const std::string& file, MeasuredCells cells,
                                 const std::optional<std::string>& cost_model, std::size_t threads,
                                 const PredictionProgress& progress = {});

/// The tables: systems, then for each of them sets, size decades, ranks and collectives, the worst
/// cells, and what was not simulated. Cells that a fit of their set saw are never in one line with
/// others.
[[nodiscard]] std::string comparison_text(const Comparison& comparison, std::size_t worst);

/// The cells of one system that a fit saw, or did not.
struct ComparedPart {
  std::string system;
  Seen seen = Seen::NotSaid;
  std::vector<Compared> cells;  ///< at least one
};
/// By system, fitted ones first.
[[nodiscard]] std::vector<ComparedPart> parts_of(const Comparison& comparison);

/// One line a cell: measured, simulated, how, and whether a fit saw it.
[[nodiscard]] std::string comparison_csv(const Comparison& comparison);

/// The same with plots as one HTML page that opens without a network. Same input, same bytes.
[[nodiscard]] std::string comparison_html(const Comparison& comparison);

}  // namespace cclgym
