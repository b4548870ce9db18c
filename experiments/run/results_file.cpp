#include "experiments/run/results_file.hpp"

#include <fmt/format.h>
#include <fstream>
#include <utility>

#include "experiments/run/results.hpp"
#include "experiments/run/results_columns.hpp"

namespace cclgym {

ResultsFile::ResultsFile(const std::string& path, const Experiment& experiment, bool fresh,
                         std::string advice)
    : path_(path), advice_(std::move(advice)), file_(path) {
  if (fresh) {
    check_any_results();
    file_.truncate(0);
  } else {
    resume(experiment);
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

void ResultsFile::refuse(const std::string& why) const {
  throw UserError(fmt::format("{}: {}; {}", path_, why, advice_));
}

void ResultsFile::append(const std::string& line) { file_.append(line + "\n"); }

void ResultsFile::resume(const Experiment& experiment) {
  ResultTable table;
  try {
    table = read_results(path_);
  } catch (const UserError& error) {
    throw UserError(
        fmt::format("{}\n  a run continues only its own results; {}", error.what(), advice_));
  }
  const std::string hash = experiment.hash();
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const ResultRow& row = table.rows[i];
    if (row.experiment_hash != hash) {
      refuse(
          fmt::format("has results of another experiment or version: line {} is of {}, "
                      "this experiment is {}",
                      i + 2, row.experiment_hash, hash));
    }
    if (i >= experiment.cells.size() || row.cell_key != cell_key(experiment, experiment.cells[i])) {
      refuse(fmt::format("line {} is cell {}; expected {}", i + 2, quoted(row.cell_key, 200),
                         i < experiment.cells.size()
                             ? quoted(cell_key(experiment, experiment.cells[i]), 200)
                             : "the end of the file"));
    }
  }
  rows_found_ = table.rows.size();
  dropped_row_ = table.truncated && file_.drop_unended_line();
}

}  // namespace cclgym
