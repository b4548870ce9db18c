// Experiments, reports, and comparisons with measurements.
#include <algorithm>
#include <functional>
#include <optional>
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <vector>

#include "calibration/compare/compare.hpp"
#include "calibration/measure/systems.hpp"
#include "experiments/measured/measured_file.hpp"
#include "experiments/report/report.hpp"
#include "experiments/run/results.hpp"
#include "experiments/run/run_experiment.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/summary/report_summary.hpp"
#include "experiments/sweep/experiment_options.hpp"
#include "experiments/sweep/load_experiment.hpp"
#include "python/bindings.hpp"

namespace py = pybind11;

namespace cclgym::bindings {
namespace {

using Progress = std::optional<std::function<void(std::size_t done, std::size_t all)>>;

/// Called between cells without Python's lock: reports, and raises KeyboardInterrupt after Ctrl-C.
void between_cells(const Progress& progress, std::size_t done, std::size_t all) {
  const py::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  if (progress) (*progress)(done, all);
}

struct Swept {
  std::vector<std::string> warnings;
  std::vector<std::string> left_out;
  std::string folder;
};

/// Runs an experiment from a file, or from a text with the name that messages have for it.
Swept sweep(const std::string& source, const std::optional<std::string>& text,
            const std::optional<std::string>& engine, const std::optional<std::string>& folder,
            bool fresh, const Progress& progress) {
  const py::gil_scoped_release release;
  if (folder) check_run_folder(*folder);
  Experiment experiment = text ? parse_experiment(*text, source) : load_experiment(source);
  if (engine) {
    const OptionSpec& spec = experiment_option("engine");
    experiment.engine = spec.choices[read_choice(*engine, spec, {"engine", 0, 0})];
  }
  const RunOptions options{
      .folder = folder.value_or(default_run_folder(experiment)),
      .fresh = fresh,
      .advice = "choose another folder with out, or start over with fresh=True"};
  const std::size_t all = experiment.cells.size();
  run_experiment(experiment, options,
                 {.on_start = [&](std::size_t found, bool) { between_cells(progress, found, all); },
                  .on_progress = [&](std::size_t done) { between_cells(progress, done, all); }});
  (void)write_timelines(experiment, options.folder);
  return {experiment.warnings, experiment.skipped, options.folder};
}

std::string report(const std::string& folder, const std::string& out) {
  const py::gil_scoped_release release;
  if (!out.empty()) refuse_file_of_run(out, folder, {"out", 0, 0});
  const Experiment experiment = load_run_experiment(folder);
  const ResultTable results = read_run_results(experiment, folder);
  return write_report(experiment, results.rows, folder, out, dispatchers_of(experiment));
}

CellFilter filter_of(const std::optional<std::string>& fabric,
                     const std::vector<std::string>& systems,
                     const std::vector<std::string>& collectives, std::optional<int> max_ranks,
                     const std::optional<std::string>& nccl,
                     const std::optional<std::string>& tuner) {
  CellFilter filter{.fabric = fabric, .systems = systems, .max_ranks = max_ranks};
  filter.nccl_version = nccl;
  if (tuner) set_tuner(filter, *tuner, {"tuner", 0, 0});
  for (const std::string& name : collectives) {
    const auto kind = measured_collective(name);
    if (!kind) throw UserError(unknown_name_message("collective", name, collective_names()));
    filter.collectives.push_back(*kind);
  }
  return filter;
}

py::dict compare_measured(const std::string& path, const std::optional<std::string>& fabric,
                          const std::optional<std::string>& cost_model,
                          const std::vector<std::string>& systems,
                          const std::vector<std::string>& collectives, std::optional<int> max_ranks,
                          const std::optional<std::string>& nccl,
                          const std::optional<std::string>& tuner, std::optional<int> ranks,
                          std::optional<int> nodes, const Progress& progress) {
  std::optional<py::gil_scoped_release> release(std::in_place);
  CellFilter filter = filter_of(fabric, systems, collectives, max_ranks, nccl, tuner);
  MeasuredFileContext context{.ranks = ranks, .nodes = nodes, .nccl_version = nccl};
  if (systems.size() == 1) context.system = systems.front();
  if (filter.collectives.size() == 1) context.collective = filter.collectives.front();
  const std::vector<Measurement> rows = read_measured_file(path, context);
  std::string guessed;
  const bool named =
      std::ranges::none_of(rows, [](const Measurement& row) { return row.system.empty(); });
  if (!named && !fabric) {
    const GuessedFabric guess = guess_fabric(rows, path);
    filter.fabric = guess.fabric;
    guessed = guess.note;
  }
  MeasuredCells cells = make_cells(rows, filter, path);
  if (filter.fabric && systems.empty()) require_one_system(cells, path);
  const std::size_t all = cells.cells.size();
  const Comparison comparison =
      compare(path, std::move(cells), cost_model, {.jobs = 1},
              [&](std::size_t done) { between_cells(progress, done, all); });
  const std::string csv = comparison_csv(comparison);
  const std::string text = comparison_text(comparison, 15);
  const std::string html = comparison_html(comparison);
  std::vector<std::string> refused;
  std::vector<std::string> warnings = comparison.warnings;
  if (!guessed.empty()) warnings.insert(warnings.begin(), guessed);
  for (const RefusedRows& one : comparison.refused) {
    refused.push_back(UserError(one.first, one.reason).what());
  }
  release.reset();
  return py::dict(py::arg("csv") = csv, py::arg("text") = text, py::arg("html") = html,
                  py::arg("refused") = refused, py::arg("warnings") = warnings);
}

}  // namespace

void bind_batches(py::module_& module) {
  module.def("sweep",
             [](const std::string& source, const std::optional<std::string>& text,
                const std::optional<std::string>& engine, const std::optional<std::string>& folder,
                bool fresh, const Progress& progress) {
               const Swept swept = sweep(source, text, engine, folder, fresh, progress);
               return py::make_tuple(swept.folder, swept.warnings, swept.left_out);
             });
  module.def("report", &report);
  module.def("compare", &compare_measured);
}

}  // namespace cclgym::bindings
