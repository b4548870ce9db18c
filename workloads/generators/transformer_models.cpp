#include "workloads/generators/transformer_models.hpp"

#include <numeric>
#include <utility>

namespace cclgym {

namespace {

TransformerModel gpt_model(std::string name, std::uint64_t layers, std::uint64_t hidden,
                           std::uint64_t heads, std::uint64_t vocabulary, std::uint64_t sequence,
                           std::string source) {
  return {.name = std::move(name),
          .layers = layers,
          .hidden = hidden,
          .heads = heads,
          .kv_heads = heads,
          .ffn = 4 * hidden,
          .vocabulary = vocabulary,
          .sequence = sequence,
          .source = std::move(source)};
}

TransformerModel llama_model(std::string name, std::uint64_t layers, std::uint64_t hidden,
                             std::uint64_t heads, std::uint64_t kv_heads, std::uint64_t ffn,
                             std::uint64_t vocabulary, std::uint64_t sequence, std::string source) {
  TransformerModel model =
      gpt_model(std::move(name), layers, hidden, heads, vocabulary, sequence, std::move(source));
  model.kv_heads = kv_heads;
  model.ffn = ffn;
  model.gated = true;
  model.biases = false;
  model.positions = false;
  model.tied = false;
  return model;
}

std::vector<TransformerModel> all_transformer_models() {
  // The papers round the vocabulary up for Megatron-LM: 51,200 instead of 50,257.
  const std::string brown = "Brown et al. 2020, table 2.1; vocabulary of Narayanan et al. 2021";
  const std::string touvron = "Touvron et al. 2023, table 2";
  std::vector<TransformerModel> models{
      gpt_model("gpt2-1.5b", 48, 1600, 25, 50257, 1024, "Radford et al. 2019, table 2"),
      gpt_model("gpt3-6.7b", 32, 4096, 32, 51200, 2048, brown),
      // Table 2.1 has width 5,140, which 40 heads do not divide; OPT (Zhang et al. 2022) has 5,120.
      gpt_model("gpt3-13b", 40, 5120, 40, 51200, 2048, brown + "; width of Zhang et al. 2022"),
      gpt_model("gpt-22b", 48, 6144, 64, 51200, 2048, "Korthikanti et al. 2022, table 3"),
      gpt_model("gpt3-175b", 96, 12288, 96, 51200, 2048, brown),
      gpt_model("gpt-530b", 105, 20480, 128, 51200, 2048, "Smith et al. 2022, section 2"),
      gpt_model("gpt-1t", 128, 25600, 160, 51200, 2048, "Narayanan et al. 2021, table 1"),
      llama_model("llama-7b", 32, 4096, 32, 32, 11008, 32000, 2048, touvron),
      llama_model("llama-13b", 40, 5120, 40, 40, 13824, 32000, 2048, touvron),
      llama_model("llama-65b", 80, 8192, 64, 64, 22016, 32000, 2048, touvron),
      llama_model("llama2-70b", 80, 8192, 64, 8, 28672, 32000, 4096,
                  "Touvron et al. 2023 (Llama 2), table 1 and released configuration"),
      llama_model("llama3-8b", 32, 4096, 32, 8, 14336, 128256, 8192,
                  "Grattafiori et al. 2024, table 3"),
      llama_model("llama3-70b", 80, 8192, 64, 8, 28672, 128256, 8192,
                  "Grattafiori et al. 2024, table 3"),
  };
  // Trained with 32,768 tokens; 4,096 keeps activations of one sequence within a GPU.
  TransformerModel mixtral = llama_model("mixtral-8x7b", 32, 4096, 32, 8, 14336, 32000, 4096,
                                         "Jiang et al. 2024, table 1; sequences of 4,096 tokens");
  mixtral.experts = 8;
  mixtral.experts_per_token = 2;
  models.push_back(std::move(mixtral));
  return models;
}

void append(std::vector<std::uint64_t>& tensors, std::initializer_list<std::uint64_t> more) {
  tensors.insert(tensors.end(), more);
}

// Weight of a norm, and its bias.
void append_norm(std::vector<std::uint64_t>& tensors, const TransformerModel& model) {
  tensors.push_back(model.hidden);
  if (model.biases) tensors.push_back(model.hidden);
}

std::uint64_t sum_of(const std::vector<std::uint64_t>& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), std::uint64_t{0});
}

}  // namespace

std::uint64_t TransformerModel::padded_vocabulary(std::uint64_t tp) const {
  const std::uint64_t unit = 128 * tp;
  return (vocabulary + unit - 1) / unit * unit;
}

std::uint64_t TransformerModel::parameters() const {
  const std::uint64_t layer = sum_of(attention_tensors(*this, 1)) + sum_of(mlp_tensors(*this, 1)) +
                              sum_of(expert_tensors(*this, 1, 1));
  const std::uint64_t ends =
      sum_of(embedding_tensors(*this, 1)) + sum_of(head_tensors(*this, 1, !tied));
  const std::uint64_t padding = (padded_vocabulary(1) - vocabulary) * hidden;
  return layers * layer + ends - padding * (tied ? 1 : 2);
}

std::vector<std::uint64_t> attention_tensors(const TransformerModel& model, std::uint64_t tp) {
  std::vector<std::uint64_t> tensors;
  append_norm(tensors, model);
  tensors.push_back(model.hidden * model.qkv() / tp);
  if (model.biases) tensors.push_back(model.qkv() / tp);
  tensors.push_back(model.hidden * model.hidden / tp);
  if (model.biases) tensors.push_back(model.hidden);
  return tensors;
}

std::vector<std::uint64_t> mlp_tensors(const TransformerModel& model, std::uint64_t tp) {
  std::vector<std::uint64_t> tensors;
  append_norm(tensors, model);
  if (model.moe()) {
    tensors.push_back(model.hidden * model.experts);
    return tensors;
  }
  tensors.push_back(model.hidden * model.ffn_in() / tp);
  if (model.biases) tensors.push_back(model.ffn_in() / tp);
  tensors.push_back(model.hidden * model.ffn / tp);
  if (model.biases) tensors.push_back(model.hidden);
  return tensors;
}

std::vector<std::uint64_t> expert_tensors(const TransformerModel& model, std::uint64_t tp,
                                          std::uint64_t ep) {
  std::vector<std::uint64_t> tensors;
  for (std::uint64_t expert = 0; expert < model.experts / ep; ++expert) {
    append(tensors, {model.hidden * model.ffn_in() / tp, model.hidden * model.ffn / tp});
  }
  return tensors;
}

std::vector<std::uint64_t> embedding_tensors(const TransformerModel& model, std::uint64_t tp) {
  std::vector<std::uint64_t> tensors{model.padded_vocabulary(tp) / tp * model.hidden};
  if (model.positions) tensors.push_back(model.sequence * model.hidden);
  return tensors;
}

std::vector<std::uint64_t> head_tensors(const TransformerModel& model, std::uint64_t tp,
                                        bool own_matrix) {
  std::vector<std::uint64_t> tensors;
  append_norm(tensors, model);
  if (own_matrix) tensors.push_back(model.padded_vocabulary(tp) / tp * model.hidden);
  return tensors;
}

const std::vector<TransformerModel>& transformer_models() {
  static const std::vector<TransformerModel> models = all_transformer_models();
  return models;
}

std::vector<std::string> transformer_model_names() {
  std::vector<std::string> names;
  for (const TransformerModel& model : transformer_models()) names.push_back(model.name);
  return names;
}

const TransformerModel* find_transformer_model(std::string_view name) {
  for (const TransformerModel& model : transformer_models()) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

}  // namespace cclgym
