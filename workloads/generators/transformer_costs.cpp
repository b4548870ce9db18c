#include "workloads/generators/transformer_costs.hpp"

#include <numeric>

namespace cclgym {

namespace {

double real(std::uint64_t value) { return static_cast<double>(value); }

double elements(const std::vector<std::uint64_t>& tensors) {
  return real(std::accumulate(tensors.begin(), tensors.end(), std::uint64_t{0}));
}

double processed_tokens(const PartSize& size) { return size.sequences * size.queries; }

// Elements that norm, residual addition and dropout move per token.
double elementwise(const TransformerModel& model, const PartSize& size) {
  return 5 * real(model.hidden) / (size.sequence_parallel ? real(size.tp) : 1);
}

}  // namespace

PartCost attention_cost(const TransformerModel& model, const PartSize& size) {
  const double h = real(model.hidden);
  const double qkv = real(model.qkv());
  const double tp = real(size.tp);
  const double tokens = processed_tokens(size);
  PartCost cost;
  cost.column_flop = 2 * tokens * h * qkv / tp;
  cost.scores_flop = 4 * tokens * size.keys * h / tp;
  cost.flop = cost.column_flop + cost.scores_flop + 2 * tokens * h * h / tp;
  const double cache = 2 * real(model.kv_heads * model.head_width()) / tp;  // keys and values
  const double moved = tokens * (elementwise(model, size) + 2 * h + (qkv + 3 * h) / tp) +
                       size.sequences * size.keys * cache;
  cost.memory_bytes = size.element_bytes * (moved + elements(attention_tensors(model, size.tp)));
  return cost;
}

PartCost mlp_cost(const TransformerModel& model, const PartSize& size) {
  const double h = real(model.hidden);
  const double tp = real(size.tp);
  const double tokens = processed_tokens(size);
  PartCost cost;
  double moved = elementwise(model, size);
  if (model.moe()) {
    // Every rank routes the tokens of its part of the sequence.
    const double share = size.sequence_parallel ? tp : 1;
    cost.flop = 2 * tokens * h * real(model.experts) / share;
    moved += (h + real(model.experts)) / share;
  } else {
    cost.column_flop = 2 * tokens * h * real(model.ffn_in()) / tp;
    cost.flop = cost.column_flop + 2 * tokens * h * real(model.ffn) / tp;
    moved += 2 * h + 2 * real(model.ffn_in() + model.ffn) / tp;
  }
  cost.memory_bytes = size.element_bytes * (tokens * moved + elements(mlp_tensors(model, size.tp)));
  return cost;
}

PartCost experts_cost(const TransformerModel& model, const PartSize& size, std::uint64_t ep) {
  const double h = real(model.hidden);
  const double tp = real(size.tp);
  const double tokens = processed_tokens(size) * real(model.experts_per_token);
  PartCost cost;
  cost.column_flop = 2 * tokens * h * real(model.ffn_in()) / tp;
  cost.flop = cost.column_flop + 2 * tokens * h * real(model.ffn) / tp;
  const double moved = 2 * h + 2 * real(model.ffn_in() + model.ffn) / tp;
  cost.memory_bytes =
      size.element_bytes * (tokens * moved + elements(expert_tensors(model, size.tp, ep)));
  return cost;
}

PartCost embedding_cost(const TransformerModel& model, const PartSize& size) {
  // A token's row is read and written; positions are added.
  const double moved = real(model.hidden) * (model.positions ? 4 : 2);
  return {.memory_bytes = size.element_bytes * processed_tokens(size) * moved};
}

PartCost head_cost(const TransformerModel& model, const PartSize& size) {
  const double h = real(model.hidden);
  const double part = real(model.padded_vocabulary(size.tp)) / real(size.tp);
  const double tokens = processed_tokens(size);
  PartCost cost;
  cost.flop = 2 * tokens * h * part;
  cost.column_flop = cost.flop;
  // Logits are written once and read twice, in 4 B, by the cross-entropy.
  cost.memory_bytes = size.element_bytes * (3 * tokens * h + part * h) + 12 * tokens * part;
  return cost;
}

PartCost adam_cost(double parameters, double gradient_bytes, double element_bytes) {
  return {.flop = 12 * parameters,
          .memory_bytes = parameters * (gradient_bytes + 6 * 4 + element_bytes)};
}

}  // namespace cclgym
