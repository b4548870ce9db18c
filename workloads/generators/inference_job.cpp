#include "workloads/generators/inference_job.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "workloads/generators/transformer_costs.hpp"
#include "workloads/graph/program_builder.hpp"

namespace cclgym {

namespace {

// One pass of all layers over `queries` tokens per sequence, which attend to `keys` tokens.
void add_inference_pass(JobProgramBuilder& builder, const InferenceJob& job, std::int32_t tp_group,
                        std::int64_t queries, std::int64_t keys) {
  const TransformerModel& model = job.model;
  const auto tp = static_cast<std::uint64_t>(job.tp);
  PartSize size{.sequences = static_cast<double>(job.sequences),
                .queries = static_cast<double>(queries),
                .keys = static_cast<double>(keys),
                .tp = tp,
                .element_bytes = static_cast<double>(job.element_bytes)};
  const std::uint64_t sequences = static_cast<std::uint64_t>(job.sequences);
  const std::uint64_t activation =
      sequences * static_cast<std::uint64_t>(queries) * model.hidden * job.element_bytes;
  const auto reduce = [&](std::string_view name) {
    builder.blocking(CollectiveKind::AllReduce, tp_group, "tp", name, activation);
  };
  const PartCost attention = attention_cost(model, size);
  PartCost mlp = mlp_cost(model, size);
  if (model.moe()) {
    const PartCost experts = experts_cost(model, size, 1);
    mlp.flop += experts.flop;
    mlp.memory_bytes += experts.memory_bytes;
  }
  const PartCost embedding = embedding_cost(model, size);
  builder.compute("embedding", embedding.flop, embedding.memory_bytes);
  reduce("embedding");
  for (std::uint64_t layer = 0; layer < model.layers; ++layer) {
    builder.compute("attention", attention.flop, attention.memory_bytes);
    reduce("attention");
    builder.compute("mlp", mlp.flop, mlp.memory_bytes);
    reduce("mlp");
  }
  size.queries = 1;
  const PartCost head = head_cost(model, size);
  builder.compute("logits", head.flop, head.memory_bytes);
  builder.blocking(CollectiveKind::AllGather, tp_group, "tp", "logits",
                   sequences * model.padded_vocabulary(tp) * job.element_bytes);
}

}  // namespace

TransformerJob InferenceJob::as_training() const {
  TransformerJob job;
  job.model = model;
  job.plan = {.tp = tp, .dp = dp};
  job.micro_batch = std::max<std::int64_t>(1, sequences);
  job.global_batch = job.micro_batch * std::max<std::int64_t>(1, dp);
  job.element_bytes = element_bytes;
  // Experts are cut as MLPs are, and reduced with them.
  job.model.experts = 0;
  return job;
}

std::optional<JobProblem> find_problem(const InferenceJob& job) {
  if (auto problem = find_problem(job.as_training())) return problem;
  if (job.sequences < 1) return JobProblem{"sequences", "sequences is 0; expected at least 1"};
  if (job.prompt < 0 || job.generated < 0 || job.prompt + job.generated < 1) {
    return JobProblem{"prompt", "there are no tokens; expected a prompt or generated tokens"};
  }
  const auto tokens = static_cast<std::uint64_t>(std::max(job.prompt, job.context));
  if (tokens > std::uint64_t{1} << 24) {
    return JobProblem{"prompt",
                      fmt::format("{} tokens are too many; expected at most {}", tokens, 1 << 24)};
  }
  const std::int64_t per_pass = 4 * static_cast<std::int64_t>(job.model.layers) + 4;
  if (job.generated > kMaxJobOps / per_pass - 1) {
    return JobProblem{
        "generated", fmt::format("generated {} makes more than {} million "
                                 "operations; expected at most {}",
                                 job.generated, kMaxJobOps / 1'000'000, kMaxJobOps / per_pass - 1)};
  }
  return std::nullopt;
}

JobGraph make_inference_job(const InferenceJob& job) {
  if (const auto problem = find_problem(job)) throw UserError(problem->message);
  JobGraph graph;
  graph.name = job.model.name + "-inference";
  PlanCommunicators groups = add_plan(graph, {.tp = job.tp, .dp = job.dp}, false);
  JobProgramBuilder builder(graph);
  if (job.prompt > 0) {
    add_inference_pass(builder, job, groups.tp, job.prompt, job.context + job.prompt);
  }
  for (std::int64_t token = 0; token < job.generated; ++token) {
    add_inference_pass(builder, job, groups.tp, 1, job.context + job.prompt + token + 1);
  }
  graph.programs.push_back(builder.take());
  graph.program_of.assign(at(graph.ranks), 0);
  return graph;
}

}  // namespace cclgym
