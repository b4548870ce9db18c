#include "cli/output/dry_run.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/output/json_output.hpp"
#include "cli/support/print.hpp"
#include "core/progress.hpp"
#include "experiments/run/cell_runner.hpp"
#include "experiments/run/results.hpp"
#include "experiments/run/run_folder.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kSample = 16;
// No further cell of the sample begins after this time.
constexpr double kMostSampleTime = 5;

// Number of the shard's rows of this experiment in the folder.
std::size_t rows_done(const Experiment& experiment, const RunOptions& options) {
  const std::string path = results_path(options.folder, options.shard);
  std::error_code error;
  if (options.fresh || !std::filesystem::exists(path, error)) return 0;
  const std::vector<ResultRow> rows = read_results(path).rows;
  if (!rows.empty() && rows.front().experiment_hash != experiment.hash()) {
    throw UserError({.file = path}, "has results of another experiment; " + options.advice);
  }
  return rows.size();
}

}  // namespace

void print_dry_run(const Experiment& experiment, const RunOptions& options, bool json,
                   const std::string& table) {
  check_run_folder(options.folder);
  const std::size_t cells = options.shard.size(experiment.cells.size());
  const std::size_t done = std::min(cells, rows_done(experiment, options));
  const std::size_t missing = cells - done;
  const std::size_t wanted = std::min(missing, kSample);
  std::size_t timed = 0;
  const double start_s = steady_now_s();
  double took_s = 0;
  CellRunner runner(experiment);
  while (timed < wanted && took_s < kMostSampleTime) {
    const std::size_t position = done + (2 * timed + 1) * missing / (2 * wanted);
    static_cast<void>(runner.run(options.shard.cell(position)));
    ++timed;
    took_s = steady_now_s() - start_s;
  }
  const std::size_t workers = std::min(options.jobs, std::max<std::size_t>(missing, 1));
  const double estimate_s = timed == 0
                                ? 0
                                : took_s / static_cast<double>(timed) *
                                      static_cast<double>(missing) / static_cast<double>(workers);
  if (json) {
    nlohmann::ordered_json plan{{"experiment", experiment.name},
                                {"cells", cells},
                                {"done", done},
                                {"left_out", experiment.skipped.size()},
                                {"folder", options.folder},
                                {"workers", workers},
                                {"timed_cells", timed},
                                {"estimated_s", estimate_s}};
    if (!table.empty()) plan["table"] = table;
    print_json(plan);
    return;
  }
  for (const std::string& text : experiment.warnings) print_warning(text);
  for (const std::string& line : experiment.skipped) print_error("left out: {}\n", line);
  print_out("cells     {}, of which {} are done\nfolder    {}\n", cells, done, options.folder);
  if (!table.empty()) print_out("table     {}\n", table);
  if (timed == 0) return;
  print_out("time      about {} with {} worker{}, going by {} of the cells, which took {} here\n",
            duration_text(estimate_s), workers, workers == 1 ? "" : "s", timed,
            duration_text(took_s));
}

}  // namespace cclgym
