// cclgym workload: simulates one step of a job, and compares tuners by its time.
#include <fmt/core.h>

#include "cli/output/json_output.hpp"
#include "cli/support/command.hpp"
#include "cli/support/fabric_options.hpp"
#include "cli/support/print.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "workloads/readers/job_file.hpp"
#include "workloads/timing/job_breakdown.hpp"
#include "workloads/timing/job_simulator.hpp"

namespace cclgym {

namespace {

int workload(const std::vector<std::string>& args) {
  ArgumentReader reader(workload_command());
  reader.positional("FILE", "job: a .yaml file");
  reader.input("fabric", "F", "name of a fabric (cclgym list fabrics), or a .yaml file");
  add_fabric_options(reader);
  const auto arguments =
      reader
          .input("cost-model", "M", "name of a cost model (cclgym list cost-models), a .yaml file, or auto")
          .option("engine", "E", "simulation engine")
          .option("detail", "D", "messages or calls")
          .option("tuner", "T", "tuner")
          .flag("no-fold", "simulate every rank")
          .read(args);
  if (!arguments) return 0;
  const JobGraph job = read_job_file(arguments->text("FILE"));
  const auto fabric = fabric_of(arguments->required("fabric"), *arguments);
  const CostModel model = cost_model_for(
      arguments->has("cost-model") ? arguments->text("cost-model") : "auto", *fabric);
  JobSettings settings;
  if (arguments->has("engine")) settings.engine = arguments->text("engine");
  settings.detail = JobDetail::Calls;
  if (arguments->has("detail") && arguments->text("detail") == "messages") settings.detail = JobDetail::Messages;
  settings.fold = settings.detail == JobDetail::Calls && !arguments->has("no-fold");
  if (arguments->has("tuner")) settings.tuners.job = arguments->text("tuner");
  JobSimulator simulator(job, fabric, model, settings);
  const JobRecord record = simulator.run();
  const JobBreakdown found = break_down(job, record);
  print_out("step {} s; {} classes of {} ranks; {} calls, {} flows, {} nodes, {} simulations\n", record.step_time_s,
            record.lowered.classes.count(), job.ranks, record.calls, record.flows, record.lowered.graph->size(), simulator.flows().simulations());
  print_out("compute {} overlap {} exposed {} idle {}\n", found.mean.compute_s, found.mean.overlap_s,
            found.mean.exposed_s, found.mean.idle_s);
  for (const CallSummary& call : found.calls) {
    print_out("{:8} {:14} {:12} {:5} {:24} {:6} {:.6} {:.6} {:.6}\n",
              job.communicators[at(call.communicator)].name, to_string(call.collective), call.bytes,
              call.ranks, config_label(call.config), call.calls, call.time_s, call.wait_s,
              call.total_s);
  }
  return 0;
}

}  // namespace

const Command& workload_command() {
  static const Command command{
      .name = "workload",
      .summary = "Simulate one step of a job",
      .usage = "FILE --fabric F [options]",
      .examples = "  cclgym workload job.yaml --fabric ndv4\n      \n",
      .run = workload};
  return command;
}

}  // namespace cclgym
