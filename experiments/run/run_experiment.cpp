#include "experiments/run/run_experiment.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "experiments/run/cell_runner.hpp"
#include "experiments/run/link_table.hpp"
#include "experiments/run/results_file.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/run/worker_pool.hpp"
#include "sim/timeline.hpp"

namespace cclgym {

namespace {

// The first cell that each timeline selector matches, each cell once.
std::vector<std::size_t> timeline_cells(const Experiment& experiment) {
  std::vector<std::size_t> cells;
  for (const CellSelector& selector : experiment.timelines) {
    const auto found =
        std::find_if(experiment.cells.begin(), experiment.cells.end(),
                     [&](const Cell& cell) { return selector.matches(experiment, cell); });
    const auto cell = static_cast<std::size_t>(found - experiment.cells.begin());
    if (std::find(cells.begin(), cells.end(), cell) == cells.end()) cells.push_back(cell);
  }
  return cells;
}

std::string timeline_of(const Experiment& experiment, const std::string& folder, std::size_t cell) {
  return timeline_path(folder, cell_key(experiment, experiment.cells[cell]));
}

void remove_what_is_made_last(const Experiment& experiment, const std::string& folder) {
  std::error_code ignored;
  std::filesystem::remove(std::filesystem::path(folder) / "report.html", ignored);
  std::filesystem::remove(published_path(folder), ignored);
  for (const std::size_t cell : timeline_cells(experiment)) {
    const std::string timeline = timeline_of(experiment, folder, cell);
    std::filesystem::remove(timeline, ignored);
    std::filesystem::remove(link_table_path(timeline), ignored);
  }
}

}  // namespace

void run_experiment(const Experiment& experiment, const RunOptions& options,
                    const RunObserver& observer) {
  check_run_folder(options.folder);
  make_folder(options.folder);
  ResultsFile results(results_path(options.folder), experiment, options.fresh, options.advice);
  save_run_experiment(experiment, options.folder);
  const std::size_t found = results.rows_found();
  if (observer.on_start) observer.on_start(found, results.dropped_row());
  if (found == experiment.cells.size()) return;
  remove_what_is_made_last(experiment, options.folder);
  const auto make_task = [&experiment]() -> Task {
    return [runner = std::make_shared<CellRunner>(experiment)](std::size_t cell) {
      return to_csv(runner->run(cell));
    };
  };
  const auto take = [&](std::size_t cell, const std::string& line) {
    results.append(line);
    if (observer.on_progress) observer.on_progress(cell + 1);
  };
  run_tasks(found, experiment.cells.size(), options.jobs, make_task, take, [&](std::size_t cell) {
    return "cell " + cell_key(experiment, experiment.cells[cell]);
  });
}

std::vector<std::string> write_timelines(const Experiment& experiment, const std::string& folder) {
  std::vector<std::string> paths;
  CellRunner runner(experiment);
  for (const std::size_t cell : timeline_cells(experiment)) {
    const std::string path = timeline_of(experiment, folder, cell);
    make_folder(std::filesystem::path(path).parent_path().string());
    const Fabric& fabric = *experiment.fabrics[experiment.cells[cell].fabric].fabric;
    const SimulationRecord record = runner.record(cell);
    write_timeline_file(path, record, fabric);
    write_link_table(link_table_path(path), record, fabric);
    paths.push_back(path);
  }
  return paths;
}

}  // namespace cclgym
