// Shapes of transformers: published models by name, and the parameters of their parts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cclgym {

/// A decoder-only transformer. Widths are numbers of elements.
struct TransformerModel {
  std::string name;
  std::uint64_t layers = 0;
  std::uint64_t hidden = 0;
  std::uint64_t heads = 0;
  std::uint64_t kv_heads = 0;  ///< fewer than heads: grouped-query attention
  std::uint64_t ffn = 0;       ///< width between the two matrices of the MLP
  bool gated = false;          ///< SwiGLU: the first matrix of the MLP is twice as wide
  bool biases = true;          ///< linear layers and norms have biases (GPT)
  bool positions = true;       ///< learned position embeddings (GPT)
  bool tied = true;            ///< the output layer shares the embedding
  std::uint64_t vocabulary = 0;
  std::uint64_t sequence = 0;           ///< tokens of a sequence in training
  std::uint64_t experts = 0;            ///< experts per layer; 0: a dense MLP
  std::uint64_t experts_per_token = 0;  ///< experts that process each token
  std::string source{};

  [[nodiscard]] std::uint64_t head_width() const { return hidden / heads; }
  /// Width of the query, key and value projection.
  [[nodiscard]] std::uint64_t qkv() const { return (heads + 2 * kv_heads) * head_width(); }
  /// Width of the output of the MLP's first matrix.
  [[nodiscard]] std::uint64_t ffn_in() const { return gated ? 2 * ffn : ffn; }
  [[nodiscard]] bool moe() const { return experts > 0; }
  /// Vocabulary as Megatron-LM pads it: to a multiple of 128 tp
  /// (megatron/training/tokenizer, _vocab_size_with_padding).
  [[nodiscard]] std::uint64_t padded_vocabulary(std::uint64_t tp) const;
  /// Parameters without padding of the vocabulary.
  [[nodiscard]] std::uint64_t parameters() const;
};

/// Parameters of one GPU, elements by tensor in the order in which the modules register them.
/// Matrices and their biases are cut into `tp` parts as in Megatron-LM; norms and biases of
/// row-parallel layers are on every GPU.
[[nodiscard]] std::vector<std::uint64_t> attention_tensors(const TransformerModel& model,
                                                           std::uint64_t tp);
/// The MLP's tensors with its norm; of a mixture of experts, the norm and the router.
[[nodiscard]] std::vector<std::uint64_t> mlp_tensors(const TransformerModel& model,
                                                     std::uint64_t tp);
/// Tensors of experts / ep experts; empty for a dense model.
[[nodiscard]] std::vector<std::uint64_t> expert_tensors(const TransformerModel& model,
                                                        std::uint64_t tp, std::uint64_t ep);
/// Embedding of words (a part of the padded vocabulary) and positions.
[[nodiscard]] std::vector<std::uint64_t> embedding_tensors(const TransformerModel& model,
                                                           std::uint64_t tp);
/// The last norm, and the output matrix unless it is shared with an embedding on the same GPU.
[[nodiscard]] std::vector<std::uint64_t> head_tensors(const TransformerModel& model,
                                                      std::uint64_t tp, bool own_matrix);

/// Published models, with their sources.
[[nodiscard]] const std::vector<TransformerModel>& transformer_models();
[[nodiscard]] std::vector<std::string> transformer_model_names();
/// nullptr if there is no such model.
[[nodiscard]] const TransformerModel* find_transformer_model(std::string_view name);

}  // namespace cclgym
