// results.csv of a run that writes it: locked, resumed, appended to row by row.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/files/locked_file.hpp"
#include "experiments/sweep/experiment.hpp"

namespace cclgym {

/// The results file of one run, held by one process at a time. Rows stand in cell order, so that
/// what is there says what is still to do.
class ResultsFile {
 public:
  /// Opens or makes `path` and locks it. If it has rows of this experiment, the run goes on after
  /// the last whole one. Throws UserError if the file cannot be written, another run holds it
  /// (waits half a second for one that is just ending), it is not a results file, or its rows are
  /// of another experiment; the last not if `fresh`, which throws away all results that are there.
  ResultsFile(const std::string& path, const Experiment& experiment, bool fresh);

  /// Rows that were there: cells 0 .. rows_found() - 1 are done.
  [[nodiscard]] std::size_t rows_found() const { return rows_found_; }
  /// Was a last row, cut off in the middle, dropped?
  [[nodiscard]] bool dropped_row() const { return dropped_row_; }

  /// Writes a row (one CSV line, without a line break) to the file at once. Throws UserError if
  /// that fails; then no part of the row is left in the file if that can be helped.
  void append(const std::string& line);

 private:
  void check_any_results() const;
  void resume(const Experiment& experiment);

  std::string path_;
  LockedFile file_;
  std::size_t rows_found_ = 0;
  bool dropped_row_ = false;
};

}  // namespace cclgym
