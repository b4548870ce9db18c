#include "cli/synthesis/sweep_programs.hpp"

#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <memory>

#include "cli/runs/run_cells.hpp"
#include "collectives/library/algorithm_library.hpp"
#include "core/error.hpp"
#include "core/files/text_file.hpp"
#include "experiments/report/report.hpp"
#include "experiments/run/results.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/run/sent_cells.hpp"
#include "experiments/summary/tune_dispatch.hpp"
#include "experiments/sweep/cost_model_choice.hpp"
#include "experiments/sweep/load_experiment.hpp"
#include "sim/tuners/tuner.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {

namespace {

// True if the folder has results of this very experiment.
bool has_results(const Experiment& experiment, const std::string& folder) {
  try {
    (void)read_run_results(experiment, folder);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

// The sweep for processes that do not see the folder.
std::string sent_sweep(SynthesisSweep plan, const std::string& folder,
                       const std::vector<NamedText>& files, std::string hash) {
  const auto absolute = [&folder](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::path(folder) / path).string();
  };
  if (find_fabric_info(plan.fabric.name) == nullptr) {
    plan.fabric.name = absolute(plan.fabric.name);
  }
  if (is_parameter_file(plan.cost_model)) plan.cost_model = absolute(plan.cost_model);
  SentExperiment sent{.text = sweep_yaml(plan), .files = {}, .hash = std::move(hash)};
  for (const NamedText& file : files) sent.files.emplace_back(file.name, file.text);
  return sent_experiment(sent);
}

}  // namespace

std::vector<std::string> rivals_of(CollectiveKind collective, const Fabric& fabric,
                                   const CostModel& model) {
  std::vector<std::string> others;
  for (const std::string name : {"nccl-default", "ring", "naive"}) {
    try {
      if (is_tuner(name)) {
        (void)make_tuner(name,
                         {.fabric = std::make_shared<const Fabric>(fabric), .cost_model = model});
      } else if (!supports(AlgorithmLibrary::shipped().at(name), collective)) {
        continue;
      }
    } catch (const UserError&) {
      continue;  // NCCL does not run on the fabric
    }
    others.push_back(name);
  }
  return others;
}

std::string default_sizes(CollectiveKind collective, int ranks) {
  constexpr std::uint64_t kElement = 4;
  const std::uint64_t unit =
      kElement * static_cast<std::uint64_t>(size_granularity(collective, ranks));
  if (1024 % unit == 0) return "1KiB..1GiB x4";
  std::string sizes;
  std::uint64_t last = 0;
  for (std::uint64_t bytes = 1024; bytes <= std::uint64_t{1} << 30U; bytes *= 4) {
    const std::uint64_t whole = (bytes + unit - 1) / unit * unit;
    if (whole == last) continue;  // below the first multiple
    sizes += fmt::format("{}{}B", sizes.empty() ? "[" : ", ", whole);
    last = whole;
  }
  return sizes + "]";
}

const std::vector<std::string>& sweep_files() {
  static const std::vector<std::string> names{"sweep.yaml", "sweep/experiment.yaml",
                                              "sweep/results.csv", "sweep/report.html",
                                              "dispatch.yaml"};
  return names;
}

SweptTable sweep_programs(const SynthesisSweep& plan, const std::string& folder,
                          const std::vector<NamedText>& files, const SweepPlace& where) {
  const std::string path = folder + "/sweep.yaml";
  write_text_file(path, sweep_yaml(plan));
  const Experiment experiment = load_experiment(path);
  const std::string run_folder = folder + "/sweep";
  RunOptions options{.folder = run_folder,
                     .place = where.place,
                     .jobs = where.jobs,
                     .fresh = !has_results(experiment, run_folder),
                     .peer_timeout_s = where.peer_timeout_s};
  if (where.place != nullptr) {
    where.sent->common = sent_sweep(plan, folder, files, experiment.hash());
    options.sent = where.sent;
  }
  run_cells(experiment, options, where.quiet);
  const std::vector<ResultRow> rows = read_run_results(experiment, run_folder).rows;
  (void)write_report(experiment, rows, run_folder);
  constexpr double kTolerance = 0.01;
  const std::vector<TunedBlock> blocks = tune_dispatch(experiment, rows, kTolerance);
  return {.table = dispatch_table(experiment, blocks, folder),
          .text = tuned_text(experiment, blocks)};
}

}  // namespace cclgym
