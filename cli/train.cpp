// cclgym train: trains the agents of a training file, one per seed.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fmt/core.h>
#include <iostream>
#include <unistd.h>

#include "agents/training/trainer.hpp"
#include "agents/trigger/trigger_file.hpp"
#include "cli/support/agent_run.hpp"
#include "cli/support/command.hpp"
#include "cli/support/print.hpp"
#include "cli/support/torch_program.hpp"
#include "core/files/own_files.hpp"
#include "core/files/text_file.hpp"
#include "experiments/training/choice_ranges.hpp"
#include "experiments/training/training_page.hpp"

namespace cclgym {

namespace {

OptionSpec threads_option() {
  return {.name = "threads",
          .kind = OptionKind::Integer,
          .description = "number of worker threads, which does not affect the agents",
          .min = 1,
          .max = 1024,
          .default_text = "2"};
}

OptionSpec seed_option() {
  return {.name = "seed",
          .kind = OptionKind::Integer,
          .description = "seed of the training run",
          .min = 0,
          .max = 9e15,
          .default_text = "all seeds of the file"};
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Shows the progress of a training run on stderr: a line that is redrawn on a terminal, otherwise
// an occasional line.
class TrainProgress {
 public:
  TrainProgress(const TrainConfig& config, std::uint64_t seed, bool quiet)
      : config_(config), seed_(seed), quiet_(quiet), terminal_(::isatty(STDERR_FILENO) == 1) {}

  void notice(const std::string& text) const {
    if (!quiet_) print_error("seed {}: {}\n", seed_, text);
  }

  void update(const IterationReport& report) {
    if (quiet_) return;
    const double now = now_s();
    if (first_ == 0) {
      first_ = report.iteration;
      start_s_ = now;
    }
    const bool last = report.iteration == config_.iterations();
    if (!report.evaluation.empty()) measured_ = report.evaluation;
    const double every_s = terminal_ ? 0.2 : 5;
    if (!last && report.evaluation.empty() && now - shown_s_ < every_s) return;
    shown_s_ = now;
    std::string line = fmt::format(
        "seed {}  {}/{} {}  reward {:.3f}", seed_, report.iteration, config_.iterations(),
        report.warm_start ? "warm start" : config_.algorithm_name(), report.mean_reward);
    for (std::size_t i = 0; i < measured_.size(); ++i) {
      const PolicyMeasure& one = measured_[i];
      line +=
          std::isnan(one.oracle_ratio)
              ? fmt::format("  {} {:.3f}", config_.evaluation[i].label, one.mean_reward)
              : fmt::format("  {} {:.3f} x oracle", config_.evaluation[i].label, one.oracle_ratio);
    }
    const int done = report.iteration - first_;
    if (done > 0 && !last) {
      const double left_s = (now - start_s_) / done * (config_.iterations() - report.iteration);
      line += fmt::format("  {:.0f} s left", left_s);
    }
    print_error("{}{}{}", terminal_ ? "\r\x1b[K" : "", line, !terminal_ || last ? "\n" : "");
    std::fflush(stderr);
  }

 private:
  const TrainConfig& config_;
  std::uint64_t seed_;
  bool quiet_;
  bool terminal_;
  int first_ = 0;
  double start_s_ = 0;
  double shown_s_ = -1e9;
  std::vector<PolicyMeasure> measured_;
};

void print_result(const TrainConfig& config, std::uint64_t seed, const IterationReport& report,
                  const std::string& folder) {
  for (std::size_t i = 0; i < report.evaluation.size(); ++i) {
    const PolicyMeasure& one = report.evaluation[i];
    print_out("seed {}  {}: ", seed, config.evaluation[i].label);
    if (!std::isnan(one.oracle_ratio)) {
      print_out("{:.4f} x the oracle's time, worst cell {:.4f} x, ", one.oracle_ratio,
                one.worst_cell);
    }
    if (!std::isnan(one.default_ratio)) {
      print_out("{:.4f} x the default's time, ", one.default_ratio);
    }
    print_out("mean reward {:.4f} over {} calls\n", one.mean_reward, one.calls);
  }
  print_out("seed {}  {} iterations, {:.0f} CPU seconds, {}\n", seed, report.iteration,
            report.cpu_s, checkpoint_path(folder, seed));
}

// Trains triggers for every environment that changes, with the agent of a seed.
void train_triggers(const TrainConfig& config, const Checkpoint& state, const std::string& folder,
                    bool quiet) {
  if (config.trigger.streams == 0) return;
  std::vector<TrainedTrigger> triggers;
  for (const TrainingPart& part : config.parts) {
    const TuningSetup& setup = *part.environment->setup();
    if (setup.regimes.regimes.size() < 2) continue;
    const TrainedTrigger trigger = train_trigger(
        *part.environment, state.weights, static_cast<std::size_t>(config.trigger.streams),
        static_cast<std::size_t>(config.trigger.calls), config.trigger.false_alarms, state.seed);
    triggers.push_back(trigger);
    if (quiet) continue;
    const TriggerMeasure& found = trigger.held_out;
    print_out(
        "seed {}  trigger on {}: {} of {} changes found, median after {:g} calls, {:.3f} "
        "false alarms in 1,000 calls; {} other changes make no call {:g} % slower\n",
        state.seed, setup.fabric_label, found.found, found.changes, found.median_delay,
        found.false_alarms_per_1000(), found.silent_changes, 100 * kSilentShare);
  }
  write_text_file(trigger_path(folder, state.seed), triggers_text(triggers));
}

// Writes the learning curves of all seeds; cclgym evaluate adds to the page. An existing page stays
// if nothing was trained.
void write_page(const TrainConfig& config, const std::string& folder, bool trained, bool quiet) {
  const std::string path = folder + "/report.html";
  std::error_code error;
  if (!trained && std::filesystem::exists(path, error)) return;
  const TrainingPage page{.title = config.name,
                          .curves = read_learning_curves(folder, config.seeds)};
  write_text_file(path, training_html(page, published_regimes()));
  if (!quiet) print_out("report  {}\n", path);
}

// Removes the files that a training run keeps for a seed, and no others.
void remove_agent(const std::string& folder, std::uint64_t seed) {
  const std::string checkpoint = checkpoint_path(folder, seed);
  const std::string own = seed_folder(folder, seed);
  std::error_code error;
  for (const std::string& path :
       {checkpoint, checkpoint + ".partial", own + "/metrics.csv", trigger_path(folder, seed)}) {
    std::filesystem::remove(path, error);
    if (error) throw UserError(quoted(path, 200) + ": cannot be removed: " + error.message());
  }
  std::filesystem::remove(own, error);  // fails if it has other files
}

// Refuses folders before anything is written or deleted.
void check_folders(const TrainConfig& config, const std::vector<std::uint64_t>& seeds,
                   const std::string& folder, bool fresh) {
  std::error_code error;
  const auto place = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(path, error);
  };
  // train.source, which no other command writes, has the path of the training file.
  refuse_foreign_files(folder, {.writer = "cclgym train",
                                .mark = "train.source",
                                .mark_begins = "/",
                                .others = {"train.yaml", "report.html", "experiment.yaml"}});
  if (!config.start_from.empty() && place(config.start_from) == place(folder)) {
    throw UserError(quoted(folder, 200) +
                    ": has the agents to train further; choose another folder with --out");
  }
  for (const std::uint64_t seed : seeds) {
    if (!config.start_from.empty()) {
      const std::string own = checkpoint_path(config.start_from, seed);
      const bool there = std::filesystem::exists(own, error);
      (void)load_checkpoint(there ? own : checkpoint_path(config.start_from, 1));
    }
    const std::string kept = checkpoint_path(folder, seed);
    if (fresh || !std::filesystem::exists(kept, error)) continue;
    check_checkpoint(load_checkpoint(kept), config, seed, kept);
  }
}

int train(const std::vector<std::string>& args) {
  ArgumentReader reader(train_command());
  reader.positional("FILE", "training file (docs/agents.md)")
      .option("out", "DIR", "folder for the results [default: results/NAME]")
      .option(seed_option(), "N")
      .option("variant", "NAME", "name of the variant of the file to train")
      .option("from", "RUN", "folder of a training run whose agents are trained further")
      .option(threads_option(), "N")
      .flag("fresh", "delete the checkpoints in the folder and start over")
      .flag("quiet", "print only errors");
  const auto arguments = reader.read(args);
  if (!arguments) return 0;
  need_torch("train", args, "train");
  const auto given = [&](const char* option) {
    return arguments->has(option) ? arguments->text(option) : std::string();
  };
  const TrainConfig config = load_train_config(
      arguments->text("FILE"), {.variant = given("variant"), .start_from = given("from")});
  const std::string folder =
      arguments->has("out") ? arguments->text("out") : "results/" + config.name;
  const bool quiet = arguments->has("quiet");
  std::vector<std::uint64_t> seeds = config.seeds;
  if (arguments->has("seed")) {
    seeds = {static_cast<std::uint64_t>(
        read_integer(arguments->text("seed"), seed_option(), argument_location("seed")))};
  }
  const std::string threads = arguments->has("threads") ? arguments->text("threads") : "2";
  TrainerOptions options;
  options.threads = static_cast<std::size_t>(
      read_integer(threads, threads_option(), argument_location("threads")));
  check_folders(config, seeds, folder, arguments->has("fresh"));
  if (!quiet) {
    std::vector<const TuningSetup*> setups;
    const auto add = [&setups](const TrainingEnvironment& environment) {
      if (environment.setup())
        setups.push_back(environment.setup().get());  // other environments have none
    };
    for (const TrainingPart& part : config.parts) add(*part.environment);
    for (const EvaluationPart& part : config.evaluation) add(*part.environment);
    print_cost_model_warnings(setups);
    for (const std::string& text : config.warnings) print_warning(text);
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw UserError(quoted(folder, 200) + ": cannot be made: " + error.message());
  write_text_file(folder + "/train.yaml", config.text);
  // Relative paths in train.yaml start at the folder of this path.
  write_text_file(folder + "/train.source",
                  std::filesystem::absolute(config.file, error).lexically_normal().string());
  bool trained = false;
  for (const std::uint64_t seed : seeds) {
    if (arguments->has("fresh")) remove_agent(folder, seed);
    TrainProgress progress(config, seed, quiet);
    IterationReport last;
    options.notice = [&](const std::string& text) { progress.notice(text); };
    options.report = [&](const IterationReport& report) {
      progress.update(report);
      last = report;
      return true;
    };
    const Checkpoint state = train_agent(config, seed, folder, options);
    train_triggers(config, state, folder, quiet);
    trained = trained || last.iteration > 0;
    if (quiet) continue;
    if (last.iteration == 0) {
      print_out("seed {}  already done: {} iterations, {}\n", seed, state.iteration,
                checkpoint_path(folder, seed));
    } else {
      print_result(config, seed, last, folder);
    }
  }
  write_page(config, folder, trained, quiet);
  return 0;
}

}  // namespace

const Command& train_command() {
  static const Command command{
      .name = "train",
      .summary = "Train agents that choose configurations",
      .usage = "FILE [options]",
      .examples =
          "  cclgym train experiments/train-ndv4.yaml\n"
          "      one agent per seed, in results/train-ndv4; if it was stopped, the same command\n"
          "      continues it and ends with the same weights\n"
          "  cclgym train experiments/train-ndv4.yaml --seed 1 --out /tmp/t --fresh\n"
          "      only the agent of seed 1, into another folder, from the start",
      .run = train};
  return command;
}

}  // namespace cclgym
