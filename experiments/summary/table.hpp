// Results as a text table for the terminal.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "experiments/measured/measured_rows.hpp"
#include "experiments/run/results.hpp"
#include "experiments/sweep/experiment.hpp"

namespace cclgym {

/// For each fabric × collective, one line per size: the best configuration, its time, algbw, busbw
/// and speedup over the baseline (if there is one), and the measured times with the ratio simulated
/// / measured (if there are any). With measured rows, the geometric-mean error of the best ring and
/// of the best of all algorithms follows. At most 100 columns wide, unless names are very long.
void print_table(std::ostream& out, const Experiment& experiment, std::span<const ResultRow> rows,
                 std::span<const MeasuredRow> measured);

/// Returns the table of print_table as a string.
[[nodiscard]] std::string table_text(const Experiment& experiment, std::span<const ResultRow> rows,
                                     std::span<const MeasuredRow> measured);

}  // namespace cclgym
