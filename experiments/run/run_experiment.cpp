#include "experiments/run/run_experiment.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <span>
#include <system_error>

#include "core/limits/memory_limit.hpp"
#include "core/tasks/run_tasks.hpp"
#include "experiments/run/cell_runner.hpp"
#include "experiments/run/link_table.hpp"
#include "experiments/run/results.hpp"
#include "experiments/run/results_file.hpp"
#include "experiments/run/run_folder.hpp"
#include "sim/engine/engine_library.hpp"
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

// Tasks of a shard: their indices are positions in it, their results lines of CSV.
TaskSet cell_tasks(const Experiment& experiment, const Shard& shard) {
  TaskSet set;
  set.make_task = [&experiment, &shard]() -> Task {
    return [runner = std::make_shared<CellRunner>(experiment), &shard](std::size_t position,
                                                                       const TaskInput&) {
      return to_csv(runner->run(shard.cell(position)));
    };
  };
  set.name_of = [&experiment, &shard](std::size_t position) {
    return "cell " + cell_key(experiment, experiment.cells[shard.cell(position)]);
  };
  // Transfers of a program of one step per rank: only good enough to find the few large cells.
  set.cost = [&experiment, &shard](std::size_t position) {
    const Cell& cell = experiment.cells[shard.cell(position)];
    const ExperimentFabric& fabric = experiment.fabrics[cell.fabric];
    const double repetitions = fabric.random() ? static_cast<double>(experiment.repetitions) : 1;
    return repetitions * fabric.fabric->ranks() * cell.config.channels * cell.config.instances;
  };
  const std::string part =
      shard.whole() ? "" : fmt::format("shard {}/{} of ", shard.number, shard.count);
  set.identity = fmt::format("{}experiment {}", part, experiment.hash());
  return set;
}

// Refuses a run whose rows cannot all be written. A row has at least its hash, its key and its
// commas.
void require_room_for_rows(const Experiment& experiment, const Shard& shard,
                           const ResultsFile& results, const std::string& path) {
  const std::string header = result_header();
  const auto fixed = static_cast<double>(experiment.hash().size() + 2) +
                     static_cast<double>(std::count(header.begin(), header.end(), ','));
  double bytes = 0;
  double added = 0;
  for (std::size_t row = 0; row < shard.size(experiment.cells.size()); ++row) {
    const double least =
        fixed + static_cast<double>(cell_key(experiment, experiment.cells[shard.cell(row)]).size());
    bytes += least;
    if (row >= results.rows()) added += least;
  }
  require_room(path, bytes, added, "fewer cells, or --shard, need less");
}

}  // namespace

void run_experiment(const Experiment& experiment, const RunOptions& options,
                    const RunObserver& observer) {
  const Shard& shard = options.shard;
  TaskSet tasks = cell_tasks(experiment, shard);
  const TaskOptions task_options{.place = options.place,
                                 .jobs = options.jobs,
                                 .task_timeout_s = options.cell_timeout_s,
                                 .peer_timeout_s = options.peer_timeout_s,
                                 .task_noun = "cell",
                                 .option_of_timeout = "--cell-timeout",
                                 .notice = observer.on_fault};
  if (options.sent != nullptr) {
    tasks.make_task = options.sent->make_task;
    tasks.identity = options.sent->identity;
    tasks.common = options.sent->common;
  } else {
    share_tasks(tasks, task_options);
  }
  load_engine_library(experiment.engine);
  check_run_folder(options.folder);
  if (!shard.whole() && !options.fresh) check_shard_folder(experiment, shard, options.folder);
  make_folder(options.folder);
  const std::size_t cells = shard.size(experiment.cells.size());
  ResultsFile results(results_path(options.folder, shard), experiment, shard, options.fresh,
                      options.advice);
  save_run_experiment(experiment, options.folder);
  const std::size_t found = results.done();
  if (observer.on_start) observer.on_start(found, results.dropped_row());
  if (results.rows() == cells) return;
  require_room_for_rows(experiment, shard, results, results_path(options.folder, shard));
  remove_what_is_made_last(experiment, options.folder);
  tasks.tasks = results.left();
  const auto take = [&](std::span<const TaskReply> rows) {
    results.add(rows);
    if (observer.on_progress) observer.on_progress(results.done());
  };
  run_tasks(tasks, task_options, take);
  // Rows of an earlier run that were only waiting for this one.
  results.add({});
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
