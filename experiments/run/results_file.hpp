// results.csv while a run writes it: locked, resumed, appended to row by row.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/files/locked_file.hpp"
#include "experiments/sweep/experiment.hpp"

namespace cclgym {

/// The results file of one run, held by one process at a time. Rows are in cell order, so that the
/// number of rows tells which cells are still to do.
class ResultsFile {
 public:
  /// Opens or makes `path` and locks it. If it has rows of this experiment, the run continues after
  /// the last complete one. Throws UserError if the file cannot be written, if another run holds it
  /// (after waiting half a second for that run to end), if it is not a results file, or if its rows
  /// belong to another experiment, in which case the message ends with `advice`. `fresh` deletes
  /// existing results of any experiment instead.
  ResultsFile(const std::string& path, const Experiment& experiment, bool fresh,
              std::string advice);

  /// Number of rows found: cells 0 .. rows_found() - 1 are done.
  [[nodiscard]] std::size_t rows_found() const { return rows_found_; }
  /// True if an incomplete last row was dropped.
  [[nodiscard]] bool dropped_row() const { return dropped_row_; }

  /// Writes a row (one CSV line, without a line break) to the file at once. Throws UserError on
  /// failure, and removes the partial row if possible.
  void append(const std::string& line);

 private:
  void check_any_results() const;
  void resume(const Experiment& experiment);
  [[noreturn]] void refuse(const std::string& why) const;

  std::string path_;
  std::string advice_;
  LockedFile file_;
  std::size_t rows_found_ = 0;
  bool dropped_row_ = false;
};

}  // namespace cclgym
