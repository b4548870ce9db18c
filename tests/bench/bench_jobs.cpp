// Speed of jobs: collectives per second message by message and call by call, and the time of large
// steps. All ratios are of times in one run.
//
//   build/tests/bench/bench_jobs
#include <algorithm>
#include <chrono>
#include <fmt/core.h>
#include <functional>
#include <vector>

#include "core/yaml/yaml.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "topology_models/machines/registry.hpp"
#include "workloads/generators/generated_job.hpp"
#include "workloads/timing/job_simulator.hpp"

using namespace cclgym;

namespace {

double median_s(const std::function<void()>& work) {
  std::vector<double> times;
  for (int run = 0; run < 5; ++run) {
    const auto start = std::chrono::steady_clock::now();
    work();
    times.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// One AllReduce after another on all ranks.
JobGraph many_calls(int ranks, int calls) {
  JobGraph job{.name = "calls", .ranks = ranks};
  job.communicators = {{"world"}};
  job.groups = {{0, {}}};
  job.streams = {"comm"};
  job.names = {"allreduce"};
  RankProgram program;
  for (int call = 0; call < calls; ++call) {
    program.add({.kind = JobOpKind::Collective,
                 .collective = CollectiveKind::AllReduce,
                 .communicator = 0,
                 .bytes = 1 << 20});
  }
  job.programs = {program};
  for (int rank = 0; rank < ranks; ++rank) {
    job.groups[0].ranks.push_back(rank);
    job.groups_of.push_back({0});
    job.program_of.push_back(0);
  }
  return job;
}

std::shared_ptr<const Fabric> machine(const std::string& name, int nodes, int gpus) {
  FabricSpec spec;
  spec.name = name;
  if (nodes > 0) spec.servers = nodes;
  if (gpus > 0) spec.gpus = gpus;
  return make_fabric(spec);
}

}  // namespace

int main() {
  fmt::print("AllReduce of 1 MiB on a ring, hockney, ring/Simple/1, engine flow\n");
  fmt::print("{:>6} {:>20} {:>20} {:>8}\n", "ranks", "messages, calls/s", "calls, calls/s",
             "ratio");
  for (const int ranks : {8, 16, 64}) {
    constexpr int kCalls = 2000;
    const JobGraph job = many_calls(ranks, kCalls);
    double rate[2];
    for (const JobDetail detail : {JobDetail::Messages, JobDetail::Calls}) {
      const int calls = detail == JobDetail::Messages && ranks == 64 ? kCalls / 20 : kCalls;
      const JobGraph& own = calls == kCalls ? job : many_calls(ranks, calls);
      const JobSettings settings{
          .detail = detail, .fold = detail == JobDetail::Calls, .tuners = {.job = "ring/Simple/1"}};
      const double time_s = median_s([&] {
        (void)simulate_job(own, machine("ring", 0, ranks), shipped_cost_model("hockney"), settings);
      });
      rate[detail == JobDetail::Messages ? 0 : 1] = calls / time_s;
    }
    fmt::print("{:>6} {:>20.0f} {:>20.0f} {:>8.1f}\n", ranks, rate[0], rate[1], rate[1] / rate[0]);
  }
  fmt::print("\nsteps, detail calls, folded, with reading\n");
  for (const auto& [text, nodes] :
       {std::pair{"{kind: transformer, model: gpt3-175b, tp: 8, pp: 16, dp: 8, global_batch: 1536}",
                  128},
        std::pair{"{kind: transformer, model: llama-7b, dp: 2048, data_parallel: fsdp, zero: 3, "
                  "global_batch: 2048}",
                  256}}) {
    double step_s = 0;
    const double time_s = median_s([&, text = text, nodes = nodes] {
      const JobGraph job = read_generated_job(parse_yaml(text, "bench"));
      step_s = simulate_job(job, machine("ndv4", nodes, 0), shipped_cost_model("a100"),
                            {.detail = JobDetail::Calls, .fold = true})
                   .step_time_s;
    });
    fmt::print("{:>8.2f} s for a step of {:.3f} s: {}\n", time_s, step_s, text);
  }
}
