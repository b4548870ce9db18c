// Cost-model parameters from measured times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "calibration/fit/error_table.hpp"
#include "calibration/fit/uncertainty.hpp"
#include "calibration/measure/measured_cells.hpp"
#include "cost_models/parameters/parameter_set.hpp"

namespace cclgym {

struct FitOptions {
  CostModel start;                           ///< where the fit begins, and its prior
  std::vector<std::string> parameters;       ///< of cost_parameters; empty: those fitted by default
  std::set<int> held_out_ranks;              ///< cells on so many ranks do not count
  std::set<std::uint64_t> held_out_sizes{};  ///< nor cells of these sizes, B
  /// A parameter that is so many times its start value costs as much as a row that is 15 % off.
  double prior_factor = 2;
  double loss_scale = 0.3;  ///< |ln| at which the loss turns from square to linear
  int evaluations = 400;    ///< simulations of all cells, at most, for one fit
  int folds = 0;            ///< so many more fits, each without some of the rank counts; 0: none
  int resamples = 1000;     ///< of the bootstrap
  std::uint64_t seed = 1;   ///< of the bootstrap
  std::size_t threads = 1;
};

/// One parameter, all in SI units.
struct FittedParameter {
  std::string name;
  double start = 0;
  double estimate = 0;
  Interval linearised{};  ///< 95 %, from rows and prior (linearised_intervals)
  Interval resampled{};   ///< 95 %, from resampled rows (bootstrap_intervals)
};

/// A fit without some of the rank counts, tried on those.
struct Fold {
  std::set<int> held_out_ranks;
  ErrorSummary fitted;
  ErrorSummary held_out;
};

struct FitResult {
  CostModel model;  ///< the start with the estimates, rounded as a parameter set says them
  std::vector<FittedParameter> parameters;
  std::vector<std::string> without_effect;  ///< parameters that change no cell: left as they were
  std::vector<Compared> before;             ///< fitted cells under the start
  std::vector<Compared> fitted;
  std::vector<Compared> held_out;
  std::vector<RefusedRows> refused;  ///< cells that the simulator refuses
  std::vector<Fold> folds;
  int evaluations = 0;  ///< of the first fit
};

/// What a fit is at.
struct FitProgress {
  std::string stage;
  int evaluation = 0;
  int evaluations = 0;  ///< at most
  double mean = 0;      ///< |ln| of the best so far
};

/// Robust least squares on ln(simulated / measured): soft-L1 loss, a prior that draws the logarithm
/// of each parameter to its start, bounds, no derivatives (minimise.hpp). Cells count alike,
/// however many rows they have. Throws UserError if a parameter is unknown or cannot be fitted, or
/// no cell is left to fit.
[[nodiscard]] FitResult fit(const std::vector<MeasuredCell>& cells, const FitOptions& options,
                            const std::function<void(const FitProgress&)>& progress = {});

/// The fit in words: parameters with their intervals, errors by collective, size decade and ranks,
/// held out, by fold.
[[nodiscard]] std::string fit_text(const FitResult& result);

/// The fitted parameter set in YAML. Each parameter has its source (value_source.hpp): the fitted
/// ones the rows and the 95 % interval, the others what `start`, the set that the fit began with,
/// says of them. `fitted_to` has the rows of this fit and those of the start. `measured` is the
/// file of the rows, e.g. "nccl_measured.csv".
[[nodiscard]] std::string fitted_set_yaml(const FitResult& result, const ParameterSet& start,
                                          const std::string& measured);

}  // namespace cclgym
