// Summary of an experiment's results for the table and the report: best configuration by size,
// speedups, and errors of simulated times against measured ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/measured/measured_rows.hpp"
#include "experiments/run/results.hpp"
#include "experiments/summary/measured_speedup.hpp"
#include "experiments/sweep/experiment.hpp"

namespace cclgym {

/// Time of a configuration at one size: the median over the seeds.
struct ConfigTime {
  std::string algorithm;
  std::string program;
  std::string protocol;
  int channels = 1;
  int instances = 1;
  int threads = 512;
  std::uint64_t tile_bytes = 0;
  int slots = 0;
  std::string legal_in;  ///< ResultRow::legal_in
  double time_us = 0;
  double algbw_GBps = 0;
  double busbw_GBps = 0;
  std::optional<double> speedup;  ///< baseline time / time; nullopt without a baseline at this size
  std::optional<double> baseline_us{};  ///< the baseline's time; nullopt like the speedup
};

/// One size of a block. Rows whose time is not a positive number are ignored.
struct SizeSummary {
  std::uint64_t bytes = 0;
  ConfigTime best;  ///< shortest time of a row that competes; a tie goes to the first in row order
  std::optional<ConfigTime> best_ring;  ///< best of the algorithms "ring" and "ring-…"
  /// Time of the first of the experiment's tuners that choose as a library does by default.
  std::optional<ConfigTime> library{};
  std::vector<std::optional<double>> measured_us;  ///< in the order of BlockSummary::measured
  /// The time that each measured one is compared with, in the same order: that of `library` if the
  /// library chose the measured configuration, and the experiment simulates its choice; else that
  /// of `best`.
  std::vector<double> simulated_us{};
};

/// MeasuredSeries::compared_with of times that no library chose.
inline constexpr std::string_view kBestOfAll = "best of all";

/// The measured times of one (system, config) for one fabric and collective.
struct MeasuredSeries {
  std::string system;
  std::string config;
  std::string source;  ///< source of its first row
  bool library_chose = false;
  std::string compared_with{};  ///< "nccl-default:2.23.4", or "best of all"
  std::vector<std::pair<std::uint64_t, double>> points;  ///< (bytes, us), by size
};

/// Simulated against measured times of one series: ratios simulated / measured at the sizes that
/// have both, and exp(mean |ln ratio|) - 1 (0.1: off by 10 % on average, in either direction).
struct MeasuredError {
  std::vector<std::pair<std::uint64_t, double>> ratios;
  double error = std::numeric_limits<double>::quiet_NaN();  ///< NaN without ratios
};

/// One fabric × collective × number of ranks.
struct BlockSummary {
  std::string fabric;
  std::string collective;
  int servers = 1;
  int ranks = 1;
  std::string cost_model;
  std::string relays;              ///< relay_text of the fabric
  std::string illegal;             ///< faster than the best, but not legal in NCCL; may be empty
  std::string drops;               ///< tuners that take less time for twice the size; may be empty
  std::string interval;            ///< from ExperimentFabric::intervals; empty if NCCL chose no row
  std::vector<SizeSummary> sizes;  ///< ascending
  std::vector<MeasuredSeries> measured;
  std::vector<MeasuredError> ring_errors;  ///< errors of the best ring, by `measured`
  std::vector<MeasuredError> errors;       ///< errors of SizeSummary::simulated_us, by `measured`
  std::vector<MeasuredSpeedups> measured_speedups;  ///< if the experiment asks for them
};

struct ResultSummary {
  std::vector<BlockSummary> blocks;             ///< in the order of their first rows
  std::vector<std::optional<double>> speedups;  ///< speedup of each row, in row order
  std::size_t seeds = 0;                        ///< number of different seeds
  bool chosen = false;                          ///< true if a tuner chose any row's configuration
  bool judged = false;                          ///< true if any row is legal in NCCL
  bool instances_vary = false;
  bool threads_vary = false;
  bool tiles_vary = false;
  bool slots_vary = false;
  std::size_t unmatched_measured = 0;  ///< measured rows that belong to no block
};

/// The cell of a row, with the members that selectors compare; nullopt if the experiment has no
/// such cell.
[[nodiscard]] std::optional<Cell> cell_of(const Experiment& experiment, const ResultRow& row);

/// True for each row that competes for the best at its size: if it is legal in NCCL, or with legal:
/// any, or if no row of its fabric and collective is legal.
[[nodiscard]] std::vector<bool> competing(const Experiment& experiment,
                                          std::span<const ResultRow> rows);

[[nodiscard]] ResultSummary summarize(const Experiment& experiment, std::span<const ResultRow> rows,
                                      std::span<const MeasuredRow> measured);

/// Heading of the baseline's times: its algorithm if nothing else selects it, or "baseline".
[[nodiscard]] std::string baseline_heading(const Experiment& experiment);

/// The baseline of the speedups in words: "ring, Simple, 1 channel", or "the fastest of ring,
/// Simple" if several configurations of the experiment match; empty without a baseline.
[[nodiscard]] std::string baseline_text(const Experiment& experiment);

/// Number of pairs whose traffic passes through a third GPU ("24 of 56 GPU pairs are relayed by a
/// GPU") or through hosts ("24 of 56 GPU pairs meet through hosts"); ordered pairs, counted for up
/// to 64 GPUs; empty if there are none.
[[nodiscard]] std::string relay_text(const Fabric& fabric);

/// exp(mean |ln ratio|) - 1; NaN without ratios. Ratios must be positive.
[[nodiscard]] double geometric_mean_error(std::span<const double> ratios);

/// The rows of all measured files of the experiment. Throws UserError for an invalid file, or one
/// without the configurations of `measured_speedup`.
[[nodiscard]] std::vector<MeasuredRow> read_measured_files(const Experiment& experiment);

}  // namespace cclgym
