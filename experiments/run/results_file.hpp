// results.csv while a run writes it: locked, resumed, appended to row by row.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/files/locked_file.hpp"
#include "core/tasks/task.hpp"
#include "experiments/run/results.hpp"
#include "experiments/run/rows_ahead.hpp"
#include "experiments/run/shard.hpp"
#include "experiments/sweep/experiment.hpp"

namespace cclgym {

/// Throws UserError unless the rows of the results file `path` are those of the first cells of the
/// shard, in order; the message ends with `advice`.
void check_rows(const std::vector<ResultRow>& rows, const Experiment& experiment,
                const Shard& shard, const std::string& path, const std::string& advice);

/// The results file of one run or of a shard of it, held by one process at a time. Rows are in cell
/// order, so that the number of rows tells which cells are still to do.
class ResultsFile {
 public:
  /// Opens or makes `path` and locks it. If it has rows of this experiment, the run continues after
  /// the last complete one. Throws UserError if the file cannot be written, if another run holds it
  /// (after waiting half a second for that run to end), if it is not a results file, or if its rows
  /// belong to another experiment, in which case the message ends with `advice`. `fresh` deletes
  /// existing results of any experiment instead.
  ResultsFile(const std::string& path, const Experiment& experiment, const Shard& shard, bool fresh,
              std::string advice);

  /// Number of rows in the file: the first rows() cells of the shard are done.
  [[nodiscard]] std::size_t rows() const { return rows_; }
  /// Number of cells that are done, including those whose rows cannot be in the file yet.
  [[nodiscard]] std::size_t done() const { return rows_ + ahead_.size(); }
  /// Positions in the shard of the cells that are not done, ascending.
  [[nodiscard]] std::vector<std::size_t> left() const;
  /// True if an incomplete last row was dropped.
  [[nodiscard]] bool dropped_row() const { return dropped_row_; }

  /// Writes rows (CSV lines without line breaks; the index is the position in the shard) at once:
  /// to the file those that are next, and to its journal, PATH.ahead, those that are not. Deletes
  /// the journal after the last row. Throws UserError on failure, and removes a partial row if
  /// possible.
  void add(std::span<const TaskReply> rows);

 private:
  void check_any_results() const;
  void resume(const Experiment& experiment, const Shard& shard);

  std::string path_;
  std::string advice_;
  LockedFile file_;
  RowsAhead ahead_;
  std::size_t cells_;
  std::size_t rows_ = 0;
  bool dropped_row_ = false;
};

}  // namespace cclgym
