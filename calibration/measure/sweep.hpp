// A sweep: many things to measure, one row of CSV each, in random order; it can be killed at any
// moment and goes on where it was.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "calibration/measure/worker_process.hpp"

namespace cclgym {

/// What is to be measured. A cell has a value for each column; no value has a comma, a quote or a
/// line break.
struct SweepPlan {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> cells;
  /// Which block each cell belongs to: blocks come in random order, the cells of one one after the
  /// other, in random order too. Empty: each cell is its own.
  std::vector<std::size_t> blocks{};
};

/// What is measured on, and by what.
struct MeasurementBackend {
  std::string name;  ///< as the worker says it: "mpi"
  WorkerCommand command;
  /// The plan, once the worker has said where it runs. Throws UserError if that does not fit.
  std::function<SweepPlan(const TextMap& environment)> plan;
};

struct SweepOptions {
  std::string path;        ///< of the CSV
  bool fresh = false;      ///< throw away what is there
  std::uint64_t seed = 1;  ///< of the order
  int warmup = 20;
  int repeats = 50;
  double most_s = 0;      ///< of one cell's repeats; 0: no limit
  double timeout_s = 60;  ///< after which a cell is hung
  double start_s = 60;    ///< after which a worker does not start
  // X  ///< stop after so many cells; 0: no limit
};

/// Where a sweep is.
struct SweepProgress {
  std::size_t done = 0;   ///< rows that are there
  std::size_t found = 0;  ///< of these, when the sweep started
  std::size_t total = 0;
};

struct SweepResult {
  SweepProgress progress;
  std::size_t refused = 0;       ///< rows of this sweep that the worker refused
  std::size_t failed = 0;        ///< … that failed, crashed or hung
  bool dropped_row = false;      ///< a row that was cut off in the middle was measured again
  std::string environment_note;  ///< of rows that were measured elsewhere; empty: none
  std::string last_failure;
};

/// Behind the plan's columns: status (ok, refused, failed, crashed, hung), time_us_median, _q1,
/// _q3, _min, _max of the samples, their number, how many of them are outliers (further from the
/// quartiles than three times their distance: kept, and marked in the next column), samples_us (in
/// order, blanks between, outliers with !), place in the order, seconds since 1970, warmup,
/// environment (key=value;…), extra (the same), message.
[[nodiscard]] const std::vector<std::string>& sweep_result_columns();

/// Measures what the file does not have yet. A worker that crashes or hangs is started again for
/// the next cell; after `kMostFailures` cells in a row that ended so, the sweep stops with a
/// UserError. Throws UserError if the file is of another plan, another process writes it, or no
/// worker starts; nothing is written before one has.
inline constexpr int kMostFailures = 5;
SweepResult sweep(const MeasurementBackend& backend, const SweepOptions& options,
                  const std::function<void(const SweepProgress&)>& progress = {});

/// Median and quartiles by linear interpolation between order statistics. values not empty.
struct Quartiles {
  double q1 = 0;
  double median = 0;
  double q3 = 0;
};
[[nodiscard]] Quartiles quartiles_of(std::vector<double> values);

}  // namespace cclgym
