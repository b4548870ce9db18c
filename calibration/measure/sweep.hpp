// A sweep: many measurements, one row of CSV each, in random order. A killed sweep can be
// continued.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "calibration/measure/worker_process.hpp"
#include "experiments/measured/measured_columns.hpp"

namespace cclgym {

/// Cells to measure. A cell has a value for each column; no value has a comma, a quote or a line
/// break.
struct SweepPlan {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> cells;
  /// Block of each cell. Blocks are measured in random order, and so are the cells within a block.
  /// Empty: every cell is a block of its own.
  std::vector<std::size_t> blocks{};
};

/// A worker and the plan of its measurements.
struct MeasurementBackend {
  std::string name;  ///< name that the worker must report: "mpi"
  WorkerCommand command;
  /// Makes the plan from the worker's environment. Throws UserError if that environment
  /// allows no plan.
  std::function<SweepPlan(const TextMap& environment)> plan;
};

struct SweepOptions {
  std::string path;        ///< path of the CSV
  bool fresh = false;      ///< delete existing rows
  std::uint64_t seed = 1;  ///< seed of the order
  int warmup = 20;
  int repeats = 50;
  double most_s = 0;           ///< limit of one cell's repeats, s; 0: no limit
  double timeout_s = 60;       ///< limit of a cell, s; a cell that exceeds it is hung
  double start_s = 60;         ///< limit of a worker's start, s
  Clock clock = steady_now_s;  ///< clock of these two limits
};

/// Progress of a sweep, or what a sweep would find.
struct SweepProgress {
  std::size_t done = 0;   ///< rows in the file
  std::size_t found = 0;  ///< rows found when the sweep started
  std::size_t total = 0;
};

struct SweepResult {
  SweepProgress progress;
  std::size_t refused = 0;       ///< rows of this sweep that the worker refused
  std::size_t failed = 0;        ///< rows of this sweep that failed, crashed or hung
  bool dropped_row = false;      ///< true if an incomplete row was dropped and measured again
  std::string environment_note;  ///< note on rows measured elsewhere; empty: none
  std::string last_failure;
};

/// Measures the cells that the file does not have yet. A row has the plan's columns, then
/// sweep_result_columns(). A worker that crashes or hangs is restarted
/// for the next cell; after `kMostFailures` such cells in a row the sweep throws UserError. Throws
/// UserError if the file belongs to another plan, if another process writes it, or if no worker
/// starts; nothing is written before a worker has started.
inline constexpr int kMostFailures = 5;
SweepResult sweep(const MeasurementBackend& backend, const SweepOptions& options,
                  const std::function<void(const SweepProgress&)>& progress = {});

/// Tells what the sweep would find: starts a worker, asks for its plan, and counts the rows of the
/// file. Measures and writes nothing. Throws UserError as sweep() does.
[[nodiscard]] SweepProgress planned_sweep(const MeasurementBackend& backend,
                                          const SweepOptions& options);

/// Median and quartiles by linear interpolation between order statistics. `values` must not be
/// empty.
struct Quartiles {
  double q1 = 0;
  double median = 0;
  double q3 = 0;
};
[[nodiscard]] Quartiles quartiles_of(std::vector<double> values);

}  // namespace cclgym
