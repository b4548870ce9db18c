#include "calibration/fit/predict.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

#include "calibration/measure/repeated_calls.hpp"
#include "core/error.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/call/tiles.hpp"
#include "sim/lowering/transfer_cost.hpp"
#include "sim/simulator.hpp"
#include "sim/tuners/nccl_default_tuner.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

namespace {

// The error of extrapolating from so few tiles is below the scatter of measurements: at most 2.1 %,
// where the paths of a tree collide (Alps, 256 ranks, 2 GiB), for a sixth of the time.
constexpr TileBudget kTileBudget{.whole = 24, .first = 12, .firings = 300'000};

}  // namespace

// A fabric and the parameter set that its cells use by default.
struct Predictor::Site {
  std::shared_ptr<const Fabric> fabric;
  ParameterSet set;
};

// Cells of one site that one thread simulates in sequence, with its own simulator.
struct Predictor::Task {
  const Site* site = nullptr;
  std::vector<std::size_t> cells;
  std::unique_ptr<Simulator> simulator;
  std::map<std::string, std::unique_ptr<const Tuner>> tuners;       // by release of NCCL
  std::vector<std::optional<Config>> configs;                       // nullopt until they are known
  std::map<int, std::shared_ptr<const ThreadBlockProgram>> chains;  // by channels

  [[nodiscard]] Config config_of(const MeasuredCell& cell, const CostModel& model) {
    if (cell.named) {
      return cell.named->tile_bytes > 0 ? *cell.named : with_protocol_tiles(model, *cell.named);
    }
    auto& tuner = tuners[cell.tuner + cell.nccl_version];
    if (!tuner) {
      const TunerSite where{
          .fabric = site->fabric, .fabric_label = fabric_label(cell.fabric), .cost_model = model};
      tuner = cell.tuner.empty() ? make_nccl_default_tuner(cell.nccl_version, where)
                                 : make_tuner(cell.tuner, where);
    }
    return tuner->choose({cell.collective, cell.bytes, 0});
  }

  // Time as measured by nccl-tests, which issues calls back to back. If no rank can finish before
  // all have begun, that is the time of one call; a broadcast's root does not wait.
  [[nodiscard]] double time_s(const Call& call, const Config& config) {
    if (call.collective != CollectiveKind::Broadcast || config.algorithm != "ring") {
      return simulator->simulate(call, config).time_s;
    }
    auto& chain = chains[config.channels];
    if (!chain) chain = broadcast_chain(*site->fabric, config.channels, call.root);
    return time_between_calls_s(simulator->record_program(chain, call, config));
  }

  [[nodiscard]] Prediction predict(std::size_t index, const MeasuredCell& cell,
                                   const CostModel& model) {
    Prediction prediction;
    try {
      if (!configs[index]) configs[index] = config_of(cell, model);
      prediction.config = *configs[index];
      prediction.cost_model = model.label();
      const Call call{cell.collective, cell.bytes, 0};
      prediction.time_s = time_s(call, prediction.config);
    } catch (const UserError& error) {
      prediction.refusal = error.what();
    } catch (const SimulationStalled& error) {
      prediction.refusal = error.what();
    }
    return prediction;
  }
};

Predictor::Predictor(std::vector<MeasuredCell> cells, std::size_t threads)
    : cells_(std::move(cells)),
      threads_(std::max<std::size_t>(1, threads)),
      site_of_(cells_.size(), nullptr) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> sites;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    sites[{fabric_label(cells_[i].fabric), cells_[i].cost_model}].push_back(i);
  }
  std::vector<std::pair<const Site*, std::vector<std::size_t>>> groups;
  for (const auto& [key, members] : sites) {
    auto site = std::make_unique<Site>();
    const MeasuredCell& first = cells_[members.front()];
    try {
      site->fabric = make_fabric(first.fabric);
    } catch (const UserError& error) {
      throw UserError(first.where, fmt::format("{} ranks on {} nodes: {}", first.ranks, first.nodes,
                                               error.what()));
    }
    if (site->fabric->ranks() != first.ranks) {
      throw UserError(
          first.where,
          fmt::format("found {} ranks on {} node{}; fabric '{}' has {} GPUs on {}; check "
                      "the columns nodes and ranks",
                      first.ranks, first.nodes, first.nodes == 1 ? "" : "s", key.first,
                      site->fabric->ranks(), site->fabric->servers()));
    }
    site->set = parameter_set_for(key.second, *site->fabric);
    for (const std::size_t cell : members) site_of_[cell] = site.get();
    const std::string warning = cost_model_warning(site->set.model, *site->fabric);
    if (!warning.empty() &&
        std::find(warnings_.begin(), warnings_.end(), warning) == warnings_.end()) {
      warnings_.push_back(warning);
    }
    std::map<CollectiveKind, std::vector<std::size_t>> of_collective;
    for (const std::size_t cell : members) of_collective[cells_[cell].collective].push_back(cell);
    for (auto& [collective, of_group] : of_collective) {
      // Sorts by size: larger messages begin like smaller ones (Simulator keeps their tiles).
      std::stable_sort(of_group.begin(), of_group.end(), [this](std::size_t a, std::size_t b) {
        return cells_[a].bytes < cells_[b].bytes;
      });
      groups.emplace_back(site.get(), std::move(of_group));
    }
    sites_.push_back(std::move(site));
  }
  // If there are few groups, they are divided among the threads, interleaved because large messages
  // take longer.
  const std::size_t divide = groups.size() < 2 * threads_ ? threads_ : 1;
  for (const auto& [site, of_group] : groups) {
    const std::size_t parts = std::min(divide, of_group.size());
    for (std::size_t part = 0; part < parts; ++part) {
      auto task = std::make_unique<Task>();
      task->site = site;
      for (std::size_t i = part; i < of_group.size(); i += parts)
        task->cells.push_back(of_group[i]);
      task->configs.resize(task->cells.size());
      tasks_.push_back(std::move(task));
    }
  }
  // Long tasks start first.
  std::stable_sort(tasks_.begin(), tasks_.end(), [](const auto& a, const auto& b) {
    return a->site->fabric->ranks() > b->site->fabric->ranks();
  });
}

Predictor::~Predictor() = default;

const ParameterSet& Predictor::set_of(std::size_t cell) const { return site_of_[cell]->set; }

std::vector<Prediction> Predictor::predict(const CostModel& model, const std::vector<bool>& wanted,
                                           const PredictionProgress& progress) {
  return run(&model, wanted, progress);
}

std::vector<Prediction> Predictor::predict(const PredictionProgress& progress) {
  return run(nullptr, {}, progress);
}

std::vector<Prediction> Predictor::run(const CostModel* model, const std::vector<bool>& wanted,
                                       const PredictionProgress& progress) {
  std::vector<Prediction> predictions(cells_.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;  // guards the variables below
  std::exception_ptr failure;
  std::size_t done = 0;
  const auto work = [&] {
    try {
      for (std::size_t t = next++; t < tasks_.size(); t = next++) {
        Task& task = *tasks_[t];
        const CostModel& used = model != nullptr ? *model : task.site->set.model;
        if (task.simulator) {
          task.simulator->set_cost_model(used);
        } else {
          task.simulator = std::make_unique<Simulator>(task.site->fabric, used, "flow");
          task.simulator->set_tile_budget(kTileBudget);
        }
        for (std::size_t i = 0; i < task.cells.size(); ++i) {
          const std::size_t cell = task.cells[i];
          if (!wanted.empty() && !wanted[cell]) continue;
          predictions[cell] = task.predict(i, cells_[cell], used);
          if (!progress) continue;
          const std::lock_guard lock(mutex);
          progress(++done);
        }
        if (model == nullptr) task.simulator.reset();  // large simulators take much memory
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = tasks_.size();
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t t = 1; t < std::min(threads_, tasks_.size()); ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  return predictions;
}

}  // namespace cclgym
