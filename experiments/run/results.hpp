// Result rows: one per cell, with the same columns in memory, in results.csv and in reports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/sweep/experiment.hpp"

namespace cclgym {

struct ResultRow {
  std::string experiment_hash;
  std::string cell_key;  ///< "ndv4/allreduce/ring/LL/c4/t512/64KiB/s1"
  std::string fabric;    ///< ExperimentFabric::label
  int servers = 1;
  int ranks = 1;
  std::string collective;
  std::string algorithm;  ///< name in the experiment: an algorithm or a tuner
  std::string program;    ///< algorithm that ran; differs from `algorithm` if a tuner chose it
  std::string protocol;
  int channels = 1;
  int instances = 1;
  int threads = 512;
  std::uint64_t tile_bytes = 0;  ///< 0: chunks move as one piece
  int slots = 0;                 ///< 0: unlimited
  std::string legal_in = "-";    ///< "NCCL 2.30.7" (legal_in)
  std::uint64_t size_bytes = 0;
  std::uint64_t seed = 0;
  std::uint64_t repetitions = 1;
  double time_us = 0;  ///< median over the repetitions
  double time_min_us = 0;
  double time_max_us = 0;
  double algbw_GBps = 0;  ///< from the median time, 1e9 B/s
  double busbw_GBps = 0;
  int steps = 0;
  std::int64_t flows = 0;
  std::string engine;
  std::string cost_model;
  std::string cost_model_hash;  ///< 16 hex digits
  std::string version;

  /// True if a tuner chose the configuration.
  [[nodiscard]] bool chosen() const { return algorithm != program; }

  friend bool operator==(const ResultRow&, const ResultRow&) = default;
};

/// The CSV header line, without a line break.
[[nodiscard]] std::string result_header();
/// One CSV line, without a line break. Numbers are the shortest text that reads back as the same
/// bits.
[[nodiscard]] std::string to_csv(const ResultRow& row);

/// All rows of a results file. read_results throws UserError with file:line of the error. A last
/// line without a line break (from a run killed while writing) is not a row; `truncated` is then
/// set.
struct ResultTable {
  std::vector<ResultRow> rows;
  bool truncated = false;
};
[[nodiscard]] ResultTable read_results(const std::string& path);

}  // namespace cclgym
