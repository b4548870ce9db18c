#include "workloads/generators/transformer_job.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "workloads/generators/gradient_buckets.hpp"
#include "workloads/generators/transformer_stage.hpp"

namespace cclgym {

namespace {

constexpr std::int64_t kMaxSequences = 1 << 24;  // sequences of a micro-batch
constexpr double kMaxParameters = 1e15;
constexpr double kMaxMessage = 1e18;  // B; sizes must not overflow 64 bits

std::uint64_t unsigned_of(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// "expected one of 1, 2, 4" for the common divisors of numbers, at most ten of them.
std::string divisors_text(std::uint64_t common) {
  std::string text = "expected one of ";
  int shown = 0;
  for (std::uint64_t d = 1; d <= common; ++d) {
    if (common % d != 0) continue;
    if (shown == 10) return text + ", …";
    text += fmt::format("{}{}", shown++ > 0 ? ", " : "", d);
  }
  return text;
}

std::optional<JobProblem> model_problem(const TransformerJob& job) {
  const TransformerModel& m = job.model;
  for (const std::uint64_t size : {m.layers, m.hidden, m.heads, m.kv_heads, m.ffn, m.sequence}) {
    if (size < 1) return JobProblem{"model", "a size of the model is 0; expected at least 1"};
  }
  if (m.hidden % m.heads != 0 || m.heads % m.kv_heads != 0) {
    return JobProblem{
        m.hidden % m.heads != 0 ? "heads" : "kv_heads",
        fmt::format("{} heads with {} key-value heads do not divide width {}; expected heads that "
                    "divide the width, and key-value heads that divide the heads",
                    m.heads, m.kv_heads, m.hidden)};
  }
  if (m.moe() && (m.experts_per_token < 1 || m.experts_per_token > m.experts)) {
    return JobProblem{"model", fmt::format("a token has {} experts; expected 1 to {}",
                                           m.experts_per_token, m.experts)};
  }
  const auto real = [](std::uint64_t value) { return static_cast<double>(value); };
  const double experts = std::max(1.0, real(m.experts));
  const double parameters =
      real(m.layers) * real(m.hidden) * (6 * real(m.hidden) + 3 * real(m.ffn) * experts) +
      2 * real(m.hidden) * real(m.vocabulary);
  if (parameters > kMaxParameters) {
    return JobProblem{"model", fmt::format("the model has about {:.2g} parameters; expected at "
                                           "most {:.0g}",
                                           parameters, kMaxParameters)};
  }
  if (job.micro_batch > kMaxSequences) {
    return JobProblem{"micro_batch", fmt::format("micro_batch is {}; expected at most {}",
                                                 job.micro_batch, kMaxSequences)};
  }
  const double message = static_cast<double>(job.micro_batch) * real(m.sequence) * real(m.hidden) *
                         real(job.element_bytes) * std::max(1.0, real(m.experts_per_token));
  if (message > kMaxMessage) {
    return JobProblem{"micro_batch", fmt::format("activations of a micro-batch have {:.2g} B; "
                                                 "expected at most {:.0g} B",
                                                 message, kMaxMessage)};
  }
  return std::nullopt;
}

std::optional<JobProblem> plan_problem(const TransformerJob& job) {
  const ParallelPlan& plan = job.plan;
  const TransformerModel& m = job.model;
  for (const auto& [key, value] : {std::pair{"tp", plan.tp},
                                   {"dp", plan.dp},
                                   {"pp", plan.pp},
                                   {"ep", plan.ep},
                                   {"virtual_stages", job.virtual_stages},
                                   {"micro_batch", job.micro_batch},
                                   {"global_batch", job.global_batch}}) {
    if (value < 1) return JobProblem{key, fmt::format("{} is {}; expected at least 1", key, value)};
  }
  if (plan.tp > kMaxJobRanks || plan.dp > kMaxJobRanks || plan.pp > kMaxJobRanks ||
      plan.tp * plan.dp > kMaxJobRanks || plan.ranks() > kMaxJobRanks) {
    return JobProblem{"dp", fmt::format("tp {} x pp {} x dp {} has more than {} ranks; expected a "
                                        "smaller product",
                                        plan.tp, plan.pp, plan.dp, kMaxJobRanks)};
  }
  std::uint64_t cut = std::gcd(std::gcd(m.heads, m.kv_heads), m.ffn);
  if (job.sequence_parallel) cut = std::gcd(cut, m.sequence);
  if (cut % unsigned_of(plan.tp) != 0) {
    return JobProblem{
        "tp",
        fmt::format("tp {} does not divide the {} heads, {} key-value heads, "
                    "MLP width {}{} of {}; {}",
                    plan.tp, m.heads, m.kv_heads, m.ffn,
                    job.sequence_parallel ? fmt::format(" and sequence length {}", m.sequence) : "",
                    m.name, divisors_text(cut))};
  }
  if (unsigned_of(plan.pp) > m.layers || unsigned_of(job.virtual_stages) > m.layers ||
      m.layers % unsigned_of(plan.pp * job.virtual_stages) != 0) {
    return JobProblem{
        job.virtual_stages > 1 ? "virtual_stages" : "pp",
        fmt::format("the {} layers of {} cannot be divided among pp {} x "
                    "virtual_stages {}; {} for their product",
                    m.layers, m.name, plan.pp, job.virtual_stages, divisors_text(m.layers))};
  }
  if (job.global_batch % (plan.dp * job.micro_batch) != 0) {
    const std::int64_t unit = plan.dp * job.micro_batch;
    return JobProblem{"global_batch",
                      fmt::format("global_batch {} is not a multiple of dp {} x micro_batch {}; "
                                  "expected e.g. {}",
                                  job.global_batch, plan.dp, job.micro_batch,
                                  (job.global_batch + unit - 1) / unit * unit)};
  }
  if (plan.ep > 1) {
    const std::uint64_t fits = std::gcd(m.experts, unsigned_of(plan.dp));
    if (!m.moe()) {
      return JobProblem{"ep", fmt::format("{} has no experts; expected ep 1", m.name)};
    }
    if (fits % unsigned_of(plan.ep) != 0) {
      return JobProblem{"ep",
                        fmt::format("ep {} does not divide the {} experts of {} and dp {}; "
                                    "{}",
                                    plan.ep, m.experts, m.name, plan.dp, divisors_text(fits))};
    }
  }
  if (m.moe() && plan.tp > 1 && !job.sequence_parallel) {
    return JobProblem{"sequence_parallel",
                      "experts with tp > 1 need sequence_parallel: true, as in Megatron-LM"};
  }
  return std::nullopt;
}

std::optional<JobProblem> schedule_problem(const TransformerJob& job) {
  if (job.virtual_stages == 1) return std::nullopt;
  if (job.plan.pp == 1) {
    return JobProblem{"virtual_stages", "virtual_stages > 1 needs pp > 1"};
  }
  if (job.order != PipelineOrder::OneForwardOneBackward) {
    return JobProblem{"schedule", "virtual_stages > 1 needs schedule: 1f1b"};
  }
  if (job.micro_batches() % job.plan.pp != 0) {
    const std::int64_t unit = job.plan.dp * job.micro_batch * job.plan.pp;
    return JobProblem{
        "global_batch",
        fmt::format("{} micro-batches are not a multiple of pp {}, which "
                    "virtual_stages > 1 needs; expected e.g. global_batch {}",
                    job.micro_batches(), job.plan.pp, (job.global_batch + unit - 1) / unit * unit)};
  }
  return std::nullopt;
}

std::optional<JobProblem> zero_problem(const TransformerJob& job) {
  const auto wrong = [&](std::string_view framework, std::string_view expected) {
    return JobProblem{"zero", fmt::format("data_parallel: {} has no zero: {}; expected {}",
                                          framework, job.zero, expected)};
  };
  const bool high = job.zero > 1;
  if (job.zero < 0 || job.zero > 3) return wrong("any", "0 to 3");
  switch (job.data_parallel) {
    case DataParallelism::Megatron:
      if (high) return wrong("megatron", "0, or 1 for its distributed optimizer");
      break;
    case DataParallelism::Ddp:
      if (job.zero > 0) return wrong("ddp", "0");
      break;
    case DataParallelism::Fsdp:
      if (!high) return wrong("fsdp", "3, or 2 to keep parameters between the passes");
      break;
    case DataParallelism::DeepSpeed:
      break;
  }
  if (high && job.plan.pp > 1) {
    return JobProblem{"pp", "zero: 2 and 3 shard gradients of each micro-batch; expected pp 1"};
  }
  if ((high || job.data_parallel == DataParallelism::DeepSpeed) && job.plan.ep > 1) {
    return JobProblem{"ep", "ep > 1 is generated for data_parallel: megatron and ddp only"};
  }
  if (high && !job.overlap_gradients) {
    return JobProblem{"overlap_gradients", "zero: 2 and 3 need overlap_gradients: true"};
  }
  return std::nullopt;
}

// Bound of the operations of one micro-batch in all stages, and of those once per step. Doubles:
// they may exceed 64 bits.
struct OperationBound {
  double each = 0;
  double once = 0;
};

OperationBound operation_bound(const TransformerJob& job) {
  const bool sp = job.sequence_parallel;
  const bool tp = job.plan.tp > 1;
  double forward = 2 + (tp ? (sp ? 4 : 2) : 0);
  double backward = 2 + (tp ? (job.tp_overlap ? 2 : 0) + (sp ? 6 : 2) : 0);
  if (job.model.moe()) {
    const double exchange = 4;
    forward += exchange;
    backward += exchange;
  }
  double layer = forward + backward;
  if (job.recomputation == Recomputation::Full) layer += forward;
  if (job.sharded()) layer += 2;
  const auto layers = static_cast<double>(job.model.layers);
  const auto chunks = static_cast<double>(job.plan.pp * job.virtual_stages);
  OperationBound bound;
  bound.each = layers * layer + chunks * 4 + 16;
  // Buckets: no more than tensors, and two of them together exceed the limit of one.
  const double tensors = (12 + 2 * static_cast<double>(job.model.experts)) * layers + 8 * chunks;
  double buckets = tensors;
  const BucketRule rule = bucket_rule(job, static_cast<std::uint64_t>(job.plan.dp));
  if (rule.limit > 0) {
    const double full = static_cast<double>(job.model.parameters()) *
                        static_cast<double>(job.model.tied ? 2 : 1) /
                        static_cast<double>(rule.limit);
    buckets = std::min(buckets, 2 * full + 4 * chunks);
  } else {
    buckets = std::min(buckets, layers + 2 * chunks);
  }
  (job.zero >= 2 ? bound.each : bound.once) += buckets;
  bound.once += buckets + 8 * static_cast<double>(job.plan.pp);  // parameters, update
  return bound;
}

std::optional<JobProblem> size_problem(const TransformerJob& job) {
  const double total = max_operations(job);
  const auto most = static_cast<double>(kMaxJobOps);
  if (total <= most) return std::nullopt;
  const OperationBound bound = operation_bound(job);
  const auto fits = static_cast<std::int64_t>(std::max(0.0, most - bound.once) / bound.each);
  const std::int64_t unit = job.plan.dp * job.micro_batch;
  return JobProblem{"global_batch",
                    fmt::format("{} micro-batches make about {:.3g} million operations, but at "
                                "most {} million can be generated; expected global_batch at most "
                                "{}, or a larger micro_batch",
                                job.micro_batches(), total / 1e6, kMaxJobOps / 1'000'000,
                                std::max<std::int64_t>(1, fits) * unit)};
}

}  // namespace

double max_operations(const TransformerJob& job) {
  const OperationBound bound = operation_bound(job);
  return bound.each * static_cast<double>(job.micro_batches()) + bound.once;
}

std::optional<JobProblem> find_problem(const TransformerJob& job) {
  for (const auto& find :
       {model_problem, plan_problem, schedule_problem, zero_problem, size_problem}) {
    if (auto problem = find(job)) return problem;
  }
  return std::nullopt;
}

JobGraph make_transformer_job(const TransformerJob& job) {
  if (const auto problem = find_problem(job)) throw UserError(problem->message);
  JobGraph graph;
  graph.name = job.model.name;
  const PlanCommunicators groups = add_plan(graph, job.plan, job.model.tied);
  for (std::int64_t stage = 0; stage < job.plan.pp; ++stage) {
    graph.programs.push_back(stage_program(job, groups, static_cast<std::int32_t>(stage), graph));
  }
  graph.program_of.reserve(at(graph.ranks));
  for (std::int64_t rank = 0; rank < graph.ranks; ++rank) {
    graph.program_of.push_back(static_cast<std::int32_t>(job.plan.stage_of(rank)));
  }
  return graph;
}

}  // namespace cclgym
