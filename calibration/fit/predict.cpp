#include "calibration/fit/predict.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>

#include "calibration/fit/cell_simulator.hpp"
#include "calibration/fit/prediction_rounds.hpp"
#include "core/error.hpp"
#include "cost_models/parameters/shipped_sets.hpp"

namespace cclgym {

// Cells of a group that one thread simulates in sequence, with its own simulator.
struct Predictor::Part {
  const PredictionSite* site = nullptr;
  std::vector<std::size_t> cells;
  std::unique_ptr<CellSimulator> simulator{};
};

Predictor::Predictor(std::vector<MeasuredCell> cells, std::size_t threads)
    : cells_(std::move(cells)),
      threads_(std::max<std::size_t>(1, threads)),
      site_of_(cells_.size(), nullptr) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> sites;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    sites[{fabric_label(cells_[i].fabric), cells_[i].cost_model}].push_back(i);
  }
  for (const auto& [key, members] : sites) {
    auto site = std::make_unique<PredictionSite>();
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
                      "--nodes and --ranks, or the columns nodes and ranks",
                      first.ranks, first.nodes, first.nodes == 1 ? "" : "s", key.first,
                      site->fabric->ranks(), site->fabric->servers()));
    }
    site->set = parameter_set_for(key.second, *site->fabric);
    for (const std::size_t cell : members) site_of_[cell] = site.get();
    std::vector<std::string> warnings = site->fabric->warnings();
    warnings.push_back(cost_model_warning(site->set.model, *site->fabric));
    for (const std::string& warning : warnings) {
      if (!warning.empty() &&
          std::find(warnings_.begin(), warnings_.end(), warning) == warnings_.end()) {
        warnings_.push_back(warning);
      }
    }
    std::map<CollectiveKind, std::vector<std::size_t>> of_collective;
    for (const std::size_t cell : members) of_collective[cells_[cell].collective].push_back(cell);
    for (auto& [collective, of_group] : of_collective) {
      // Sorts by size: larger messages begin like smaller ones (Simulator keeps their tiles).
      std::stable_sort(of_group.begin(), of_group.end(), [this](std::size_t a, std::size_t b) {
        return cells_[a].bytes < cells_[b].bytes;
      });
      groups_.push_back({site.get(), std::move(of_group)});
    }
    sites_.push_back(std::move(site));
  }
  // Large fabrics take longest, so they start first.
  std::stable_sort(groups_.begin(), groups_.end(), [](const auto& a, const auto& b) {
    return a.site->fabric->ranks() > b.site->fabric->ranks();
  });
}

Predictor::~Predictor() = default;

const ParameterSet& Predictor::set_of(std::size_t cell) const { return site_of_[cell]->set; }

const Fabric& Predictor::fabric_of(std::size_t cell) const { return *site_of_[cell]->fabric; }

void Predictor::share(const TaskOptions& options, std::optional<SharedModels> models) {
  if (options.place == nullptr) return;
  rounds_ = std::make_unique<PredictionRounds>(cells_, groups_, options, std::move(models));
  rounds_->share();
}

void Predictor::make_parts() {
  // If there are few groups, they are divided among the threads, interleaved because large messages
  // take longer. Cells of one size stay together: many of them have the same configuration.
  const std::size_t divide = groups_.size() < 2 * threads_ ? threads_ : 1;
  for (const PredictionGroup& group : groups_) {
    std::vector<std::unique_ptr<Part>> parts;
    std::size_t sizes = 0;
    for (std::size_t i = 0; i < group.cells.size(); ++i) {
      const bool fresh = i == 0 || cells_[group.cells[i]].bytes != cells_[group.cells[i - 1]].bytes;
      if (fresh && sizes++ < divide) {
        parts.push_back(std::make_unique<Part>());
        parts.back()->site = group.site;
      }
      parts[(sizes - 1) % divide]->cells.push_back(group.cells[i]);
    }
    std::ranges::move(parts, std::back_inserter(parts_));
  }
}

std::vector<std::vector<Prediction>> Predictor::predict(std::span<const PredictionRequest> requests,
                                                        const PredictionProgress& on_answer) {
  if (rounds_) return rounds_->predict(requests, on_answer);
  std::vector<std::vector<Prediction>> answers;
  for (const PredictionRequest& request : requests) {
    if (!choosing_) choosing_ = request.model;
    answers.push_back(run(&request.model, request.wanted, {}));
    if (on_answer) on_answer(answers.size());
  }
  return answers;
}

std::vector<Prediction> Predictor::predict(const CostModel& model,
                                           const std::vector<bool>& wanted) {
  const PredictionRequest request{model, wanted};
  return std::move(predict({&request, 1}).front());
}

std::vector<Prediction> Predictor::predict(const PredictionProgress& progress) {
  if (rounds_) return rounds_->predict_own(progress);
  return run(nullptr, {}, progress);
}

std::vector<Prediction> Predictor::run(const CostModel* model, const std::vector<bool>& wanted,
                                       const PredictionProgress& progress) {
  if (parts_.empty()) make_parts();
  std::vector<Prediction> predictions(cells_.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;  // guards the variables below
  std::exception_ptr failure;
  std::size_t done = 0;
  const auto on_cell = [&] {
    if (!progress) return;
    const std::lock_guard lock(mutex);
    progress(++done);
  };
  const auto work = [&] {
    try {
      for (std::size_t p = next++; p < parts_.size(); p = next++) {
        run_part(*parts_[p], model, wanted, predictions, on_cell);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = parts_.size();
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t t = 1; t < std::min(threads_, parts_.size()); ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  return predictions;
}

void Predictor::run_part(Part& part, const CostModel* model, const std::vector<bool>& wanted,
                         std::vector<Prediction>& predictions,
                         const std::function<void()>& on_cell) {
  const CostModel& own = part.site->set.model;
  if (!part.simulator) {
    part.simulator =
        std::make_unique<CellSimulator>(*part.site, model != nullptr ? *choosing_ : own);
  }
  part.simulator->use(model != nullptr ? *model : own);
  for (const std::size_t cell : part.cells) {
    if (!wanted.empty() && !wanted[cell]) continue;
    predictions[cell] = part.simulator->predict(cell, cells_[cell]);
    on_cell();
  }
  if (model == nullptr) part.simulator.reset();  // large simulators take much memory
}

}  // namespace cclgym
