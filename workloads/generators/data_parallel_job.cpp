#include "workloads/generators/data_parallel_job.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "workloads/generators/parallel_plan.hpp"
#include "workloads/generators/transformer_costs.hpp"
#include "workloads/generators/transformer_job.hpp"
#include "workloads/graph/program_builder.hpp"

namespace cclgym {

JobGraph make_data_parallel_job(const DataParallelJob& job) {
  if (job.ranks < 1 || job.ranks > kMaxJobRanks) {
    throw UserError(fmt::format("the job has {} ranks; expected 1 to {}", job.ranks, kMaxJobRanks));
  }
  if (job.bucket_bytes < 1) throw UserError("a bucket has 0 B; expected at least 1 B");
  const std::uint64_t samples =
      job.samples > 0 ? job.samples : job.model.samples_on_rank(static_cast<int>(job.ranks));
  JobGraph graph;
  graph.name = job.model.name;
  const PlanCommunicators groups = add_plan(graph, {.dp = job.ranks}, false);
  const auto parameters = static_cast<double>(job.model.parameters());
  const auto element = static_cast<double>(job.model.gradient_bytes);
  const double forward = job.model.forward_flop_per_sample * static_cast<double>(samples);
  JobProgramBuilder builder(graph);
  builder.compute("forward", forward, element * parameters);
  std::int32_t reduced = -1;
  const std::uint64_t first = std::min<std::uint64_t>(1 << 20, job.bucket_bytes);
  for (const std::uint64_t bytes :
       ddp_buckets(job.model.tensors, job.model.gradient_bytes, first, job.bucket_bytes)) {
    const double share = static_cast<double>(bytes) / element / parameters;
    builder.compute("backward", 2 * forward * share, 2 * static_cast<double>(bytes));
    reduced = builder.overlapping(CollectiveKind::AllReduce, groups.dp, "dp", "gradients", bytes,
                                  builder.computed());
  }
  builder.wait_for(reduced);
  const PartCost adam = adam_cost(parameters, element, element);
  builder.compute("optimizer", adam.flop, adam.memory_bytes);
  graph.programs.push_back(builder.take());
  graph.program_of.assign(at(graph.ranks), 0);
  return graph;
}

}  // namespace cclgym
