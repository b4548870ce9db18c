#include "experiments/run/results_file.hpp"

#include <fmt/format.h>
#include <fstream>
#include <utility>

#include "experiments/run/results.hpp"
#include "experiments/run/results_columns.hpp"

namespace cclgym {

void check_rows(const std::vector<ResultRow>& rows, const Experiment& experiment,
                const Shard& shard, const std::string& path, const std::string& advice) {
  const auto refuse = [&](const std::string& why) {
    throw UserError(fmt::format("{}: {}; {}", path, why, advice));
  };
  const std::string hash = experiment.hash();
  const std::size_t expected = shard.size(experiment.cells.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ResultRow& row = rows[i];
    if (row.experiment_hash != hash) {
      refuse(
          fmt::format("has results of another experiment or version: line {} is of {}, "
                      "this experiment is {}",
                      i + 2, row.experiment_hash, hash));
    }
    const std::string key =
        i < expected ? cell_key(experiment, experiment.cells[shard.cell(i)]) : std::string();
    if (row.cell_key == key) continue;
    refuse(fmt::format("line {} is cell {}; expected {}", i + 2, quoted(row.cell_key, 200),
                       i < expected ? quoted(key, 200) : "the end of the file"));
  }
}

namespace {

std::string journal_title(const Experiment& experiment, const Shard& shard) {
  return fmt::format("shard {}/{} of experiment {}", shard.number, shard.count, experiment.hash());
}

RowsAhead::Accept is_row_of(const Experiment& experiment, const Shard& shard) {
  return [&experiment, &shard, hash = experiment.hash(),
          cells = shard.size(experiment.cells.size())](std::size_t position, std::string_view row) {
    return position < cells &&
           row.starts_with(fmt::format(
               "{},{},", hash, cell_key(experiment, experiment.cells[shard.cell(position)])));
  };
}

}  // namespace

ResultsFile::ResultsFile(const std::string& path, const Experiment& experiment, const Shard& shard,
                         bool fresh, std::string advice)
    : path_(path),
      advice_(std::move(advice)),
      file_(path),
      ahead_(path + ".ahead", journal_title(experiment, shard), is_row_of(experiment, shard), fresh,
             advice_),
      cells_(shard.size(experiment.cells.size())) {
  if (fresh) {
    check_any_results();
    file_.truncate(0);
  } else {
    resume(experiment, shard);
  }
  if (file_.empty()) file_.append(result_header() + "\n");
}

// --fresh deletes results of any experiment and version, but no other file.
void ResultsFile::check_any_results() const {
  const std::string begin = fmt::format("{},{},", kResultColumns[0].name, kResultColumns[1].name);
  std::ifstream file(path_, std::ios::binary);
  std::string found(begin.size(), '\0');
  file.read(found.data(), static_cast<std::streamsize>(found.size()));
  found.resize(static_cast<std::size_t>(file.gcount()));
  // Accepts the start of a header whose writing was interrupted.
  if (begin.starts_with(found)) return;
  throw UserError({path_, 1, 1},
                  fmt::format("found {}; expected results, which begin with {}: --fresh deletes "
                              "only results; choose another folder with --out",
                              quoted(found), quoted(begin)));
}

std::vector<std::size_t> ResultsFile::left() const {
  std::vector<std::size_t> positions;
  for (std::size_t position = rows_; position < cells_; ++position) {
    if (!ahead_.has(position)) positions.push_back(position);
  }
  return positions;
}

void ResultsFile::add(std::span<const TaskReply> rows) {
  std::string text;
  std::size_t next = rows_;
  std::vector<TaskReply> early;
  // Takes the rows from the journal that have become due.
  const auto take_due = [&] {
    for (; ahead_.has(next); ++next) text += ahead_.take(next) + "\n";
  };
  take_due();
  for (const TaskReply& row : rows) {
    if (row.index != next) {
      early.push_back(row);
      continue;
    }
    text += row.text + "\n";
    ++next;
    take_due();
  }
  // The order of writing does not matter: a row that is not yet in one of the files is only in
  // this call.
  file_.append(text);
  rows_ = next;
  ahead_.add(early);
  if (rows_ == cells_) ahead_.remove();
}

void ResultsFile::resume(const Experiment& experiment, const Shard& shard) {
  ResultTable table;
  try {
    table = read_results(path_);
  } catch (const UserError& error) {
    throw UserError(
        fmt::format("{}\n  a run continues only its own results; {}", error.what(), advice_));
  }
  check_rows(table.rows, experiment, shard, path_, advice_);
  rows_ = table.rows.size();
  dropped_row_ = table.truncated && file_.drop_unended_line();
  ahead_.forget_before(rows_);
}

}  // namespace cclgym
