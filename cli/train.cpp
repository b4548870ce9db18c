// cclgym train: trains the agents of a training file, one per seed.
#include <algorithm>
#include <filesystem>
#include <fmt/core.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "agents/tasks/training_tasks.hpp"
#include "agents/training/trainer.hpp"
#include "agents/trigger/agent_triggers.hpp"
#include "agents/trigger/trigger_file.hpp"
#include "cli/output/json_output.hpp"
#include "cli/runs/run_cells.hpp"
#include "cli/support/agent_run.hpp"
#include "cli/support/command.hpp"
#include "cli/support/interrupt.hpp"
#include "cli/support/print.hpp"
#include "cli/support/torch_program.hpp"
#include "cli/training/train_output.hpp"
#include "cli/training/train_progress.hpp"
#include "core/files/folder_lock.hpp"
#include "core/files/own_files.hpp"
#include "core/files/text_file.hpp"
#include "core/tasks/run_tasks.hpp"
#include "experiments/training/choice_ranges.hpp"
#include "experiments/training/tensorboard.hpp"
#include "experiments/training/training_facts.hpp"
#include "experiments/training/training_page.hpp"

namespace cclgym {

namespace {

OptionSpec threads_option() {
  return {.name = "threads",
          .kind = OptionKind::Integer,
          .description = "number of worker threads, which does not affect the agents",
          .min = 1,
          .max = 1024,
          .default_text = "2; with mpirun, 1 per rank"};
}

OptionSpec seed_option() {
  return {.name = "seed",
          .kind = OptionKind::Integer,
          .description = "seed of the training run",
          .min = 0,
          .max = 9e15,
          .default_text = "all seeds of the file"};
}

// Writes the learning curves of all seeds; cclgym evaluate adds to the page. An existing page stays
// if nothing was trained.
void write_page(const Training& training, bool trained, TrainOutput& output) {
  const TrainConfig& config = training.config;
  const std::string& folder = training.folder;
  const std::string path = folder + "/report.html";
  std::error_code error;
  if (!trained && std::filesystem::exists(path, error)) {
    output.take_end(training, path, false);
    return;
  }
  std::vector<std::shared_ptr<const TuningSetup>> setups;
  for (const TrainingPart& part : config.parts) setups.push_back(part.environment->setup());
  const TrainingPage page{.title = config.name,
                          .curves = read_learning_curves(folder, config.seeds),
                          .facts = training_facts(setups, config.seeds)};
  write_text_file(path, training_html(page, published_regimes()));
  for (const LearningCurve& curve : page.curves) {
    write_text_file(tensorboard_path(seed_folder(folder, curve.seed)),
                    tensorboard_events(curve.csv));
  }
  output.take_end(training, path, true);
}

// Removes the files that a training run keeps for a seed, and no others.
void remove_agent(const std::string& folder, std::uint64_t seed) {
  const std::string checkpoint = checkpoint_path(folder, seed);
  const std::string own = seed_folder(folder, seed);
  std::error_code error;
  for (const std::string& path : {checkpoint, checkpoint + ".partial", own + "/metrics.csv",
                                  tensorboard_path(own), trigger_path(folder, seed)}) {
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
  // train.yaml is that of all agents of the folder.
  for (const std::uint64_t other : trained_seeds(folder)) {
    if (std::ranges::find(seeds, other) != seeds.end()) continue;
    const std::string kept = checkpoint_path(folder, other);
    if (load_checkpoint(kept).config_hash == config.hash()) continue;
    throw UserError(quoted(kept, 200) +
                    ": belongs to another training; choose another folder with --out");
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

// Trainings of the command line: one, or one for each variant that is named.
std::vector<Training> read_trainings(const Arguments& arguments) {
  const auto given = [&](const char* option) {
    return arguments.has(option) ? arguments.text(option) : std::string();
  };
  const std::string& file = arguments.text("FILE");
  const std::vector<std::string> variants = chosen_variants(file, given("variant"));
  std::vector<Training> trainings;
  for (const std::string& variant : variants) {
    Training training{
        .config = load_train_config(file, {.variant = variant, .start_from = given("from")}),
        .seeds = {},
        .folder = {}};
    training.seeds = training.config.seeds;
    if (arguments.has("seed")) {
      training.seeds = {static_cast<std::uint64_t>(
          read_integer(arguments.text("seed"), seed_option(), argument_location("seed")))};
    }
    training.folder = "results/" + training.config.name;
    if (arguments.has("out")) {
      training.folder = arguments.text("out");
      if (variants.size() > 1) training.folder += "/" + variant;
    }
    trainings.push_back(std::move(training));
  }
  return trainings;
}

void print_warnings(const TrainConfig& config) {
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

// Makes the folder, which another training may hold, and writes the training file there.
std::unique_ptr<FolderLock> begin_folder(const Training& training, bool fresh) {
  const std::string& folder = training.folder;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw UserError(quoted(folder, 200) + ": cannot be made: " + error.message());
  auto lock = std::make_unique<FolderLock>(folder);
  // A training that held the folder until now may have written to it.
  check_folders(training.config, training.seeds, folder, fresh);
  write_text_file(folder + "/train.yaml", training.config.text);
  // Relative paths in train.yaml start at the folder of this path.
  write_text_file(
      folder + "/train.source",
      std::filesystem::absolute(training.config.file, error).lexically_normal().string());
  return lock;
}

// Trains in this process, seed by seed.
void train_here(const Training& training, std::size_t threads, bool quiet, TrainOutput& output) {
  const TrainConfig& config = training.config;
  bool trained = false;
  constexpr const char* kResumes = "interrupted: the same command resumes from the last checkpoint";
  bool saved = std::ranges::any_of(training.seeds, [&](std::uint64_t seed) {
    return std::filesystem::exists(checkpoint_path(training.folder, seed));
  });
  InterruptNotice interrupt(
      saved ? kResumes : "interrupted before the first checkpoint: the same command starts over",
      !quiet && standard_error_redraws());
  for (const std::uint64_t seed : training.seeds) {
    TrainProgress progress(config, seed, quiet);
    TrainedAgent agent{.seed = seed};
    const Checkpoint state = train_agent(
        config, seed, training.folder,
        {.threads = threads,
         .report =
             [&](const IterationReport& report) {
               progress.update(report);
               if (!saved && std::filesystem::exists(checkpoint_path(training.folder, seed))) {
                 saved = true;
                 interrupt.say(kResumes);
               }
               agent.last = report;
               return true;
             },
         .notice = [&](const std::string& text) { progress.notice(text); }});
    agent.iteration = static_cast<int>(state.iteration);
    AgentTriggers triggers = train_agent_triggers(config, state);
    if (!triggers.text.empty()) write_text_file(trigger_path(training.folder, seed), triggers.text);
    agent.trigger_lines = std::move(triggers.lines);
    trained = trained || agent.last.iteration > 0;
    output.take_agent(training, agent);
  }
  write_page(training, trained, output);
}

// Trains on the ranks of the run, all agents side by side.
void train_there(TaskSet& tasks, const TaskOptions& options, std::span<const Training> trainings,
                 bool quiet, TrainOutput& output) {
  const InterruptNotice interrupt("interrupted: the same command resumes", false);
  std::vector<TrainProgress> progress;
  for (const Training& training : trainings) {
    for (const std::uint64_t seed : training.seeds)
      progress.emplace_back(training.config, seed, quiet);
  }
  std::size_t left = 0;  // seeds of a training that have not ended
  bool trained = false;
  train_in_rounds(
      tasks, options, trainings, options.place->ranks() * options.jobs,
      {.on_begin = [&](std::size_t agent, int iteration) { progress[agent].begin(iteration); },
       .on_notice = [&](std::size_t agent,
                        const std::string& text) { progress[agent].notice(text); },
       .on_reports =
           [&](std::size_t agent, std::span<const IterationReport> reports) {
             // Those of a round arrive together: the last one is news, and each measurement.
             for (const IterationReport& report : reports) {
               if (&report == &reports.back() || !report.evaluation.empty()) {
                 progress[agent].update(report);
               }
             }
           },
       .on_end =
           [&](std::size_t /*agent*/, const TrainedAgent& agent) {
             const Training& training = trainings[agent.training];
             if (left == 0) {
               left = training.seeds.size();
               trained = false;
             }
             trained = trained || agent.last.iteration > 0;
             output.take_agent(training, agent);
             if (--left == 0) write_page(training, trained, output);
           }});
}

// Iterations of a seed that are done and would be kept.
int iterations_done(const Training& training, std::uint64_t seed, bool fresh) {
  const std::string path = checkpoint_path(training.folder, seed);
  std::error_code error;
  const bool begun = !fresh && std::filesystem::exists(path, error);
  return begun ? static_cast<int>(load_checkpoint(path).iteration) : 0;
}

nlohmann::ordered_json planned_json(const Training& training, bool fresh) {
  const TrainConfig& config = training.config;
  nlohmann::ordered_json json{{"name", config.name},
                              {"folder", training.folder},
                              {"iterations", config.iterations()},
                              {"environments", config.ppo.environments},
                              {"steps", config.ppo.steps},
                              {"evaluated", nlohmann::ordered_json::array()},
                              {"agents", nlohmann::ordered_json::array()}};
  for (const EvaluationPart& part : config.evaluation) json["evaluated"].push_back(part.label);
  for (const std::uint64_t seed : training.seeds) {
    json["agents"].push_back(
        {{"seed", seed}, {"iterations_done", iterations_done(training, seed, fresh)}});
  }
  return json;
}

// Prints what a training would do.
void print_planned(const Training& training, bool fresh) {
  const TrainConfig& config = training.config;
  print_out("{}: {} iterations of {} environments with {} steps each\n", config.name,
            config.iterations(), config.ppo.environments, config.ppo.steps);
  for (const EvaluationPart& part : config.evaluation) print_out("evaluated {}\n", part.label);
  for (const std::uint64_t seed : training.seeds) {
    print_out("seed {}    {} of {} iterations are done\n", seed,
              iterations_done(training, seed, fresh), config.iterations());
  }
  print_out("folder    {}\n", training.folder);
}

void print_plans(std::span<const Training> trainings, bool fresh, bool json) {
  nlohmann::ordered_json plans = nlohmann::ordered_json::array();
  for (const Training& training : trainings) {
    check_folders(training.config, training.seeds, training.folder, fresh);
    print_warnings(training.config);
    if (json) {
      plans.push_back(planned_json(training, fresh));
    } else {
      print_planned(training, fresh);
    }
  }
  if (json) print_json({{"trainings", plans}});
}

int train(const std::vector<std::string>& args, TaskPlace* place) {
  ArgumentReader reader(train_command());
  reader.positional("FILE", "training file (docs/agents.md)")
      .option("out,o", "DIR", "folder for the results [default: results/NAME]")
      .option(seed_option(), "N")
      .option("variant", "NAMES",
              "names of variants of the file to train, separated by commas, or all; several go to "
              "DIR/NAME")
      .option("from", "RUN", "folder of a training run whose agents are trained further")
      .option(threads_option(), "N")
      .option(peer_timeout_option(), "TIME")
      .flag("fresh", "delete the checkpoints in the folder and start over")
      .flag("dry-run", "print what would be trained, and what is done already; nothing is written")
      .flag("quiet", "print only errors")
      .flag("json", kJsonHelp);
  const auto arguments = reader.read(args);
  if (!arguments) return 0;
  if (arguments->has("dry-run")) {
    print_plans(read_trainings(*arguments), arguments->has("fresh"), wants_json(*arguments));
    return 0;
  }
  need_torch("train", args, train_command().torch_for);
  const bool quiet = arguments->has("quiet");
  const std::string threads_text = arguments->has("threads") ? arguments->text("threads")
                                   : place != nullptr        ? "1"
                                                             : "2";
  const auto threads = static_cast<std::size_t>(
      read_integer(threads_text, threads_option(), argument_location("threads")));
  const std::vector<Training> trainings = read_trainings(*arguments);
  TaskSet tasks = training_tasks(trainings, threads);
  const TaskOptions options{.place = place,
                            .peer_timeout_s = peer_timeout_of(*arguments),
                            .task_noun = "agent",
                            .notice = notice_of_faults(quiet)};
  share_tasks(tasks, options);
  for (const Training& training : trainings) {
    check_folders(training.config, training.seeds, training.folder, arguments->has("fresh"));
  }
  std::vector<std::unique_ptr<FolderLock>> locks;
  for (const Training& training : trainings) {
    if (!quiet) print_warnings(training.config);
    locks.push_back(begin_folder(training, arguments->has("fresh")));
    if (!arguments->has("fresh")) continue;
    for (const std::uint64_t seed : training.seeds) remove_agent(training.folder, seed);
  }
  TrainOutput output(wants_json(*arguments), quiet);
  if (place != nullptr) {
    train_there(tasks, options, trainings, quiet, output);
  } else {
    for (const Training& training : trainings) train_here(training, threads, quiet, output);
  }
  output.finish();
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
          "      only the agent of seed 1, into another folder, from the start\n"
          "  mpirun -n 16 cclgym train experiments/train-cloud-ib.yaml --variant all\n"
          "      the agents of all variants and seeds side by side, with the same weights",
      .run_in = train,
      .torch_for = "train"};
  return command;
}

}  // namespace cclgym
