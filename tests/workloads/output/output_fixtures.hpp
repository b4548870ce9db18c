// Simulated jobs for the tests of their outputs.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "workloads/timing/job_breakdown.hpp"
#include "workloads/timing/job_fixtures.hpp"

namespace cclgym::test {

/// A job with its record; the simulator stays, because records refer to it.
struct SimulatedJob {
  SimulatedJob(JobGraph graph, std::shared_ptr<const Fabric> on, const std::string& cost_model,
               const JobSettings& settings)
      : job(std::move(graph)),
        fabric(std::move(on)),
        simulator(job, fabric, shipped_cost_model(cost_model), settings),
        record(simulator.run()),
        breakdown(break_down(job, record)) {}
  SimulatedJob(const SimulatedJob&) = delete;
  SimulatedJob& operator=(const SimulatedJob&) = delete;

  const JobGraph job;
  const std::shared_ptr<const Fabric> fabric;
  JobSimulator simulator;
  const JobRecord record;
  const JobBreakdown breakdown;
};

/// Two stages of four ranks: a message between stages, calls of two communicators on their own
/// streams, and a rank that is late. The first computation has a name.
inline JobGraph two_stages(int batches) {
  JobGraph job = empty_job(8);
  job.streams = {"compute", "comm", "pp"};
  job.names = {"", "forward <b>"};
  (void)add_group(job, "tp", {0, 1, 2, 3});
  const auto last = static_cast<std::int32_t>(job.groups.size());
  job.groups.push_back({1, {4, 5, 6, 7}});
  for (int rank = 4; rank < 8; ++rank) job.groups_of[at(rank)][1] = last;
  for (int rank = 0; rank < 8; ++rank) {
    RankProgram& program = job.programs[at(rank)];
    const bool first = rank < 4;
    for (int batch = 0; batch < batches; ++batch) {
      std::vector<std::int32_t> needs;
      if (!first) needs.push_back(program.add(message_on(JobOpKind::Recv, rank - 4, 1 << 20, 2)));
      const JobOp forward{.name = 1, .flop = rank == 1 ? 2e11 : 1e11, .memory_bytes = 1e8};
      const auto computed = program.add(forward, needs);
      const auto called =
          program.add(call_on(CollectiveKind::AllReduce, 8 << 20, 1, 1), {computed});
      if (first) program.add(message_on(JobOpKind::Send, rank + 4, 1 << 20, 2), {called});
    }
    program.add(call_on(CollectiveKind::ReduceScatter, 32 << 20, 1, 0));
  }
  return job;
}

}  // namespace cclgym::test
