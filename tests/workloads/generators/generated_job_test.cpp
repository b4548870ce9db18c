// Generated jobs from YAML: all kinds and models, and messages for wrong settings.
#include "workloads/generators/generated_job.hpp"

#include <random>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/thrown.hpp"
#include "workloads/generators/exact_times.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

JobGraph generated(const std::string& text) {
  return read_generated_job(parse_yaml(text, "job.yaml"));
}

bool refused_as(const std::string& text, std::string_view message) {
  const std::string found = thrown([&] { return generated(text); });
  UNSCOPED_INFO(found);
  return contains(found, message);
}

}  // namespace

TEST_CASE("every kind generates consistent jobs of all its models", "[workloads][generators]") {
  for (const GeneratorInfo& info : generator_infos()) {
    const std::vector<std::string> models = generator_models(info.name);
    CHECK(models.size() == generator_model_sources(info.name).size());
    for (const std::string& model : models) {
      std::string text = "{kind: " + info.name + ", model: " + model + ", dp: 4";
      if (info.name == "transformer") text += ", global_batch: 8";
      CAPTURE(text);
      const JobGraph job = generated(text + "}");
      check_job(job);
      CHECK(job.ranks == 4);
      CHECK(job.programs.size() == 1);
      CHECK(exact_time(job, flop_seconds) > 0);
    }
  }
}

TEST_CASE("the settings of a transformer job are read", "[workloads][generators]") {
  const TransformerJob job = read_transformer_job(parse_yaml(
      "{kind: transformer, model: llama3-8b, tp: 4, pp: 2, dp: 6, micro_batch: 2, "
      "global_batch: 96, sequence_parallel: true, tp_overlap: false, virtual_stages: 2, "
      "data_parallel: megatron, zero: 1, overlap_gradients: false, recomputation: selective, "
      "gradient_bytes: 2, sequence_length: 4096, layers: 16, bucket_size: 1MiB, "
      "overlap_p2p: true, vocabulary: 1000, ffn: 8192}",
      "job.yaml"));
  CHECK(job.model.name == "llama3-8b");
  CHECK(job.model.layers == 16);
  CHECK(job.model.sequence == 4096);
  CHECK(job.model.vocabulary == 1000);
  CHECK(job.model.ffn == 8192);
  CHECK(job.model.kv_heads == 8);
  CHECK(job.plan.ranks() == 48);
  CHECK(job.micro_batches() == 8);
  CHECK(job.sequence_parallel);
  CHECK(!job.tp_overlap);
  CHECK(job.overlap_p2p);
  CHECK(job.virtual_stages == 2);
  CHECK(job.zero == 1);
  CHECK(!job.overlap_gradients);
  CHECK(job.recomputation == Recomputation::Selective);
  CHECK(job.bytes_per_gradient() == 2);
  CHECK(job.bucket_bytes == 1 << 20);
}

TEST_CASE("the stage of ZeRO defaults to that of the framework", "[workloads][generators]") {
  const auto zero = [](const std::string& framework) {
    return read_transformer_job(parse_yaml("{kind: transformer, model: llama-7b, global_batch: 4, "
                                           "dp: 2, data_parallel: " +
                                               framework + "}",
                                           "job.yaml"))
        .zero;
  };
  CHECK(zero("megatron") == 0);
  CHECK(zero("ddp") == 0);
  CHECK(zero("deepspeed") == 1);
  CHECK(zero("fsdp") == 3);
}

TEST_CASE("settings that do not fit are refused at their place", "[workloads][generators]") {
  const std::string start = "kind: transformer\nmodel: gpt3-175b\n";
  CHECK(refused_as("{model: gpt3-175b}",
                   "job.yaml:1:1: the job has no key kind; expected one of "
                   "transformer, inference, data-parallel, dlrm"));
  CHECK(refused_as("{kind: transfromer}", "did you mean 'transformer'?"));
  CHECK(refused_as("{kind: transformer, model: gpt3-175, global_batch: 1}",
                   "did you mean 'gpt3-175b'?"));
  CHECK(refused_as(start + "global_batch: 8\nmicro_bach: 1", "job.yaml:4:1:"));
  CHECK(refused_as(start, "global_batch"));
  CHECK(refused_as(start + "global_batch: 8\ntp: 5",
                   "job.yaml:4:5: tp 5 does not divide the 96 heads, 96 key-value heads, MLP width "
                   "49152 of gpt3-175b; expected one of 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, …"));
  CHECK(refused_as(start + "global_batch: 8\npp: 7",
                   "job.yaml:4:5: the 96 layers of gpt3-175b cannot be divided among pp 7 x "
                   "virtual_stages 1; expected one of 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, … for "
                   "their product"));
  CHECK(refused_as(
      start + "global_batch: 9\ndp: 2\nmicro_batch: 2",
      "job.yaml:3:15: global_batch 9 is not a multiple of dp 2 x micro_batch 2; expected "
      "e.g. 12"));
  CHECK(refused_as(start + "global_batch: 1024\ndp: 1024\ntp: 96\npp: 96",
                   "job.yaml:4:5: tp 96 x pp 96 x dp 1024 has more than 1000000 ranks"));
  CHECK(refused_as(start + "global_batch: 100000",
                   "100000 micro-batches make about 40.4 million operations, but at most 10 "
                   "million can be generated; expected global_batch at most 24746"));
  CHECK(refused_as(start + "global_batch: 8\nep: 2\ndp: 2", "gpt3-175b has no experts"));
  CHECK(refused_as(start + "global_batch: 8\nzero: 2",
                   "data_parallel: megatron has no zero: 2; expected 0, or 1 for its distributed "
                   "optimizer"));
  CHECK(refused_as(start + "global_batch: 8\ndata_parallel: ddp\nzero: 1", "job.yaml:5:7:"));
  CHECK(refused_as(start + "global_batch: 8\ndata_parallel: fsdp\nzero: 1", "expected 3, or 2"));
  CHECK(refused_as(start + "global_batch: 8\ndata_parallel: fsdp\npp: 2", "expected pp 1"));
  CHECK(refused_as(start + "global_batch: 8\nvirtual_stages: 2", "needs pp > 1"));
  CHECK(refused_as(start + "global_batch: 8\npp: 2\nvirtual_stages: 2\nschedule: gpipe",
                   "job.yaml:6:11: virtual_stages > 1 needs schedule: 1f1b"));
  CHECK(refused_as(start + "global_batch: 9\npp: 2\nvirtual_stages: 2",
                   "9 micro-batches are not a multiple of pp 2, which virtual_stages > 1 needs; "
                   "expected e.g. global_batch 10"));
  CHECK(refused_as("{kind: transformer, model: mixtral-8x7b, global_batch: 8, tp: 2}",
                   "need sequence_parallel: true"));
  CHECK(refused_as("{kind: transformer, model: mixtral-8x7b, global_batch: 12, dp: 12, ep: 8}",
                   "ep 8 does not divide the 8 experts of mixtral-8x7b and dp 12; expected one of "
                   "1, 2, 4"));
  CHECK(refused_as("{kind: transformer, model: llama-7b, global_batch: 8, heads: 7}",
                   "do not divide width 4096"));
  CHECK(refused_as("{kind: inference, model: gpt2-1.5b, tp: 8}",
                   "tp 8 does not divide the 25 heads"));
  CHECK(refused_as("{kind: inference, model: llama-7b, prompt: 0, generated: 0}",
                   "there are no tokens"));
  CHECK(refused_as("{kind: inference, model: llama-7b, generated: 1000000}",
                   "expected at most 75756"));
  CHECK(refused_as("{kind: dlrm, model: dlrm-x}", "unknown"));
  CHECK(
      refused_as("{kind: transformer, model: mixtral-8x7b, layers: 8, global_batch: 8, hidden: "
                 "1048576, ffn: 2, vocabulary: 3, pp: 2, dp: 4, overlap_gradients: false}",
                 "job.yaml:1:1: the job has a call 'gradients' of"));
  CHECK(refused_as("{kind: data-parallel, model: resnet-50, dp: 2000000}", "dp"));
  CHECK(refused_as("[1, 2]", "job.yaml:1:1:"));
}

// Random settings, most of which do not fit: a job is refused with a message or consistent.
TEST_CASE("random settings are refused or give consistent jobs", "[workloads][generators]") {
  std::mt19937 random(7);
  const auto one_of = [&](const std::vector<std::string>& values) {
    return values[random() % values.size()];
  };
  const std::vector<std::string> sizes{"1", "2", "3", "4", "8"};
  int generated_jobs = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string text =
        "{kind: transformer, model: " + one_of({"gpt2-1.5b", "llama3-8b", "mixtral-8x7b"}) +
        ", layers: " + one_of({"1", "2", "4", "8"}) +
        ", global_batch: " + one_of({"1", "8", "16", "24"});
    for (const OptionSpec& spec : generator_options("transformer")) {
      const bool fixed = spec.name == "kind" || spec.name == "model" || spec.name == "layers" ||
                         spec.name == "global_batch";
      if (fixed || random() % 3 > 0) continue;
      std::string value = one_of(sizes);
      if (spec.kind == OptionKind::Flag) value = one_of({"true", "false"});
      if (spec.kind == OptionKind::Choice) value = one_of(spec.choices);
      if (spec.kind == OptionKind::Bytes) value = one_of({"1B", "1MiB", "100MB"});
      if (spec.name == "hidden") value = one_of({"64", "100", "1048576"});
      if (spec.name == "sequence_length") value = one_of({"1", "64", "16777216"});
      text += ", " + spec.name + ": " + value;
    }
    CAPTURE(text);
    JobGraph job;
    try {
      job = generated(text + "}");
    } catch (const UserError& error) {
      CHECK(contains(error.what(), "job.yaml:1:"));
      continue;
    }
    ++generated_jobs;
    check_job(job);
    CHECK(exact_time(job, flop_seconds) > 0);
  }
  CHECK(generated_jobs > 100);
}

TEST_CASE("inference reduces activations twice per layer and token", "[workloads][generators]") {
  const JobGraph job = generated(
      "{kind: inference, model: llama2-70b, tp: 8, sequences: 4, prompt: 100, generated: 3}");
  check_job(job);
  const auto reduced = find_calls(job, 0, "tp", CollectiveKind::AllReduce, "attention");
  CHECK(reduced.count == 80 * 4);
  CHECK(reduced.first_bytes == 4 * 100 * 8192 * 2);
  CHECK(reduced.bytes == 80 * (100 + 3) * 4 * 8192 * 2);
  // Generation reads all weights for each token: about 2 x 69e9 B / 8, embeddings aside.
  double memory = 0;
  std::int32_t first = 0;
  const RankProgram& program = job.programs.front();
  for (std::int32_t i = 0; i < program.size(); ++i) {
    if (job.names[at(program.ops[at(i)].name)] == "embedding" &&
        program.ops[at(i)].kind == JobOpKind::Compute) {
      first = i;
    }
  }
  for (std::int32_t i = first; i < program.size(); ++i) memory += program.ops[at(i)].memory_bytes;
  CHECK(memory == Approx(2 * 68.7e9 / 8).epsilon(0.02));
}

TEST_CASE("a recommendation model exchanges pooled embeddings", "[workloads][generators]") {
  const JobGraph job = generated("{kind: dlrm, model: dlrm-terabyte, dp: 8, samples: 2048}");
  check_job(job);
  const auto forward = find_calls(job, 0, "alltoall", CollectiveKind::AllToAll, "embeddings");
  CHECK(forward.bytes == 2048 * 26 * 128 * 4);
  const auto backward =
      find_calls(job, 0, "alltoall", CollectiveKind::AllToAll, "embedding gradients");
  CHECK(backward.bytes == forward.bytes);
  // MLPs 13-512-256-128 and 479-1024-1024-512-256-1: 2,368,897 parameters, with biases.
  CHECK(find_calls(job, 0, "dp", CollectiveKind::AllReduce).bytes == 4 * 2'368'897);
  // FLOP per sample of the MLPs, forward and backward.
  double mlp = 0;
  for (const JobOp& op : job.programs.front().ops) {
    if (contains(job.names[at(op.name)], "mlp")) mlp += op.flop;
  }
  const double matrices =
      13 * 512 + 512 * 256 + 256 * 128 + 479 * 1024 + 1024 * 1024 + 1024 * 512 + 512 * 256 + 256;
  CHECK(mlp == Approx(6 * 2048 * matrices).epsilon(1e-12));
}

// Mudigere et al. 2022, table 3: MFLOP per sample. The squares of average widths are less than the
// average squares.
TEST_CASE("recommendation models have about their published FLOP", "[workloads][generators]") {
  const std::pair<std::string_view, double> published[] = {
      {"dlrm-a", 638e6}, {"dlrm-f", 5e6}, {"dlrm-i", 60e6}};
  for (const auto& [name, flop] : published) {
    double elements = 0;
    for (const std::uint64_t tensor : find_dlrm_model(name)->mlp_tensors()) {
      elements += static_cast<double>(tensor);
    }
    CAPTURE(name);
    CHECK(2 * elements < flop);
    CHECK(2 * elements > 0.6 * flop);
  }
}

TEST_CASE("gradients are reduced while the backward pass goes on", "[workloads][generators]") {
  const JobGraph job = generated("{kind: data-parallel, model: bert-large, dp: 2}");
  const RankProgram& program = job.programs.front();
  int calls = 0;
  for (std::int32_t i = 0; i < program.size(); ++i) {
    if (program.ops[at(i)].kind != JobOpKind::Collective) continue;
    ++calls;
    // Each call waits for the computation before it, and no computation but the last for calls.
    CHECK(program.dep_begin[at(i) + 1] - program.dep_begin[at(i)] == 1);
    CHECK(program.deps[program.dep_begin[at(i)]] == i - 1);
  }
  CHECK(calls > 10);
  for (std::int32_t i = 0; i + 1 < program.size(); ++i) {
    if (program.ops[at(i)].kind == JobOpKind::Compute) {
      CHECK(program.dep_begin[at(i) + 1] == program.dep_begin[at(i)]);
    }
  }
}
