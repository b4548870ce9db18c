// Sizes and numbers of messages against traces and workloads that others published.
#include "support/catch.hpp"
#include "workloads/generators/data_parallel_job.hpp"
#include "workloads/generators/exact_times.hpp"
#include "workloads/generators/transformer_job.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

TransformerJob sized_job(std::string_view model, ParallelPlan plan, std::int64_t micro_batches) {
  TransformerJob job;
  job.model = *find_transformer_model(model);
  job.plan = plan;
  job.global_batch = micro_batches * plan.dp;
  return job;
}

std::vector<std::uint64_t> call_sizes(const JobGraph& job, std::string_view communicator,
                                      CollectiveKind kind) {
  std::vector<std::uint64_t> sizes;
  for (const JobOp& op : job.programs.front().ops) {
    if (op.kind != JobOpKind::Collective || op.collective != kind) continue;
    if (job.communicators[at(op.communicator)].name == communicator) sizes.push_back(op.bytes);
  }
  return sizes;
}

}  // namespace

// facebookresearch/HolisticTraceAnalysis, tests/data/nccl_parser_config/nccl_data.json.gz: a
// profile of ResNet-50 with PyTorch DDP; "In msg nelems" of its AllReduces, in order, float.
TEST_CASE("DDP's buckets of ResNet-50 are those of a published profile",
          "[workloads][generators]") {
  const JobGraph job = make_data_parallel_job({.model = model_shape("resnet-50"), .ranks = 2});
  check_job(job);
  std::vector<std::uint64_t> elements = call_sizes(job, "dp", CollectiveKind::AllReduce);
  for (std::uint64_t& bytes : elements) bytes /= 4;
  CHECK(elements ==
        std::vector<std::uint64_t>{2'049'000, 7'875'584, 6'563'840, 6'637'568, 2'431'040});
}

// aliyun/aicb, workload/physical/model_workload/G13B-M1-C02_GPT13B_megatron_tp8_pp1_mbs1_sp.csv:
// 128 GPUs, one micro-batch of 2,048 tokens, sequence parallelism, distributed optimizer.
TEST_CASE("GPT-13B with tp 8 has the calls of AICB's workload", "[workloads][generators]") {
  TransformerJob settings = sized_job("gpt3-13b", {.tp = 8, .dp = 16, .pp = 1}, 1);
  settings.sequence_parallel = true;
  settings.zero = 1;
  settings.overlap_gradients = false;
  const JobGraph job = make_transformer_job(settings);
  check_job(job);
  constexpr std::uint64_t kActivation = 20'971'520;
  const auto layer_calls = [&](CollectiveKind kind, std::string_view suffix) {
    int count = 0;
    for (const std::string_view half : {"attention", "mlp"}) {
      const FoundCalls found =
          find_calls(job, 0, "tp", kind, std::string(half) + std::string(suffix));
      CHECK(found.first_bytes == kActivation);
      CHECK(found.bytes == kActivation * static_cast<std::uint64_t>(found.count));
      count += found.count;
    }
    return count;
  };
  CHECK(layer_calls(CollectiveKind::AllGather, "") == 80);               // forward, column linear
  CHECK(layer_calls(CollectiveKind::ReduceScatter, "") == 80);           // forward, row linear
  CHECK(layer_calls(CollectiveKind::AllGather, " backward") == 80);      // backward, row linear
  CHECK(layer_calls(CollectiveKind::AllGather, " input") == 80);         // backward, column linear
  CHECK(layer_calls(CollectiveKind::ReduceScatter, " backward") == 80);  // backward, column linear
  CHECK(find_calls(job, 0, "tp", CollectiveKind::AllReduce, "embedding").bytes == kActivation);
  for (const std::string_view name : {"loss maximum", "loss target", "loss sum"}) {
    CHECK(find_calls(job, 0, "tp", CollectiveKind::AllReduce, name).bytes == 8192);
  }
  // AICB counts neither position embeddings nor most biases and norms, hence 1 %.
  const FoundCalls gradients = find_calls(job, 0, "dp", CollectiveKind::ReduceScatter);
  CHECK(gradients.count == 1);
  CHECK(static_cast<double>(gradients.bytes) == Approx(6'422'958'080.0).epsilon(0.01));
  const FoundCalls parameters = find_calls(job, 0, "dp", CollectiveKind::AllGather);
  CHECK(static_cast<double>(parameters.bytes) == Approx(3'211'479'040.0).epsilon(0.01));
}

// aliyun/aicb, L65B-M1-C05_Llama65B_megatron_tp2_pp8_mbs1.csv: 64 micro-batches of 2,048 tokens.
TEST_CASE("LLaMA-65B with tp 2 and pp 8 has the calls of AICB's workload",
          "[workloads][generators]") {
  const JobGraph job =
      make_transformer_job(sized_job("llama-65b", {.tp = 2, .dp = 1, .pp = 8}, 64));
  check_job(job);
  int forward = 0;
  int backward = 0;
  int sends = 0;
  for (std::int32_t stage = 0; stage < 8; ++stage) {
    for (const std::string_view half : {"attention", "mlp"}) {
      const auto calls = find_calls(job, 2 * stage, "tp", CollectiveKind::AllReduce, half);
      CHECK(calls.first_bytes == 33'554'432);
      forward += calls.count;
      backward += find_calls(job, 2 * stage, "tp", CollectiveKind::AllReduce,
                             std::string(half) + " backward")
                      .count;
    }
    for (const JobOp& op : job.program(2 * stage).ops) {
      if (op.kind != JobOpKind::Send) continue;
      CHECK(op.bytes == 33'554'432);
      ++sends;
    }
  }
  CHECK(forward == 10'240);
  CHECK(backward == 10'240);
  CHECK(sends == 2 * 7 * 64);
}

// aliyun/aicb, simAI/model_workload/G175B-M1-C03_GPT175B_megatron_tp8_pp1_mbs1_A100.txt.
TEST_CASE("GPT-3 175B reduces 50,331,648 B per half layer", "[workloads][generators]") {
  const JobGraph job = make_transformer_job(sized_job("gpt3-175b", {.tp = 8, .dp = 1, .pp = 1}, 1));
  const auto calls = find_calls(job, 0, "tp", CollectiveKind::AllReduce, "attention");
  CHECK(calls.count == 96);
  CHECK(calls.first_bytes == 50'331'648);
}

// Rajbhandari et al. 2019, section 7: with psi parameters, ZeRO-1 and ZeRO-2 communicate 2 psi per
// rank, as data parallelism does, and ZeRO-3 3 psi.
TEST_CASE("ZeRO communicates twice or three times the parameters", "[workloads][generators]") {
  for (const DataParallelism framework : {DataParallelism::DeepSpeed, DataParallelism::Fsdp}) {
    for (const std::int64_t zero : {1, 2, 3}) {
      if (framework == DataParallelism::Fsdp && zero == 1) continue;
      TransformerJob settings = sized_job("llama-7b", {.tp = 1, .dp = 16, .pp = 1}, 1);
      settings.data_parallel = framework;
      settings.zero = zero;
      const JobGraph job = make_transformer_job(settings);
      check_job(job);
      const double psi = static_cast<double>(settings.model.parameters());
      const auto gathered = find_calls(job, 0, "dp", CollectiveKind::AllGather);
      const auto scattered = find_calls(job, 0, "dp", CollectiveKind::ReduceScatter);
      CAPTURE(framework, zero);
      CHECK(static_cast<double>(scattered.bytes) == Approx(2 * psi).epsilon(1e-4));
      // FSDP and ZeRO-3 keep the root unit, the embedding and the head, after the forward pass.
      const double root = zero == 3 ? 2 * 2.0 * 32000 * 4096 : 0;
      CHECK(static_cast<double>(gathered.bytes) ==
            Approx(2 * psi * (zero == 3 ? 2 : 1) - root).epsilon(1e-4));
      if (zero != 3) continue;
      // A layer's flat parameter: 202,383,360 elements (4 h^2 + 3 h 11,008 + 2 h), half precision.
      CHECK(find_calls(job, 0, "dp", CollectiveKind::AllGather, "gather layer").first_bytes ==
            404'766'720);
      CHECK(find_calls(job, 0, "dp", CollectiveKind::AllGather, "gather layer").count == 64);
    }
  }
}

TEST_CASE("flat parameters and buckets are padded", "[workloads][generators]") {
  TransformerJob settings = sized_job("llama-7b", {.tp = 1, .dp = 7, .pp = 1}, 1);
  settings.data_parallel = DataParallelism::Fsdp;
  settings.zero = 3;
  const JobGraph fsdp = make_transformer_job(settings);
  for (const JobOp& op : fsdp.programs.front().ops) {
    if (op.kind == JobOpKind::Collective) CHECK(op.bytes % (2 * 7) == 0);
  }
  settings.data_parallel = DataParallelism::Megatron;
  settings.zero = 1;
  const JobGraph megatron = make_transformer_job(settings);
  const std::vector<std::uint64_t> buckets =
      call_sizes(megatron, "dp", CollectiveKind::ReduceScatter);
  CHECK(buckets.size() > 32);
  for (const std::uint64_t bytes : buckets) {
    CHECK(bytes % (4 * 7 * 128) == 0);
    if (bytes != buckets.back()) CHECK(bytes >= 4 * 40'000'000ULL);
  }
}

TEST_CASE("buckets of each framework hold all gradients", "[workloads][generators]") {
  TransformerJob settings = sized_job("gpt2-1.5b", {.tp = 1, .dp = 4, .pp = 1}, 3);
  settings.data_parallel = DataParallelism::Ddp;
  const std::uint64_t gradients =
      2 * (settings.model.parameters() + (50'304 - 50'257) * 1600);  // padded vocabulary
  const JobGraph ddp = make_transformer_job(settings);
  const std::vector<std::uint64_t> buckets = call_sizes(ddp, "dp", CollectiveKind::AllReduce);
  std::uint64_t sum = 0;
  for (const std::uint64_t bytes : buckets) sum += bytes;
  CHECK(sum == gradients);
  // The tensors of the job are those of the model of data-parallel jobs, so are the buckets, but
  // for the padding in the last one.
  std::vector<std::uint64_t> expected = ddp_buckets(model_shape("gpt2-1.5b").tensors, 2);
  expected.back() += 2 * 47 * 1600;
  CHECK(buckets == expected);
  settings.data_parallel = DataParallelism::DeepSpeed;
  const JobGraph deepspeed = make_transformer_job(settings);
  const auto large = call_sizes(deepspeed, "dp", CollectiveKind::AllReduce);
  CHECK(large.size() == 4);
  for (const std::uint64_t bytes : large) CHECK(bytes <= 1'000'000'000);
}

TEST_CASE("messages of a pipeline are cut by sequence parallelism", "[workloads][generators]") {
  TransformerJob settings = sized_job("gpt3-6.7b", {.tp = 4, .dp = 1, .pp = 2}, 2);
  const auto sent = [&] {
    const JobGraph job = make_transformer_job(settings);
    for (const JobOp& op : job.programs.front().ops) {
      if (op.kind == JobOpKind::Send) return op.bytes;
    }
    return std::uint64_t{0};
  };
  CHECK(sent() == 2 * 2048 * 4096);
  settings.sequence_parallel = true;
  CHECK(sent() == 2 * 2048 * 4096 / 4);
}

// Two experts per token: AllToAlls of the tokens of a rank before and after the experts, forward
// and backward.
TEST_CASE("a mixture of experts exchanges its tokens", "[workloads][generators]") {
  TransformerJob settings = sized_job("mixtral-8x7b", {.tp = 2, .dp = 8, .pp = 1, .ep = 8}, 1);
  settings.sequence_parallel = true;
  const JobGraph job = make_transformer_job(settings);
  check_job(job);
  const auto calls = find_calls(job, 0, "ep", CollectiveKind::AllToAll);
  CHECK(calls.count == 4 * 32);
  CHECK(calls.first_bytes == 4096ULL / 2 * 2 * 4096 * 2);
  CHECK(calls.bytes == calls.first_bytes * 128);
  // Each rank has one expert, and no other rank of tp 2 x dp 8 / ep 8 reduces its gradients.
  CHECK(find_calls(job, 0, "edp", CollectiveKind::AllReduce).count == 0);
}
