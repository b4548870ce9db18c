#include "workloads/generators/generated_job.hpp"

#include <fmt/format.h>

#include "core/units.hpp"

namespace cclgym {

namespace {

// A mapping of a kind, whose keys have been checked.
class JobReader {
 public:
  JobReader(const YamlValue& mapping, std::string_view kind)
      : mapping_(mapping), specs_(generator_options(kind)) {
    check_keys(mapping, specs_, fmt::format("{} job", kind));
  }

  [[nodiscard]] YamlValue value(std::string_view key) const {
    return option_value(mapping_, find_option(specs_, key));
  }
  [[nodiscard]] bool has(std::string_view key) const { return !value(key).is_null(); }
  [[nodiscard]] std::int64_t integer(std::string_view key) const {
    return read_integer(value(key), find_option(specs_, key));
  }
  [[nodiscard]] std::uint64_t size(std::string_view key) const {
    return static_cast<std::uint64_t>(integer(key));
  }
  [[nodiscard]] std::uint64_t bytes(std::string_view key) const {
    return read_bytes(value(key), find_option(specs_, key));
  }
  [[nodiscard]] bool flag(std::string_view key) const {
    return read_flag(value(key), find_option(specs_, key));
  }
  [[nodiscard]] std::size_t choice(std::string_view key) const {
    return read_choice(value(key), find_option(specs_, key));
  }

  /// Throws the problem at the key that it names, or at the mapping if the key is not given.
  void refuse(const std::optional<JobProblem>& problem) const {
    if (!problem) return;
    const YamlValue* found = mapping_.find(problem->key);
    throw UserError((found != nullptr ? *found : mapping_).location(), problem->message);
  }

 private:
  const YamlValue& mapping_;
  const std::vector<OptionSpec>& specs_;
};

// The named model, with the sizes that the mapping replaces.
TransformerModel read_model(const JobReader& reader) {
  TransformerModel model = transformer_models()[reader.choice("model")];
  if (reader.has("layers")) model.layers = reader.size("layers");
  if (reader.has("hidden")) {
    model.hidden = reader.size("hidden");
    model.ffn = 4 * model.hidden;
  }
  if (reader.has("ffn")) model.ffn = reader.size("ffn");
  if (reader.has("heads")) model.heads = model.kv_heads = reader.size("heads");
  if (reader.has("kv_heads")) model.kv_heads = reader.size("kv_heads");
  if (reader.has("vocabulary")) model.vocabulary = reader.size("vocabulary");
  return model;
}

std::int64_t default_zero(DataParallelism data_parallel) {
  switch (data_parallel) {
    case DataParallelism::Megatron:
    case DataParallelism::Ddp:
      return 0;
    case DataParallelism::DeepSpeed:
      return 1;
    case DataParallelism::Fsdp:
      break;
  }
  return 3;
}

// Publication of a model of model_shapes().
std::string shape_source(std::string_view name) {
  if (name == "resnet-50") return "He et al. 2015, table 1, as in torchvision";
  if (name == "bert-large") return "Devlin et al. 2018, section 3";
  if (name == "gpt2-1.5b") return "Radford et al. 2019, table 2";
  return "Brown et al. 2020, table 2.1; bf16";
}

JobGraph read_data_parallel_job(const YamlValue& mapping) {
  const JobReader reader(mapping, "data-parallel");
  DataParallelJob job{.model = model_shapes()[reader.choice("model")],
                      .ranks = reader.integer("dp"),
                      .bucket_bytes = reader.bytes("bucket_size")};
  if (reader.has("samples")) job.samples = reader.size("samples");
  return make_data_parallel_job(job);
}

JobGraph read_dlrm_job(const YamlValue& mapping) {
  const JobReader reader(mapping, "dlrm");
  DlrmJob job{.model = dlrm_models()[reader.choice("model")],
              .ranks = reader.integer("dp"),
              .embedding_bytes = reader.size("embedding_bytes")};
  if (reader.has("samples")) job.samples = reader.size("samples");
  return make_dlrm_job(job);
}

}  // namespace

TransformerJob read_transformer_job(const YamlValue& mapping) {
  const JobReader reader(mapping, "transformer");
  TransformerJob job;
  job.model = read_model(reader);
  if (reader.has("sequence_length")) job.model.sequence = reader.size("sequence_length");
  job.plan = {.tp = reader.integer("tp"),
              .dp = reader.integer("dp"),
              .pp = reader.integer("pp"),
              .ep = reader.integer("ep")};
  job.sequence_parallel = reader.flag("sequence_parallel");
  job.tp_overlap = reader.flag("tp_overlap");
  job.micro_batch = reader.integer("micro_batch");
  job.global_batch = reader.integer("global_batch");
  job.order = static_cast<PipelineOrder>(reader.choice("schedule"));
  job.virtual_stages = reader.integer("virtual_stages");
  job.overlap_p2p = reader.flag("overlap_p2p");
  job.data_parallel = static_cast<DataParallelism>(reader.choice("data_parallel"));
  job.zero = reader.has("zero") ? reader.integer("zero") : default_zero(job.data_parallel);
  job.overlap_gradients = reader.flag("overlap_gradients");
  if (reader.has("bucket_size")) job.bucket_bytes = reader.bytes("bucket_size");
  job.recomputation = static_cast<Recomputation>(reader.choice("recomputation"));
  job.element_bytes = reader.size("element_bytes");
  if (reader.has("gradient_bytes")) job.gradient_bytes = reader.size("gradient_bytes");
  reader.refuse(find_problem(job));
  return job;
}

InferenceJob read_inference_job(const YamlValue& mapping) {
  const JobReader reader(mapping, "inference");
  InferenceJob job{.model = read_model(reader),
                   .tp = reader.integer("tp"),
                   .dp = reader.integer("dp"),
                   .sequences = reader.integer("sequences"),
                   .prompt = reader.integer("prompt"),
                   .generated = reader.integer("generated"),
                   .context = reader.integer("context"),
                   .element_bytes = reader.size("element_bytes")};
  reader.refuse(find_problem(job));
  return job;
}

std::vector<std::string> generator_model_sources(std::string_view kind) {
  std::vector<std::string> sources;
  if (kind == "dlrm") {
    for (const DlrmModel& model : dlrm_models()) sources.push_back(model.source);
  } else if (kind == "data-parallel") {
    for (const ModelShape& model : model_shapes()) sources.push_back(shape_source(model.name));
  } else {
    static_cast<void>(generator_models(kind));  // throws for an unknown kind
    for (const TransformerModel& model : transformer_models()) sources.push_back(model.source);
  }
  return sources;
}

namespace {

JobGraph generated_job(const YamlValue& value) {
  static const OptionSpec kinds = find_option(generator_options("transformer"), "kind");
  const YamlValue* kind = value.find("kind");
  if (kind == nullptr) {
    std::string names;
    for (const std::string& name : kinds.choices) names += (names.empty() ? "" : ", ") + name;
    throw UserError(value.location(),
                    fmt::format("the job has no key kind; expected one of {}", names));
  }
  switch (read_choice(*kind, kinds)) {
    case 0:
      return make_transformer_job(read_transformer_job(value));
    case 1:
      return make_inference_job(read_inference_job(value));
    case 2:
      return read_data_parallel_job(value);
    default:
      return read_dlrm_job(value);
  }
}

// Only here has a call that is too large a place in the file.
void check_sizes(const JobGraph& job, const SourceLocation& where) {
  for (const RankProgram& program : job.programs) {
    for (const JobOp& op : program.ops) {
      if (op.bytes <= kMostCallBytes) continue;
      throw UserError(where,
                      fmt::format("the job has a call '{}' of {} bytes; expected at most {}",
                                  job.names[at(op.name)], op.bytes, format_bytes(kMostCallBytes)));
    }
  }
}

}  // namespace

JobGraph read_generated_job(const YamlValue& value) {
  JobGraph job = generated_job(value);
  check_sizes(job, value.location());
  return job;
}

}  // namespace cclgym
