// Makes the cells of an experiment from its axes: every valid combination.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "experiments/sweep/axes.hpp"
#include "experiments/sweep/experiment.hpp"

namespace cclgym {

/// Settings that are the same in all cells.
struct CellConstants {
  int root = 0;  ///< for rooted collectives
  std::size_t most_cells = 0;
  /// TunerSite::on_progress of all tuners.
  std::function<void(const std::string&)> on_progress{};
};

/// Fills in experiment.cells and experiment.skipped; the fabrics are there already. Leaves out
/// algorithms and tuners without the collective, and configurations that need more thread
/// blocks than a GPU runs at once. Equal configurations of one algorithm (tile `protocol` beside
/// the same size) are one cell. Throws UserError at the place of an algorithm that does not fit a
/// fabric, a size that does not fit a collective, a tuner that is wrong or chooses a configuration
/// that cannot run, and if there are no or too many cells; `where` is the experiment's place.
void make_cells(Experiment& experiment, const ExperimentAxes& axes, const SourceLocation& where,
                const CellConstants& constants);

/// Throws UserError unless the label is text that a CSV field and a line of a table can hold.
/// `what` names its owner in messages: "the fabric".
void check_label(const std::string& label, std::string_view what, const SourceLocation& where);

}  // namespace cclgym
