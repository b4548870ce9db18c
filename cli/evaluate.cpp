// cclgym evaluate: compares a trained agent with baselines.
#include <algorithm>
#include <filesystem>
#include <fmt/core.h>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "agents/baselines/registry.hpp"
#include "agents/baselines/simple_policies.hpp"
#include "agents/evaluation/evaluation.hpp"
#include "agents/evaluation/nccl_choices.hpp"
#include "agents/tasks/evaluation_tasks.hpp"
#include "agents/trigger/detector_table.hpp"
#include "cli/evaluation/evaluated_agents.hpp"
#include "cli/evaluation/planned_evaluation.hpp"
#include "cli/output/json_output.hpp"
#include "cli/runs/run_cells.hpp"
#include "cli/support/agent_run.hpp"
#include "cli/support/command.hpp"
#include "cli/support/interrupt.hpp"
#include "cli/support/print.hpp"
#include "core/files/own_files.hpp"
#include "core/files/text_file.hpp"
#include "core/tasks/run_tasks.hpp"
#include "core/text_columns.hpp"
#include "experiments/summary/train_dispatcher.hpp"
#include "experiments/training/break_points.hpp"
#include "experiments/training/choice_ranges.hpp"
#include "experiments/training/training_facts.hpp"
#include "experiments/training/training_page.hpp"
#include "sim/tuners/pccl_tuner.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

namespace {

OptionSpec calls_option() {
  return {.name = "calls",
          .kind = OptionKind::Integer,
          .description = "number of calls per policy and seed",
          .min = 1,
          .max = 1e9,
          .default_text = "one pass over the workload, or an episode"};
}

OptionSpec seeds_option() {
  return {.name = "seeds",
          .kind = OptionKind::Integer,
          .description =
              "number of runs per policy, with seeds 1, 2, …; agents use their training seeds",
          .min = 1,
          .max = 1000,
          .default_text = "3"};
}

constexpr std::size_t kColumns = 100;
constexpr std::size_t kMaxInputFile = std::size_t{64} << 20;

struct Part {
  std::string label;
  std::shared_ptr<const TuningSetup> setup;
  std::uint64_t calls = 0;
};

EvaluatedPolicy baseline(const std::string& name) {
  (void)make_baseline(name);  // throws errors before anything runs
  EvaluatedPolicy policy{.name = name,
                         .make = [name](std::uint64_t /*seed*/) { return make_baseline(name); },
                         .tuners = {}};
  if (is_tuner(name)) policy.tuners = {name};
  return policy;
}

// The policies that can run in each part. A baseline that belongs to one machine, such as its
// dispatcher or its vendor's library, is left out in the parts on others; it must fit one part.
// `left_out`: gets a sentence for each.
std::vector<std::vector<EvaluatedPolicy>> policies_of_parts(
    const std::vector<Part>& parts, const std::vector<EvaluatedPolicy>& policies,
    std::vector<std::string>& left_out) {
  std::vector<std::vector<EvaluatedPolicy>> result(parts.size());
  for (const EvaluatedPolicy& policy : policies) {
    std::vector<std::string> reasons;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      try {
        // Synthesis takes long, and fails on no machine alone.
        if (!policy.name.starts_with("synth")) (void)with_tuners(parts[i].setup, policy.tuners);
        result[i].push_back(policy);
      } catch (const UserError& error) {
        if (reasons.size() + 1 == parts.size()) {
          throw UserError(fmt::format("--against {}: {}", policy.name, error.what()));
        }
        reasons.push_back(
            fmt::format("{} is left out on {}: {}", policy.name, parts[i].label, error.what()));
      }
    }
    std::ranges::move(reasons, std::back_inserter(left_out));
  }
  return result;
}

// Decisions per call of the policies that do not make a decision for every call.
std::string decisions_text(const std::vector<PolicySummary>& summaries) {
  std::string text;
  for (const PolicySummary& one : summaries) {
    if (one.decisions_per_call >= 1) continue;
    text += fmt::format("{}{} {:.3f}", text.empty() ? "decisions per call (others 1): " : ", ",
                        one.policy, one.decisions_per_call);
  }
  return text.empty() ? text : text + "\n";
}

// Accuracies of the dispatchers among the policies, beside those of PCCL.
std::string dispatchers_text(const std::vector<EvaluatedPolicy>& policies) {
  std::string text;
  for (const EvaluatedPolicy& policy : policies) {
    const std::string path = dispatcher_path(policy.name, {});
    if (!path.empty()) text += dispatcher_text(load_dispatcher(path)) + "\n";
  }
  return text;
}

std::vector<Part> parts_of(const TrainConfig& config) {
  std::vector<Part> parts;
  for (const auto& part : config.evaluation) {
    if (!part.environment->setup()) continue;
    parts.push_back(
        {part.label, part.environment->setup(), static_cast<std::uint64_t>(part.calls)});
  }
  if (parts.empty()) {
    throw UserError("the training has no evaluation in CollectiveTuning-v0");
  }
  return parts;
}

// Baselines for the comparison if none are named.
std::vector<std::string> baselines_of(const std::vector<Part>& parts) {
  return default_baselines(parts.front().setup->actions->profile());
}

int evaluate(const std::vector<std::string>& args, TaskPlace* place) {
  const auto arguments =
      ArgumentReader(evaluate_command())
          .positional("RUN",
                      "folder of a training run, or a file with options of CollectiveTuning-v0")
          .option("against", "NAMES",
                  "names of baselines, separated by commas [default: those of the action profile]")
          .option(calls_option(), "N")
          .option(seeds_option(), "N")
          .option("out,o", "DIR",
                  "folder for evaluation.csv, choices.txt and report.html [default: RUN, or "
                  "results/NAME]")
          .option(peer_timeout_option(), "TIME")
          .flag("dry-run",
                "print the number of runs and an estimate of the time; nothing is written")
          .flag("quiet", "print only errors")
          .flag("json", kJsonHelp)
          .read(args);
  if (!arguments) return 0;
  const std::string& source = arguments->text("RUN");
  std::vector<EvaluatedPolicy> policies;
  const auto add_baselines = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) policies.push_back(baseline(name));
  };
  // Reports a mistake here before anything is read.
  if (arguments->has("against")) add_baselines(arguments->names("against"));

  const std::string seeds_text = arguments->has("seeds") ? arguments->text("seeds") : "3";
  const std::int64_t seeds = read_integer(seeds_text, seeds_option(), argument_location("seeds"));
  EvaluationOptions options;
  options.seeds.clear();
  for (std::int64_t seed = 1; seed <= seeds; ++seed) {
    options.seeds.push_back(static_cast<std::uint64_t>(seed));
  }
  std::vector<Part> parts;
  TrainingPage page;
  std::string folder;
  std::string detectors;
  std::string input;  // text that is equal if the files are
  std::error_code error;
  if (std::filesystem::is_directory(source, error)) {
    const auto run = std::make_shared<const AgentRun>(load_agent_run(source));
    parts = parts_of(run->config);
    print_warning(unfinished_text(*run, run->seeds));
    input = hash_of(*run);
    page.title = run->config.name;
    page.curves = read_learning_curves(source, run->config.seeds);
    folder = source;
    if (!arguments->has("seeds")) options.seeds = run->seeds;
    if (!arguments->has("against")) add_baselines(baselines_of(parts));
    std::vector<EvaluatedPolicy> all = agents_of(run);
    detectors = detector_table(triggers_of(*run));
    std::ranges::move(policies, std::back_inserter(all));
    policies = std::move(all);
  } else {
    const std::string name = std::filesystem::path(source).stem().string();
    parts.push_back({name, checked_tuning_setup(load_yaml_file(source)), 0});
    input = read_text_file(source, kMaxInputFile);
    page.title = name;
    folder = "results/" + name;
    if (!arguments->has("against")) add_baselines(baselines_of(parts));
  }
  if (arguments->has("out")) folder = arguments->text("out");
  const bool quiet = arguments->has("quiet");
  std::vector<EvaluationPlace> places;
  std::vector<std::string> left_out;
  const auto applicable = policies_of_parts(parts, policies, left_out);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    places.push_back({.setup = parts[i].setup, .calls = parts[i].calls, .policies = applicable[i]});
    if (arguments->has("calls")) {
      places.back().calls = static_cast<std::uint64_t>(
          read_integer(arguments->text("calls"), calls_option(), argument_location("calls")));
    }
  }
  if (arguments->has("dry-run")) {
    print_planned_evaluation(places, options, folder, wants_json(*arguments));
    return 0;
  }
  const TaskSet tasks = evaluation_tasks(places, options.seeds, input);
  const TaskOptions task_options{.place = place,
                                 .peer_timeout_s = peer_timeout_of(*arguments),
                                 .task_noun = "policy run",
                                 .notice = notice_of_faults(quiet)};
  share_tasks(tasks, task_options);
  // The folder of a training run has a report, to which the comparison is added.
  if (!std::filesystem::equivalent(folder, source, error)) {
    refuse_foreign_files(folder, {.writer = "cclgym evaluate",
                                  .mark = "evaluation.csv",
                                  .mark_begins = "part,policy,",
                                  .others = {"choices.txt", "report.html", "experiment.yaml"}});
  }
  if (!quiet) {
    for (const std::string& sentence : left_out) print_warning(sentence);
    options.notice = [](const std::string& policy, std::uint64_t seed) {
      print_error("seed {}: {}\n", seed, policy);
    };
  }
  if (!quiet) {
    std::vector<const TuningSetup*> setups;
    for (const Part& part : parts) setups.push_back(part.setup.get());
    print_cost_model_warnings(setups);
    // A run has several environments, so one of them may leave a program out.
    if (parts.size() == 1) {
      for (const IdleProgram& program : parts.front().setup->idle_programs) {
        print_warning(UserError(program.where, program.message()).what());
      }
    }
  }
  const InterruptNotice interrupt("interrupted: nothing is written; the same command starts over",
                                  false);
  std::vector<std::shared_ptr<const TuningSetup>> setups;
  for (const Part& part : parts) setups.push_back(part.setup);
  page.facts = training_facts(setups, options.seeds);
  const std::vector<PublishedRow> regimes = published_regimes();
  const bool json = wants_json(*arguments);
  std::string csv;
  std::string choices;
  std::vector<EvaluatedPart> done;
  std::vector<std::vector<PolicyRun>> runs(parts.size());
  if (place != nullptr) {
    runs = evaluate_by_tasks(tasks, task_options, places, [&](const PolicyRun& run) {
      if (options.notice) options.notice(run.policy, run.seed);
    });
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    options.calls = places[i].calls;
    if (place == nullptr) runs[i] = evaluate_policies(part.setup, places[i].policies, options);
    done.push_back({.label = part.label,
                    .runs = std::move(runs[i]),
                    .fabric = part.setup->fabric_label,
                    .cost_model = part.setup->site->cost_model.label(),
                    .fronts = part.setup->actions->fronts()});
    mark_nccl_choices(*part.setup, done.back().runs);
    done.back().nccl = nccl_shares_text(nccl_shares(*part.setup, done.back().runs));
    csv += evaluation_csv(done.back(), csv.empty());
    choices += choices_text(done.back(), regimes) + "\n";
    if (quiet || json) continue;
    const std::vector<PolicySummary> summaries = summarize_runs(done.back().runs);
    const std::size_t count = places[i].policies.size();
    const std::string points = break_points_text(done.back(), regimes);
    const std::string notes = fitted_lines(decisions_text(summaries) + done.back().nccl, kColumns);
    print_out("{}: {} {} on {}, {} calls per seed\n{}{}\n{}", part.label, count,
              count == 1 ? "policy" : "policies", part.setup->fabric_label,
              done.back().runs.front().calls, evaluation_table(summaries), notes,
              points.empty() ? "" : points + "\n");
  }
  if (!quiet && !json) print_out("{}{}", detectors, dispatchers_text(policies));
  std::filesystem::create_directories(folder, error);
  if (error) throw UserError(quoted(folder, 200) + ": cannot be made: " + error.message());
  write_text_file(folder + "/evaluation.csv", csv);
  write_text_file(folder + "/choices.txt", choices);
  page.parts = done;
  write_text_file(folder + "/report.html", training_html(page, regimes));
  if (json) {
    print_json(json_rows(csv, {"part"}));
  } else if (!quiet) {
    print_out(
        "{0}cells     {1}/evaluation.csv\nchoices   {1}/choices.txt\nreport    {1}/report.html\n",
        fitted_lines(choices, kColumns), folder);
  }
  return 0;
}

}  // namespace

const Command& evaluate_command() {
  static const Command command{
      .name = "evaluate",
      .summary = "Compare a trained agent and baselines with the best possible choices",
      .usage = "RUN [options]",
      .examples =
          "  cclgym evaluate results/train-ndv4\n"
          "      the agents of a training run against all baselines, in its environments for\n"
          "      evaluation\n"
          "  cclgym evaluate environment.yaml --against svm,table,nccl-default:2.28,oracle\n"
          "      baselines only; the file has options of CollectiveTuning-v0, e.g. fabric: ndv4\n"
          "  cclgym evaluate environment.yaml --against bandit,autoccl --calls 20000\n"
          "      baselines that learn while they run, with the cost of their search\n",
      .run_in = evaluate};
  return command;
}

}  // namespace cclgym
