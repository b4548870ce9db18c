// Option records of the generators.
#include <stdexcept>
#include <utility>

#include "workloads/generators/generated_job.hpp"

namespace cclgym {

namespace {

constexpr double kMostRanks = 1e6;
constexpr double kMostSequences = 65536;  // sequences of a micro-batch
constexpr double kMostTokens = 1 << 24;   // tokens of a sequence
constexpr double kMostWidth = 1 << 20;

OptionSpec count_option(std::string name, std::string description, double max,
                        std::string default_text) {
  return {.name = std::move(name),
          .kind = OptionKind::Integer,
          .description = std::move(description),
          .min = 1,
          .max = max,
          .default_text = std::move(default_text)};
}

OptionSpec flag_option(std::string name, std::string description, std::string default_text) {
  return {.name = std::move(name),
          .kind = OptionKind::Flag,
          .description = std::move(description),
          .default_text = std::move(default_text)};
}

OptionSpec kind_option() {
  std::vector<std::string> names;
  for (const GeneratorInfo& info : generator_infos()) names.push_back(info.name);
  return {.name = "kind",
          .kind = OptionKind::Choice,
          .description = "kind of the job",
          .required = true,
          .choices = std::move(names)};
}

OptionSpec model_option(std::string_view kind) {
  return {.name = "model",
          .kind = OptionKind::Choice,
          .description = "name of the model",
          .required = true,
          .choices = generator_models(kind)};
}

// Sizes that replace those of the named transformer.
std::vector<OptionSpec> shape_options() {
  return {
      count_option("layers", "number of layers, instead of the model's", 16384, ""),
      count_option("hidden", "width of the activations, instead of the model's", kMostWidth, ""),
      count_option("heads",
                   "number of attention heads, instead of the model's; each then has its own keys "
                   "and values unless kv_heads is given",
                   kMostWidth, ""),
      count_option("kv_heads", "number of key-value heads, instead of the model's", kMostWidth, ""),
      count_option("ffn", "width of the MLP, instead of the model's; with hidden alone, 4 hidden",
                   1 << 24, ""),
      count_option("vocabulary", "size of the vocabulary, instead of the model's", 1 << 28, ""),
  };
}

void append_options(std::vector<OptionSpec>& list, std::vector<OptionSpec> more) {
  for (OptionSpec& spec : more) list.push_back(std::move(spec));
}

std::vector<OptionSpec> transformer_options() {
  std::vector<OptionSpec> list{kind_option(), model_option("transformer")};
  append_options(list, shape_options());
  append_options(
      list,
      {count_option("sequence_length", "tokens per sequence, instead of the model's", kMostTokens,
                    ""),
       count_option("tp", "tensor parallelism: GPUs that share each layer", kMostRanks, "1"),
       count_option("pp", "pipeline parallelism: stages", kMostRanks, "1"),
       count_option("dp", "data parallelism: replicas", kMostRanks, "1"),
       count_option("ep", "expert parallelism: replicas of dp that share the experts", kMostRanks,
                    "1"),
       flag_option("sequence_parallel",
                   "AllGather and ReduceScatter around each half layer instead of AllReduce",
                   "false"),
       flag_option("tp_overlap",
                   "the gradients of weights are computed while those of the input are reduced",
                   "true"),
       count_option("micro_batch", "sequences of a micro-batch", kMostSequences, "1"),
       {.name = "global_batch",
        .kind = OptionKind::Integer,
        .description = "sequences of a step on all ranks",
        .min = 1,
        .max = 1e12,
        .required = true},
       {.name = "schedule",
        .kind = OptionKind::Choice,
        .description = "order of the micro-batches in the pipeline",
        .default_text = "1f1b",
        .choices = {"1f1b", "gpipe"}},
       count_option("virtual_stages", "chunks of layers per stage (interleaved 1F1B)", 16384, "1"),
       flag_option("overlap_p2p",
                   "messages of the pipeline overlap computation; always if virtual_stages > 1",
                   "false"),
       {.name = "data_parallel",
        .kind = OptionKind::Choice,
        .description = "framework whose rules for gradients and parameters apply",
        .default_text = "megatron",
        .choices = {"megatron", "ddp", "deepspeed", "fsdp"}},
       {.name = "zero",
        .kind = OptionKind::Integer,
        .description = "stage of ZeRO; not given: 0 for megatron and ddp, 1 for deepspeed, 3 for "
                       "fsdp",
        .min = 0,
        .max = 3},
       flag_option("overlap_gradients", "reduce gradients during the last backward pass", "true"),
       {.name = "bucket_size",
        .kind = OptionKind::Bytes,
        .description = "bytes of a bucket of gradients; not given: that of the framework",
        .min = 1},
       {.name = "recomputation",
        .kind = OptionKind::Choice,
        .description = "activations that the backward pass computes again",
        .default_text = "none",
        .choices = {"none", "selective", "full"}},
       count_option("element_bytes", "bytes per element of parameters and activations", 8, "2"),
       count_option("gradient_bytes",
                    "bytes per element of reduced gradients; not given: 4 for megatron, otherwise "
                    "element_bytes",
                    8, "")});
  return list;
}

std::vector<OptionSpec> inference_options() {
  std::vector<OptionSpec> list{kind_option(), model_option("inference")};
  append_options(list, shape_options());
  append_options(
      list,
      {count_option("tp", "tensor parallelism: GPUs that share each layer", kMostRanks, "1"),
       count_option("dp", "replicas, which do not communicate", kMostRanks, "1"),
       count_option("sequences", "sequences of a batch", kMostSequences, "8"),
       {.name = "prompt",
        .kind = OptionKind::Integer,
        .description = "tokens of each prompt; 0: only generation",
        .min = 0,
        .max = kMostTokens,
        .default_text = "512"},
       {.name = "generated",
        .kind = OptionKind::Integer,
        .description = "tokens generated per sequence",
        .min = 0,
        .max = kMostTokens,
        .default_text = "16"},
       {.name = "context",
        .kind = OptionKind::Integer,
        .description = "tokens before the prompt, whose keys and values are in memory",
        .min = 0,
        .max = kMostTokens,
        .default_text = "0"},
       count_option("element_bytes", "bytes per element of weights and activations", 8, "2")});
  return list;
}

std::vector<OptionSpec> data_parallel_options() {
  return {kind_option(),
          model_option("data-parallel"),
          count_option("dp", "number of ranks", kMostRanks, "1"),
          count_option("samples", "images or tokens per rank, instead of the model's", 1 << 30, ""),
          {.name = "bucket_size",
           .kind = OptionKind::Bytes,
           .description = "bytes of a bucket of gradients",
           .min = 1,
           .default_text = "25MiB"}};
}

std::vector<OptionSpec> dlrm_options() {
  return {kind_option(), model_option("dlrm"),
          count_option("dp", "number of ranks", kMostRanks, "1"),
          count_option("samples", "samples per rank, instead of the model's", 1 << 24, ""),
          count_option("embedding_bytes", "bytes per element of embeddings in AllToAll", 8, "4")};
}

}  // namespace

const std::vector<GeneratorInfo>& generator_infos() {
  static const std::vector<GeneratorInfo> infos{
      {"transformer",
       "a training step of a GPT, Llama or mixture of experts, with any parallelism"},
      {"inference", "tensor-parallel inference of a transformer: prompts, then token by token"},
      {"data-parallel", "a training step of a CNN or BERT with PyTorch DDP"},
      {"dlrm", "a training step of a recommendation model: AllToAll of embeddings, DDP of MLPs"},
  };
  return infos;
}

const std::vector<OptionSpec>& generator_options(std::string_view kind) {
  static const std::vector<OptionSpec> transformer = transformer_options();
  static const std::vector<OptionSpec> inference = inference_options();
  static const std::vector<OptionSpec> data_parallel = data_parallel_options();
  static const std::vector<OptionSpec> dlrm = dlrm_options();
  if (kind == "transformer") return transformer;
  if (kind == "inference") return inference;
  if (kind == "data-parallel") return data_parallel;
  if (kind == "dlrm") return dlrm;
  throw std::logic_error("there is no generator '" + std::string(kind) + "'");
}

std::vector<std::string> generator_models(std::string_view kind) {
  if (kind == "transformer" || kind == "inference") return transformer_model_names();
  if (kind == "dlrm") return dlrm_model_names();
  if (kind != "data-parallel") {
    throw std::logic_error("there is no generator '" + std::string(kind) + "'");
  }
  std::vector<std::string> names;
  for (const ModelShape& model : model_shapes()) names.push_back(model.name);
  return names;
}

}  // namespace cclgym
