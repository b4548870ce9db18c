// cclgym workload: simulates one step of a job, compares tuners by its time, and searches better
// choices.
#include <algorithm>
#include <fmt/core.h>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "agents/export/policy_tuner.hpp"
#include "cli/output/json_output.hpp"
#include "cli/support/command.hpp"
#include "cli/support/fabric_options.hpp"
#include "cli/support/print.hpp"
#include "cli/workloads/workload_tuning.hpp"
#include "core/files/text_file.hpp"
#include "core/progress.hpp"
#include "core/split.hpp"
#include "core/units.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "experiments/sweep/experiment_options.hpp"
#include "workloads/output/job_json.hpp"
#include "workloads/output/job_report.hpp"
#include "workloads/output/job_text.hpp"
#include "workloads/output/job_timeline.hpp"
#include "workloads/output/tuning_views.hpp"
#include "workloads/readers/workload_input.hpp"
#include "workloads/timing/job_breakdown.hpp"
#include "workloads/timing/job_simulator.hpp"

namespace cclgym {

namespace {

struct Options {
  OptionSpec format{.name = "format",
                    .kind = OptionKind::Choice,
                    .description = "format of the files [default: by their names]",
                    .choices = workload_formats()};
  OptionSpec detail{.name = "detail",
                    .kind = OptionKind::Choice,
                    .description =
                        "messages: every message is simulated; calls: a call is one flow over its "
                        "links, and ranks that behave the same are simulated once; auto: messages "
                        "for at most 64 ranks and 500 calls",
                    .default_text = "auto",
                    .choices = {"auto", "messages", "calls"}};
  OptionSpec flops{.name = "flops-efficiency",
                   .kind = OptionKind::Real,
                   .description = "share of the GPU's peak FLOP/s that computation reaches",
                   .min = 1e-6,
                   .max = 1,
                   .default_text = "0.55"};
  OptionSpec memory{.name = "memory-efficiency",
                    .kind = OptionKind::Real,
                    .description = "share of the memory's peak rate that computation reaches",
                    .min = 1e-6,
                    .max = 1,
                    .default_text = "0.85"};
  OptionSpec step{
      .name = "step",
      .kind = OptionKind::Integer,
      .description = "profiles of PyTorch: number of the step (ProfilerStep#N) [default: the last]",
      .min = 0};
};

const Options& options() {
  static const Options all;
  return all;
}

WorkloadInput input_of(const Arguments& arguments) {
  WorkloadInput input;
  input.files = arguments.texts("FILE");
  input.format = arguments.has("format")
                     ? static_cast<WorkloadFormat>(read_choice(
                           arguments.text("format"), options().format, argument_location("format")))
                     : format_of(input.files);
  const auto only_for = [&](const char* option, WorkloadFormat format) {
    if (!arguments.has(option) || input.format == format) return;
    throw UserError(argument_location(option),
                    fmt::format("is only for files of format {}; leave it out",
                                workload_formats()[static_cast<std::size_t>(format)]));
  };
  only_for("process-groups", WorkloadFormat::Chakra);
  only_for("one-communication", WorkloadFormat::Chakra);
  only_for("step", WorkloadFormat::Kineto);
  only_for("replicate", WorkloadFormat::Kineto);
  only_for("no-idle", WorkloadFormat::Kineto);
  if (arguments.has("process-groups")) input.chakra.groups_file = arguments.text("process-groups");
  input.chakra.one_communication = arguments.has("one-communication");
  if (arguments.has("step")) input.kineto.step = arguments.integer(options().step);
  input.kineto.replicate = arguments.has("replicate");
  input.kineto.idle = !arguments.has("no-idle");
  return input;
}

// "ring/LL128/8", or "tp=ring/LL128/8,dp=dispatch:table.yaml".
JobTuners tuners_of(const Arguments& arguments) {
  JobTuners tuners;
  for (const std::string& text : arguments.names("tuner")) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      if (!tuners.job.empty()) {
        throw UserError(argument_location("tuner"),
                        fmt::format("found {} and {} for the whole job; expected one, and "
                                    "COMMUNICATOR=CHOICE for others (--compare simulates several)",
                                    quoted(tuners.job), quoted(text)));
      }
      tuners.job = text;
    } else if (!tuners.communicator.emplace(text.substr(0, equals), text.substr(equals + 1))
                    .second) {
      throw UserError(argument_location("tuner"), fmt::format("communicator {} has two tuners",
                                                              quoted(text.substr(0, equals))));
    }
  }
  return tuners;
}

// Says what is simulated if a step takes more than a few seconds.
std::function<void(const ConfiguredCall&)> notice_of_calls() {
  constexpr double kQuiet_s = 2;
  constexpr int kSlowRanks = 1024;  // a call on so many ranks may take ten seconds
  const auto said_s = std::make_shared<double>(steady_now_s());
  return [said_s](const ConfiguredCall& call) {
    const double now_s = steady_now_s();
    const int ranks = call.view->fabric->ranks();
    if (now_s - *said_s < kQuiet_s && ranks < kSlowRanks) return;
    *said_s = now_s;
    std::cerr << fmt::format("simulating {} of {} on {} ranks ({})\n",
                             to_string(call.call.collective), format_bytes(call.call.bytes), ranks,
                             config_label(call.config));
  };
}

JobDetail detail_of(const Arguments& arguments, const JobGraph& job, const std::string& engine) {
  const std::string& text = arguments.text_or_default(options().detail);
  (void)read_choice(text, options().detail, argument_location("detail"));
  if (text == "messages") return JobDetail::Messages;
  if (text == "calls") return JobDetail::Calls;
  constexpr int kMostRanks = 64;
  constexpr std::int64_t kMostCalls = 500;
  const bool small = job.ranks <= kMostRanks && count_calls(job) <= kMostCalls;
  return small || engine != "flow" ? JobDetail::Messages : JobDetail::Calls;
}

double real_of(const Arguments& arguments, const OptionSpec& spec) {
  return read_real(arguments.text_or_default(spec), spec, argument_location(spec.name));
}

TunerRow row_of(const std::string& name, const JobGraph& job, const JobRecord& record) {
  return {.name = name,
          .step_time_s = record.step_time_s,
          .exposed_s = break_down(job, record).mean.exposed_s};
}

// Steps with the tuners of --compare, after that of --tuner.
std::vector<TunerRow> compared(const Arguments& arguments, JobSimulator& simulator,
                               const JobRecord& own) {
  std::vector<TunerRow> rows;
  if (!arguments.has("compare")) return rows;
  rows.push_back(row_of(simulator.settings().tuners.job, simulator.job(), own));
  for (const std::string& name : arguments.names("compare")) {
    if (name == simulator.settings().tuners.job) {
      print_warning(
          fmt::format("--compare: {} is the choice of the first row already, and is not repeated",
                      quoted(name, 200)));
      continue;
    }
    JobTuners tuners = simulator.settings().tuners;
    tuners.job = name;
    if (name.find('=') != std::string::npos) {
      throw UserError(argument_location("compare"),
                      fmt::format("{} is for one communicator; --compare names tuners of all "
                                  "communicators that have none of their own",
                                  quoted(name)));
    }
    rows.push_back(row_of(name, simulator.job(), simulator.run(tuners)));
  }
  return rows;
}

void write_files(const Arguments& arguments, const JobGraph& job, const JobRecord& record,
                 const JobBreakdown& found, const Fabric& fabric, const CostModel& model,
                 const std::vector<TunerRow>& rows, const std::optional<JobTuning>& tuning) {
  if (arguments.has("timeline")) {
    write_job_timeline_file(arguments.text("timeline"), job, record, found, fabric);
  }
  if (arguments.has("report")) {
    JobReportOptions page;
    page.cost_model = model.label();
    page.tuner = rows.empty() ? "" : rows.front().name;
    page.tuning = tuning ? &*tuning : nullptr;
    write_text_file(arguments.text("report"), job_report(job, record, found, fabric, rows, page));
  }
}

int workload(const std::vector<std::string>& args) {
  ArgumentReader reader(workload_command());
  reader.repeated("FILE",
                  "job.yaml, schedule.goal, PREFIX (Chakra: PREFIX.0.et, PREFIX.1.et, …), or the "
                  "profiles of PyTorch of all ranks (rank0.json …)");
  reader.input("fabric", "F", "name of a fabric (cclgym list fabrics), or a .yaml file");
  add_fabric_options(reader);
  const auto arguments =
      reader
          .input("cost-model", "M",
                 "name of a cost model (cclgym list cost-models), a .yaml file, or auto, the model "
                 "for the fabric's GPU [default: auto]")
          .option("tuner", "T",
                  "choice of configurations: a tuner (cclgym list algorithms), policy:FILE (cclgym "
                  "export), or ALGORITHM[/PROTOCOL[/CHANNELS]]; for single communicators: "
                  "tp=T,dp=T "
                  "[default: nccl-default:2.18, rccl-default or ring/Simple/1, by the GPU]")
          .option("compare", "T,…", "further tuners, whose step times are compared")
          .flag("tune", "search the configurations that make the step fastest")
          .option("tune-programs", "A,…",
                  "programs among which --tune searches [default: ring,tree,nvls,nvls-tree]")
          .option(options().detail, "D")
          .option("engine", "E", "simulation engine [default: flow]")
          .option(options().flops, "X")
          .option(options().memory, "X")
          .option(options().format, "F")
          .input("process-groups", "FILE", "Chakra: file of process groups, as ASTRA-sim reads it")
          .flag("one-communication", "Chakra: a rank makes one communication at a time")
          .option(options().step, "N")
          .flag("replicate",
                "profiles of PyTorch: ranks without a file do what the lowest rank with one does")
          .flag("no-idle",
                "profiles of PyTorch: leave out the time in which the GPU waits for the host")
          .output("timeline", "FILE", "Chrome trace to write, which ui.perfetto.dev shows")
          .output("report", "FILE", "HTML page to write, with plots")
          .flag("json", kJsonHelp)
          .read(args);
  if (!arguments) return 0;
  const auto fabric = fabric_of(arguments->required("fabric"), *arguments);
  std::optional<std::string> engine;
  if (arguments->has("engine")) engine = arguments->choice(experiment_option("engine"));
  const JobTuners tuners = tuners_of(*arguments);
  if (arguments->has("tune-programs") && !arguments->has("tune")) {
    throw UserError(argument_location("tune-programs"), "is only for --tune; leave it out");
  }
  const WorkloadInput input = input_of(*arguments);
  for (const char* option : {"timeline", "report"}) require_output(*arguments, option);
  const JobGraph job = read_workload_input(input);
  const CostModel model = parameter_set_of(*arguments, "cost-model", *fabric).model;
  print_warning(cost_model_warning(model, *fabric));

  JobSettings settings;
  settings.tuners = tuners;
  if (settings.tuners.job.empty()) settings.tuners.job = default_job_tuner(*fabric);
  settings.tuners.say = [](const std::string& text) { print_warning(text); };
  settings.tuners.make = policy_tuner_maker(settings.tuners.say);
  if (engine) settings.engine = *engine;
  settings.detail = detail_of(*arguments, job, settings.engine);
  settings.fold = settings.detail == JobDetail::Calls;
  settings.efficiency = {.flops = real_of(*arguments, options().flops),
                         .memory = real_of(*arguments, options().memory)};
  constexpr int kIntervals = 200;
  settings.intervals = kIntervals;
  settings.on_call = notice_of_calls();
  JobSimulator simulator(job, fabric, model, settings);
  const JobRecord record = simulator.run();
  const JobBreakdown found = break_down(job, record);
  std::vector<TunerRow> rows = compared(*arguments, simulator, record);
  std::optional<JobTuning> tuning;
  if (arguments->has("tune")) {
    tuning = tune_with_progress(simulator, arguments->names("tune-programs"));
    if (rows.empty()) rows.push_back(row_of(settings.tuners.job, job, record));
    add_tuned_rows(rows, *tuning, simulator);
  }
  write_files(*arguments, job, record, found, *fabric, model, rows, tuning);
  if (arguments->has("json")) {
    auto json = nlohmann::ordered_json::parse(job_json(job, record, found, *fabric, rows));
    if (tuning) json["tuned_calls"] = tuning_json(*tuning);
    print_json(json);
    return 0;
  }
  print_out("{}", job_text(job, record, found, *fabric));
  print_out("{}", tuner_text(rows));
  if (tuning) print_out("{}", tuning_text(*tuning));
  if (arguments->has("timeline")) {
    print_out("\ntimeline in {}: open it in https://ui.perfetto.dev\n",
              arguments->text("timeline"));
  }
  if (arguments->has("report")) print_out("\nreport in {}\n", arguments->text("report"));
  return 0;
}

}  // namespace

const Command& workload_command() {
  static const Command command{
      .name = "workload",
      .summary = "Simulate one step of a training or inference job",
      .usage = "FILE --fabric F [options]",
      .examples =
          "  cclgym workload experiments/workloads/gpt3-175b.yaml --fabric ndv4 --nodes 128\n"
          "      one step of GPT-3 175B on 1,024 GPUs: step time, exposed communication, calls\n"
          "  cclgym workload experiments/workloads/llama-7b-zero3.yaml --fabric ndv4 --nodes 2 \\\n"
          "      --compare ring/Simple/8,ring/LL128/16 --report step.html --timeline step.json\n"
          "      what other choices would save, with pictures\n"
          "  cclgym workload experiments/workloads/llama-7b-zero3.yaml --fabric ndv4 --nodes 2 "
          "--tune\n"
          "      the configurations that make the step fastest, call by call\n"
          "  cclgym workload trace --fabric dgx1\n"
          "      the Chakra traces trace.0.et to trace.7.et\n"
          "  cclgym workload rank0.json --replicate --fabric ndv4\n"
          "      a profile of PyTorch, of a job whose ranks all do the same\n",
      .run = workload};
  return command;
}

}  // namespace cclgym
