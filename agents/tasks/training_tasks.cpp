#include "agents/tasks/training_tasks.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "agents/tasks/training_wire.hpp"
#include "agents/training/metrics.hpp"
#include "agents/trigger/trigger_file.hpp"
#include "core/error.hpp"
#include "core/files/text_file.hpp"
#include "core/hash.hpp"
#include "core/progress.hpp"

namespace cclgym {

namespace {

// Elapsed time of an agent's tasks: the first ones are short, so that it soon has a checkpoint. Set
// by hand.
constexpr double kFirstBudget_s = 0.5;
constexpr double kMaxBudget_s = 10;

struct AgentNumber {
  std::size_t training = 0;
  std::uint64_t seed = 0;
};

std::vector<AgentNumber> agents_of(std::span<const Training> trainings) {
  std::vector<AgentNumber> agents;
  for (std::size_t i = 0; i < trainings.size(); ++i) {
    for (const std::uint64_t seed : trainings[i].seeds) agents.push_back({i, seed});
  }
  return agents;
}

// Environments and experts of all trainings in one process.
struct Workshop {
  std::span<const Training> trainings;
  std::size_t threads = 1;
  std::vector<std::vector<std::string>> notices{};  // by training
  std::vector<std::unique_ptr<TrainingKit>> kits{};

  Workshop(std::span<const Training> all, std::size_t each)
      : trainings(all), threads(each), notices(all.size()) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      kits.push_back(std::make_unique<TrainingKit>(
          all[i].config, each, [this, i](const std::string& text) { notices[i].push_back(text); }));
    }
  }

  std::string train(const AgentNumber& agent, std::string_view input) {
    const auto order = read_training_order(input);
    if (!order) throw std::runtime_error("a training task has no order");
    const TrainConfig& config = trainings[agent.training].config;
    const double end_s = steady_now_s() + order->budget_s;
    Checkpoint state = order->checkpoint.empty()
                           ? begin_training(config, agent.seed, threads)
                           : read_checkpoint(order->checkpoint, "checkpoint of rank 0");
    TrainedPart part;
    state = continue_training(
        config, std::move(state), order->cpu_s, *kits[agent.training], threads,
        [&](const IterationReport& report, const std::function<Checkpoint()>& /*state*/) {
          part.reports.push_back(report);
          return steady_now_s() < end_s;
        });
    part.checkpoint = write_checkpoint(state);
    part.notices = notices[agent.training];
    part.ended = state.iteration >= static_cast<std::uint64_t>(config.iterations());
    if (part.ended) part.triggers = train_agent_triggers(config, state);
    return trained_part_bytes(part);
  }
};

std::string identity_of(std::span<const Training> trainings) {
  TextHash hash;
  std::string names;
  for (const Training& training : trainings) {
    const TrainConfig& config = training.config;
    names += (names.empty() ? "" : ", ") + config.name;
    hash.add(config.hash());
    for (const std::uint64_t seed : training.seeds) {
      hash.add(seed);
      if (config.start_from.empty()) continue;
      std::error_code error;
      for (const std::uint64_t from : {seed, std::uint64_t{1}}) {
        const std::string path = checkpoint_path(config.start_from, from);
        if (std::filesystem::exists(path, error)) hash.add(load_checkpoint_bytes(path));
      }
    }
  }
  return fmt::format("training {} ({})", names, hash.hex());
}

// An agent in the process that keeps its state and files.
class KeptAgent {
 public:
  KeptAgent(const Training& training, const AgentNumber& number)
      : training_(training), result_{.training = number.training, .seed = number.seed} {
    const std::string own = seed_folder(training.folder, number.seed);
    std::error_code error;
    std::filesystem::create_directories(own, error);
    if (error) throw UserError(quoted(own, 200) + ": cannot be made: " + error.message());
    path_ = checkpoint_path(training.folder, number.seed);
    if (std::filesystem::exists(path_)) {
      checkpoint_ = load_checkpoint_bytes(path_);
      const Checkpoint state = read_checkpoint(checkpoint_, path_);
      check_checkpoint(state, training.config, number.seed, path_);
      result_.iteration = static_cast<int>(state.iteration);
    }
    metrics_ =
        std::make_unique<MetricsFile>(training.config, own + "/metrics.csv", result_.iteration);
    cpu_s_ = metrics_->cpu_s();
    // Triggers are trained in every run of the command.
    ended_ =
        result_.iteration >= training.config.iterations() && training.config.trigger.streams == 0;
  }

  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] int rounds() const { return rounds_; }
  [[nodiscard]] const TrainedAgent& result() const { return result_; }

  [[nodiscard]] std::string order() const {
    const double budget_s = std::min(kMaxBudget_s, kFirstBudget_s * (1 << std::min(rounds_, 10)));
    return training_order_bytes({.budget_s = budget_s, .cpu_s = cpu_s_, .checkpoint = checkpoint_});
  }

  void take(TrainedPart part) {
    ++rounds_;
    for (const IterationReport& report : part.reports) metrics_->add(report);
    checkpoint_ = std::move(part.checkpoint);
    if (!part.reports.empty()) {
      save_checkpoint_bytes(checkpoint_, path_);
      result_.last = std::move(part.reports.back());
      result_.iteration = result_.last.iteration;
      cpu_s_ = result_.last.cpu_s;
    }
    ended_ = part.ended;
    if (!ended_) return;
    checkpoint_.clear();  // on disk; no task needs it any more
    result_.trigger_lines = std::move(part.triggers.lines);
    if (part.triggers.text.empty()) return;
    write_text_file(trigger_path(training_.folder, result_.seed), part.triggers.text);
  }

 private:
  const Training& training_;
  TrainedAgent result_;
  std::string path_;
  std::string checkpoint_;
  std::unique_ptr<MetricsFile> metrics_;
  double cpu_s_ = 0;
  int rounds_ = 0;
  bool ended_ = false;
};

// Agents of the next round, ascending.
std::vector<std::size_t> next_agents(const std::vector<KeptAgent>& agents, std::size_t workers) {
  std::vector<std::size_t> next;
  for (std::size_t i = 0; i < agents.size(); ++i) {
    if (!agents[i].ended()) next.push_back(i);
  }
  std::ranges::stable_sort(next, {}, [&](std::size_t i) { return agents[i].rounds(); });
  next.resize(std::min(next.size(), std::max<std::size_t>(1, workers)));
  std::ranges::sort(next);
  return next;
}

}  // namespace

TaskSet training_tasks(std::span<const Training> trainings, std::size_t threads) {
  const auto workshop = std::make_shared<Workshop>(trainings, threads);
  const std::vector<AgentNumber> agents = agents_of(trainings);
  TaskSet set;
  set.prepare = [workshop](std::size_t workers) {
    for (const auto& kit : workshop->kits) kit->prepare(workers * workshop->threads);
  };
  set.make_task = [workshop, agents] {
    return [workshop, agents](std::size_t index, const TaskInput& input) {
      return workshop->train(agents[index], input.own);
    };
  };
  set.name_of = [trainings, agents](std::size_t index) {
    const AgentNumber& agent = agents[index];
    return fmt::format("seed {} of {}", agent.seed, trainings[agent.training].config.name);
  };
  set.identity = identity_of(trainings);
  return set;
}

void train_in_rounds(TaskSet& set, const TaskOptions& options, std::span<const Training> trainings,
                     std::size_t workers, const TrainingObserver& observer) {
  std::vector<KeptAgent> agents;
  for (const AgentNumber& number : agents_of(trainings)) {
    agents.emplace_back(trainings[number.training], number);
    observer.on_begin(agents.size() - 1, agents.back().result().iteration);
  }
  std::size_t told = 0;
  const auto tell_ends = [&] {
    for (; told < agents.size() && agents[told].ended(); ++told) {
      observer.on_end(told, agents[told].result());
    }
  };
  tell_ends();
  set.input = [&agents](std::size_t index) { return agents[index].order(); };
  const auto take = [&](std::span<const TaskReply> replies) {
    for (const TaskReply& reply : replies) {
      auto part = read_trained_part(reply.text);
      if (!part) throw std::runtime_error("a worker process sent an incomplete part of a training");
      KeptAgent& agent = agents[reply.index];
      if (agent.rounds() == 0) {
        for (const std::string& text : part->notices) observer.on_notice(reply.index, text);
      }
      observer.on_reports(reply.index, part->reports);
      agent.take(std::move(*part));
      tell_ends();
    }
  };
  while (told < agents.size()) {
    set.tasks = next_agents(agents, workers);
    run_tasks(set, options, take);
  }
  set.input = {};
}

}  // namespace cclgym
