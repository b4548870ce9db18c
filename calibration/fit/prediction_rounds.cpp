#include "calibration/fit/prediction_rounds.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <ctime>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "calibration/fit/cell_simulator.hpp"
#include "core/hash.hpp"
#include "core/tasks/wire.hpp"

namespace cclgym {

namespace {

// Tasks per worker: more of them spread the work more evenly, but each simulates the first tiles of
// its messages again. Set by hand.
constexpr double kTasksPerWorker = 3;

std::size_t number_from(std::string_view& bytes) {
  const auto number = get<std::size_t>(bytes);
  if (!number) throw std::runtime_error("a task of predictions is incomplete");
  return *number;
}

double processor_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

// State of a worker process: the models of the round, and simulators by group.
class PredictionRounds::Worker {
 public:
  explicit Worker(const PredictionRounds& rounds) : rounds_(rounds) {}

  // Simulates a chunk: its request, group and cells are the task's input. The result has the
  // processor time and the prediction of each cell.
  std::string predict(const TaskInput& input) {
    std::string_view bytes = input.own;
    const std::size_t request = number_from(bytes);
    CellSimulator& simulator = simulator_of(number_from(bytes));
    if (rounds_.models_) {
      read_models(input.common);
      simulator.use(models_.at(request));
    }
    std::string results;
    while (!bytes.empty()) {
      const std::size_t cell = number_from(bytes);
      const double start_s = processor_s();
      const Prediction prediction = simulator.predict(cell, rounds_.cells_.at(cell));
      put(results, processor_s() - start_s);
      put_text(results, prediction_bytes(prediction));
    }
    return results;
  }

 private:
  CellSimulator& simulator_of(std::size_t group) {
    // Without further rounds, a group that is done is not needed again, and large simulators take
    // much memory.
    if (!rounds_.models_ && !simulators_.contains(group)) simulators_.clear();
    std::unique_ptr<CellSimulator>& simulator = simulators_[group];
    if (!simulator) {
      const PredictionSite& site = *rounds_.groups_.at(group).site;
      simulator = std::make_unique<CellSimulator>(
          site, rounds_.models_ ? rounds_.models_->choosing : site.set.model);
    }
    return *simulator;
  }

  void read_models(std::string_view common) {
    if (common == common_) return;
    common_ = common;
    models_.clear();
    while (const auto difference = get_text(common)) {
      models_.push_back(read_difference(rounds_.models_->base, *difference));
    }
  }

  const PredictionRounds& rounds_;
  std::string common_;
  std::vector<CostModel> models_;
  std::map<std::size_t, std::unique_ptr<CellSimulator>> simulators_;
};

PredictionRounds::PredictionRounds(const std::vector<MeasuredCell>& cells,
                                   const std::vector<PredictionGroup>& groups, TaskOptions options,
                                   std::optional<SharedModels> models)
    : cells_(cells),
      groups_(groups),
      options_(std::move(options)),
      models_(std::move(models)),
      workers_(std::max<std::size_t>(1, options_.jobs)),
      seconds_(cells.size()) {
  if (options_.place != nullptr) workers_ *= options_.place->ranks();
  set_.make_task = [this]() -> Task {
    return [worker = std::make_shared<Worker>(*this)](std::size_t, const TaskInput& input) {
      return worker->predict(input);
    };
  };
  set_.name_of = [this](std::size_t index) {
    const Chunk& chunk = chunks_.at(index);
    const std::string more =
        chunk.cells.size() > 1 ? fmt::format(" and {} more", chunk.cells.size() - 1) : "";
    return cells_[chunk.cells.front()].label() + more;
  };
  set_.cost = [this](std::size_t index) { return chunks_.at(index).cost; };
  set_.input = [this](std::size_t index) {
    const Chunk& chunk = chunks_.at(index);
    std::string bytes;
    put(bytes, chunk.request);
    put(bytes, chunk.group);
    for (const std::size_t cell : chunk.cells) put(bytes, cell);
    return bytes;
  };
  set_.identity = identity();
  options_.task_noun = "group of cells";
}

void PredictionRounds::share() { share_tasks(set_, options_); }

std::vector<std::vector<Prediction>> PredictionRounds::predict(
    std::span<const PredictionRequest> requests, const PredictionProgress& on_answer) {
  if (!models_) throw std::logic_error("the cells were shared without models");
  set_.common.clear();
  std::vector<Chunk> whole;
  std::vector<std::size_t> left;  // cells by request
  for (const PredictionRequest& request : requests) {
    put_text(set_.common, difference_bytes(models_->base, request.model));
    std::size_t wanted = 0;
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      Chunk chunk{.request = left.size(), .group = group};
      for (const std::size_t cell : groups_[group].cells) {
        if (request.wanted.empty() || request.wanted[cell]) chunk.cells.push_back(cell);
      }
      wanted += chunk.cells.size();
      whole.push_back(std::move(chunk));
    }
    left.push_back(wanted);
  }
  divide(std::move(whole));
  std::size_t done = 0;
  return run(requests.size(), [&](const Chunk& chunk) {
    left[chunk.request] -= chunk.cells.size();
    if (left[chunk.request] == 0 && on_answer) on_answer(++done);
  });
}

std::vector<Prediction> PredictionRounds::predict_own(const PredictionProgress& on_cell) {
  if (models_) throw std::logic_error("the cells were shared with models");
  std::vector<Chunk> whole;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    whole.push_back({.request = 0, .group = group, .cells = groups_[group].cells});
  }
  divide(std::move(whole));
  std::size_t done = 0;
  return std::move(run(1, [&](const Chunk& chunk) {
                     done += chunk.cells.size();
                     if (on_cell) on_cell(done);
                   }).front());
}

// Divides the cells of each group and request into tasks of about equal cost, but no more than keep
// all workers busy.
void PredictionRounds::divide(std::vector<Chunk> whole) {
  double total = 0;
  for (Chunk& chunk : whole) {
    for (const std::size_t cell : chunk.cells) chunk.cost += cost_of(cell);
    total += chunk.cost;
  }
  const double limit = total / (kTasksPerWorker * static_cast<double>(workers_));
  chunks_.clear();
  for (const Chunk& chunk : whole) {
    const double share = chunk.cost / std::ceil(chunk.cost / limit);
    double before = 0;  // cost of the chunk's cells so far
    double end = 0;     // cost at which the task ends
    for (const std::size_t cell : chunk.cells) {
      if (before >= end * (1 - 1e-9)) {
        chunks_.push_back({.request = chunk.request, .group = chunk.group});
        while (end <= before * (1 + 1e-9)) end += share;
      }
      chunks_.back().cells.push_back(cell);
      chunks_.back().cost += cost_of(cell);
      before += cost_of(cell);
    }
  }
  set_.tasks.resize(chunks_.size());
  std::iota(set_.tasks.begin(), set_.tasks.end(), std::size_t{0});
}

std::vector<std::vector<Prediction>> PredictionRounds::run(
    std::size_t requests, const std::function<void(const Chunk& chunk)>& on_chunk) {
  std::vector<std::vector<Prediction>> answers(requests, std::vector<Prediction>(cells_.size()));
  run_tasks(set_, options_, [&](std::span<const TaskReply> replies) {
    for (const TaskReply& reply : replies) {
      const Chunk& chunk = chunks_.at(reply.index);
      std::string_view bytes = reply.text;
      for (const std::size_t cell : chunk.cells) {
        const auto seconds = get<double>(bytes);
        const auto prediction = get_text(bytes);
        if (!seconds || !prediction) throw std::runtime_error("a result is incomplete");
        seconds_[cell] = *seconds;
        answers[chunk.request][cell] = read_prediction(*prediction);
      }
      on_chunk(chunk);
    }
  });
  return answers;
}

// Processor time if it is known of all cells, as after a first round; otherwise a rough estimate
// from the number of transfers.
double PredictionRounds::cost_of(std::size_t cell) const {
  if (seconds_[cell] > 0) return seconds_[cell];
  const double ranks = cells_[cell].ranks;
  constexpr double kSecondsPerTransfer = 1e-5;  // set by hand
  const bool all_pairs = cells_[cell].collective == CollectiveKind::AllToAll;
  return kSecondsPerTransfer * ranks * (all_pairs ? ranks : 1);
}

std::string PredictionRounds::identity() const {
  TextHash hash;
  const auto add_number = [&hash](double number) {
    hash.add(std::bit_cast<std::uint64_t>(number));
  };
  if (models_) {
    for (const CostModel* model : {&models_->base, &models_->choosing}) {
      hash.add(model->label() + model->canonical_text());
    }
  }
  for (const PredictionGroup& group : groups_) {
    hash.add(group.site->fabric->canonical_text());
    hash.add(group.site->set.model.label() + group.site->set.model.canonical_text());
    for (const std::size_t index : group.cells) {
      const MeasuredCell& cell = cells_[index];
      hash.add(cell.label());
      hash.add(cell.nccl_version);
      hash.add(cell.tuner);
      hash.add(cell.bytes);
      hash.add(static_cast<std::uint64_t>(cell.rows));
      for (const double time_s : {cell.time_s, cell.least_s, cell.most_s}) add_number(time_s);
      hash.add(prediction_bytes({.config = cell.named.value_or(Config{})}));
    }
  }
  return fmt::format("{} measured cells ({})", cells_.size(), hash.hex());
}

}  // namespace cclgym
