// Fits cost-model parameters to measured times.
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
#include "core/tasks/run_tasks.hpp"
#include "cost_models/parameters/parameter_set.hpp"

namespace cclgym {

struct FitOptions {
  CostModel start;                      ///< start of the fit, and centre of its prior
  std::vector<std::string> parameters;  ///< names from cost_parameters; empty: the default ones
  std::set<int> held_out_ranks;         ///< cells with these numbers of ranks are not fitted
  std::set<std::uint64_t> held_out_sizes{};  ///< cells of these sizes (B) are not fitted, either
  /// A parameter that differs from its start value by this factor costs as much as a row that is 15
  /// % off.
  double prior_factor = 2;
  double loss_scale = 0.3;  ///< |ln| at which the loss changes from square to linear
  int evaluations = 400;    ///< max number of simulations of all cells per fit
  int folds = 0;  ///< number of additional fits, each without some of the rank counts; 0: none
  int resamples = 1000;    ///< number of bootstrap samples
  std::uint64_t seed = 1;  ///< seed of the bootstrap and of the starts
  /// Number of fits from different starts, of which the best is taken: the first begins at `start`,
  /// the others at points drawn as far from it as the prior allows.
  int starts = 1;
  std::size_t threads = 1;
  TaskPlace* place = nullptr;  ///< place of the simulations; null: threads of this process
  double peer_timeout_s = 60;  ///< TaskOptions::peer_timeout_s
  std::function<void(const std::string& sentence)> notice{};  ///< TaskOptions::notice
};

/// One parameter, in SI units.
struct FittedParameter {
  std::string name;
  double start = 0;
  double estimate = 0;
  Interval linearised{};  ///< 95 %, from rows and prior (linearised_intervals)
  Interval resampled{};   ///< 95 %, from resampled rows (bootstrap_intervals)
};

/// End of the search that began at one of the starts.
struct SearchEnd {
  double objective = 0;
  std::vector<double> estimates{};  ///< values in SI units, in the order of FitResult::parameters
};

/// Comparison of the best end with that of the other starts.
struct StartsAgreement {
  double worst_gap = 0;     ///< largest relative excess of an objective over the best one
  double factor = 1;        ///< largest ratio of two estimates of a parameter, best and other
  std::string parameter{};  ///< name of this parameter
  int outside = 0;   ///< number of parameters with an estimate outside of their 95 % interval
  bool same = true;  ///< no objective is 1 % above the best, and no estimate is outside
};

/// A fit without some of the rank counts, tested on them.
struct Fold {
  std::set<int> held_out_ranks;
  ErrorSummary fitted;
  ErrorSummary held_out;
};

struct FitResult {
  CostModel model;  ///< the start with the estimates, rounded as in a parameter set
  std::vector<FittedParameter> parameters;
  std::vector<std::string> without_effect;  ///< parameters that change no cell: left at their start
  std::vector<Compared> before;             ///< fitted cells under the start set
  std::vector<Compared> fitted;
  std::vector<Compared> held_out;
  std::vector<RefusedRows> refused;  ///< cells that the simulator refuses
  std::vector<Fold> folds;
  int evaluations = 0;            ///< evaluations of the first fit
  int starts = 1;                 ///< FitOptions::starts
  int best_start = 0;             ///< index of the start that led to the estimates
  std::vector<SearchEnd> ends{};  ///< by start
};

/// State of a fit.
struct FitProgress {
  std::string stage;
  int evaluation = 0;
  int evaluations = 0;  ///< max number of evaluations
  double mean = 0;      ///< mean |ln| of the best point so far
};

/// Robust least squares on ln(simulated / measured): soft-L1 loss, a prior that pulls the logarithm
/// of each parameter to its start, bounds, no derivatives (minimise.hpp). All cells have the same
/// weight, regardless of their number of rows. Throws UserError if a parameter is unknown or cannot
/// be fitted, or if no cell is left to fit.
[[nodiscard]] FitResult fit(const std::vector<MeasuredCell>& cells, const FitOptions& options,
                            const std::function<void(const FitProgress&)>& progress = {});

/// Tells if all starts ended at the same optimum. Intervals are the linearised ones.
[[nodiscard]] StartsAgreement starts_agreement(const FitResult& result);

/// The fit as text: parameters with their intervals, errors by collective, size decade and ranks,
/// held-out errors, folds.
[[nodiscard]] std::string fit_text(const FitResult& result);

/// The fitted parameter set in YAML. Each parameter has its source (value_source.hpp). The source
/// of a fitted parameter names the rows and the 95 % interval; other parameters keep the source
/// stated by `start`, the set at which the fit began. `fitted_to` has the rows of this fit and
/// those of the start. `measured` is the file of the rows, e.g. "nccl_measured.csv".
[[nodiscard]] std::string fitted_set_yaml(const FitResult& result, const ParameterSet& start,
                                          const std::string& measured);

}  // namespace cclgym
