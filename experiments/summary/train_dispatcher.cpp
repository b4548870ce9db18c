#include "experiments/summary/train_dispatcher.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "agents/baselines/svm.hpp"
#include "core/random.hpp"
#include "core/units.hpp"
#include "sim/tuners/pccl_tuner.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kFewestCells = 5;

// Times of a collective by number of GPUs and size; each cell has the times of the seeds by
// backend.
using Place = std::pair<int, std::uint64_t>;
using Grid = std::map<Place, std::map<std::size_t, std::vector<double>>>;

class DispatcherTrainer {
 public:
  DispatcherTrainer(const Experiment& experiment, std::span<const ResultRow> rows,
                    const DispatcherTraining& training, const SourceLocation& where)
      : experiment_(experiment), rows_(rows), training_(training), where_(where) {}

  Dispatcher train() {
    result_.trials = training_.trials;
    result_.sigma = training_.sigma;
    result_.seed = training_.seed;
    result_.experiment = fmt::format("{} ({})", experiment_.name, experiment_.hash());
    if (experiment_.time_of != TimeOf::Call) {
      refuse("the sweep has times of parts of calls (time_of); a dispatcher needs whole calls");
    }
    read_machine();
    read_backends();
    std::vector<CollectiveKind> kinds;
    std::map<CollectiveKind, Grid> grids;
    for (const ResultRow& row : rows_) {
      const CollectiveKind kind = collective_named(row.collective, where_);
      if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
      grids[kind][{row.ranks, row.size_bytes}][backend(row.algorithm)].push_back(row.time_us);
    }
    for (const CollectiveKind kind : kinds)
      result_.collectives.push_back(trained(kind, grids[kind]));
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw UserError(where_, what); }

  void read_machine() {
    std::map<int, std::string> labels_of;  // by number of GPUs
    std::set<int> wide;                    // GPUs of a node, where there are several nodes
    for (const ExperimentFabric& one : experiment_.fabrics) {
      const std::string& name = one.fabric->name();
      if (result_.fabric.empty()) {
        result_.fabric = name;
        result_.cost_model = one.cost_model.label();
      }
      if (name != result_.fabric) {
        refuse(fmt::format("the sweep has the machines {} and {}; a dispatcher is for one machine",
                           quoted(result_.fabric), quoted(name)));
      }
      if (one.label != one.plain_label) {
        refuse(
            fmt::format("the sweep has noise ('{}'); the trials of --svm have noise of their "
                        "own: leave the sweep's out",
                        one.label));
      }
      const auto [known, fresh] = labels_of.emplace(one.fabric->ranks(), one.label);
      if (!fresh) {
        refuse(
            fmt::format("the sweep has two fabrics of {} GPUs, {} and {}; a dispatcher knows "
                        "only their number",
                        one.fabric->ranks(), quoted(known->second), quoted(one.label)));
      }
      const int gpus = one.fabric->ranks_per_server().value_or(0);
      if (one.fabric->servers() > 1) wide.insert(gpus);
      result_.gpus_per_node = std::max(result_.gpus_per_node, gpus);
    }
    if (wide.size() > 1 || (wide.size() == 1 && *wide.begin() != result_.gpus_per_node)) {
      refuse("the sweep has several numbers of GPUs per node; a dispatcher is for one");
    }
  }

  void read_backends() {
    for (const ResultRow& row : rows_) {
      if (std::ranges::find(result_.backends, row.algorithm) != result_.backends.end()) continue;
      if (!row.chosen()) {
        refuse(
            fmt::format("algorithm {} of the sweep is no tuner; a dispatcher chooses among "
                        "tuners, e.g. pccl:ring",
                        quoted(row.algorithm)));
      }
      if (!dispatcher_path(row.algorithm, {}).empty()) {
        refuse(fmt::format("the sweep has the dispatcher {}; leave it out of the sweep",
                           quoted(row.algorithm)));
      }
      result_.backends.push_back(row.algorithm);
    }
    if (result_.backends.size() < 2) {
      refuse(fmt::format("the sweep has {} tuner{}; a dispatcher chooses among two or more",
                         result_.backends.size(), result_.backends.size() == 1 ? "" : "s"));
    }
  }

  [[nodiscard]] std::size_t backend(const std::string& name) const {
    return static_cast<std::size_t>(std::ranges::find(result_.backends, name) -
                                    result_.backends.begin());
  }

  // Mean over the trials of the mean over the seeds.
  [[nodiscard]] double trials_us(CollectiveKind kind, const Place& place, std::size_t backend,
                                 const std::vector<double>& times_us) const {
    double simulated = 0;
    for (const double time : times_us) simulated += time;
    simulated /= static_cast<double>(times_us.size());
    double sum = 0;
    for (int trial = 0; trial < training_.trials; ++trial) {
      Random random =
          Random::stream(training_.seed,
                         {static_cast<std::uint64_t>(kind), static_cast<std::uint64_t>(place.first),
                          place.second, backend, static_cast<std::uint64_t>(trial)});
      sum += simulated * portable_exp(random.normal(0, training_.sigma));
    }
    return sum / training_.trials;
  }

  [[nodiscard]] CollectiveDispatcher trained(CollectiveKind kind, const Grid& grid) const {
    CollectiveDispatcher part{.collective = kind};
    std::set<int> gpus;
    std::set<std::uint64_t> sizes;
    for (const auto& entry : grid) {
      gpus.insert(entry.first.first);
      sizes.insert(entry.first.second);
    }
    if (grid.size() < kFewestCells) {
      refuse(fmt::format("{} has {} cell{}; a dispatcher needs {} or more", to_string(kind),
                         grid.size(), grid.size() == 1 ? "" : "s", kFewestCells));
    }
    std::vector<SvmSample> samples;
    for (const int ranks : gpus) {
      for (const std::uint64_t bytes : sizes) {
        DispatcherCell cell{.gpus = ranks, .bytes = bytes};
        const auto found = grid.find({ranks, bytes});
        for (std::size_t b = 0; b < result_.backends.size(); ++b) {
          if (found == grid.end() || !found->second.contains(b)) {
            refuse(
                fmt::format("{} of {} on {} GPUs has no time of {}: the cell did not run, or "
                            "was left out; every cell needs all backends",
                            to_string(kind), format_bytes(bytes), ranks, result_.backends[b]));
          }
          cell.time_us.push_back(trials_us(kind, found->first, b, found->second.at(b)));
        }
        samples.push_back(
            {dispatcher_point(bytes, ranks), static_cast<int>(cell.best(result_.tie()))});
        part.cells.push_back(std::move(cell));
      }
    }
    const SvmClassifier svm(samples, training_.seed);
    for (const std::size_t cell : svm.held_out()) part.cells[cell].held_out = true;
    part.svm = svm.model();
    part.cross_validation = svm.cross_validation();
    return part;
  }

  const Experiment& experiment_;
  std::span<const ResultRow> rows_;
  const DispatcherTraining& training_;
  const SourceLocation& where_;
  Dispatcher result_;
};

}  // namespace

Dispatcher train_dispatcher(const Experiment& experiment, std::span<const ResultRow> rows,
                            const DispatcherTraining& training, const SourceLocation& where) {
  return DispatcherTrainer(experiment, rows, training, where).train();
}

std::string dispatcher_text(const Dispatcher& dispatcher) {
  std::string text = fmt::format("{}, {} GPUs a node, cost model {}: dispatcher over {}\n",
                                 dispatcher.fabric, dispatcher.gpus_per_node, dispatcher.cost_model,
                                 fmt::join(dispatcher.backends, ", "));
  text += fmt::format("{:<14} {:<28} {:>5}  {:>8}  {:>8}  {:>8}  {:>7}  {:>7}\n", "collective",
                      "rule", "cells", "accuracy", "of PCCL", "cross-v.", "regret", "worst");
  for (const CollectiveDispatcher& part : dispatcher.collectives) {
    const auto tested = std::ranges::count_if(part.cells, &DispatcherCell::held_out);
    const auto published = published_svm_accuracy(dispatcher.fabric, part.collective);
    bool first = true;
    for (const DispatcherScore& score : dispatcher_scores(dispatcher, part)) {
      text +=
          fmt::format("{:<14} {:<28} {:>5}  {:>8.3f}  {:>8}  {:>8}  {:>7.3f}  {:>7.2f}\n",
                      first ? to_string(part.collective) : "", score.rule, tested, score.accuracy,
                      first && published ? fmt::format("{:.3f}", *published) : "",
                      first ? fmt::format("{:.3f}", part.cross_validation) : "", score.regret,
                      score.worst_regret);
      first = false;
    }
  }
  return text;
}

}  // namespace cclgym
