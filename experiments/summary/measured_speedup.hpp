// `measured_speedup`: the ratio of two measured series beside the simulated speedup.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/options/option.hpp"
#include "experiments/measured/measured_rows.hpp"
#include "experiments/run/results.hpp"
#include "experiments/sweep/experiment.hpp"

namespace cclgym {

/// One size at which both configurations were measured and simulated.
struct MeasuredSpeedupPoint {
  std::uint64_t bytes = 0;
  double measured = 0;   ///< time of `over` / time of `of`
  double simulated = 0;  ///< time of the experiment's baseline / time of the fastest configuration
  std::string config;    ///< short name of the fastest configuration
};

/// The speedups on one system, by size.
struct MeasuredSpeedups {
  std::string system;
  std::string source;
  std::vector<MeasuredSpeedupPoint> points;                   ///< ascending
  double mean_ln = std::numeric_limits<double>::quiet_NaN();  ///< mean |ln(simulated / measured)|
};

/// Measured and simulated speedups of one fabric and collective, to which all `rows` and `measured`
/// belong. Empty if the experiment does not ask for them. Systems without a size that has all four
/// times are left out. Configurations of the baseline and of tuners are not candidates for the
/// fastest.
[[nodiscard]] std::vector<MeasuredSpeedups> measured_speedups(
    const Experiment& experiment, std::span<const ResultRow* const> rows,
    std::span<const MeasuredRow* const> measured);

/// Throws UserError if the experiment names a measured configuration that is not in its
/// files.
void check_measured_speedup(const Experiment& experiment, std::span<const MeasuredRow> measured);

}  // namespace cclgym
