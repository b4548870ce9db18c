#include "agents/network/policy_network.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <stdexcept>

#include "env/gym/env_error.hpp"

namespace cclgym {

namespace {

float sigmoid(float x) { return 1.0F / (1.0F + std::exp(-x)); }

void tanh_all(std::span<float> values) {
  for (float& value : values) value = std::tanh(value);
}

}  // namespace

void PolicyNetwork::Linear::apply(std::span<const float> in, std::span<float> out) const {
  std::ranges::copy(bias, out.begin());
  add(in, out);
}

void PolicyNetwork::Linear::add(std::span<const float> in, std::span<float> out) const {
  float* const to = out.data();
  for (std::size_t column = 0; column < columns; ++column) {
    const float x = in[column];
    const float* const weights = columns_first.data() + column * rows;
    for (std::size_t row = 0; row < rows; ++row) to[row] += weights[row] * x;
  }
}

PolicyNetwork::Linear PolicyNetwork::read(const PolicyWeights& weights, const std::string& name) {
  const bool lstm = name.starts_with("lstm.");
  const PolicyTensor& matrix = weights.tensor(lstm ? name : name + ".weight");
  Linear linear;
  linear.rows = matrix.shape[0];
  linear.columns = matrix.shape[1];
  linear.columns_first.resize(matrix.values.size());
  for (std::size_t row = 0; row < linear.rows; ++row) {
    for (std::size_t column = 0; column < linear.columns; ++column) {
      linear.columns_first[column * linear.rows + row] =
          matrix.values[row * linear.columns + column];
    }
  }
  linear.bias = weights.tensor(lstm ? "lstm.bias" : name + ".bias").values;
  return linear;
}

PolicyNetwork::PolicyNetwork(const PolicyWeights& weights)
    : shape_(weights.shape),
      shift_(weights.input_shift),
      scale_(weights.input_scale),
      limit_(weights.input_limit) {
  if (const std::string fault = policy_weights_fault(weights); !fault.empty()) {
    throw std::invalid_argument("PolicyNetwork: " + fault);
  }
  for (std::size_t layer = 0; layer < shape_.encoder.size(); ++layer) {
    encoder_.push_back(read(weights, fmt::format("encoder.{}", layer)));
  }
  if (shape_.lstm > 0) {
    lstm_ih_ = read(weights, "lstm.weight_ih");
    lstm_hh_ = read(weights, "lstm.weight_hh");
  }
  for (std::size_t d = 0; d < shape_.levels.size(); ++d) {
    const std::string name = fmt::format("head.{}", d);
    Head& head = heads_.emplace_back();
    head.hidden = read(weights, name);
    head.out = read(weights, name + ".out");
    for (std::size_t j = 0; j < d; ++j) {
      head.choices.push_back(weights.tensor(fmt::format("{}.choice.{}", name, j)).values);
    }
  }
  value_ = read(weights, "value");
  value_out_ = read(weights, "value.out");
  value_prior_ = weights.tensor("value.prior").values[0];
}

PolicyRunner::PolicyRunner(std::shared_ptr<const PolicyNetwork> network)
    : network_(std::move(network)) {
  const PolicyShape& shape = network_->shape();
  state_.assign(2 * shape.lstm, 0.0F);
  input_.resize(shape.observations);
  for (const std::size_t units : shape.encoder) encoded_.emplace_back(units);
  gates_.resize(4 * shape.lstm);
  features_.resize(shape.features() + 1);
  hidden_.resize(shape.head);
  value_hidden_.resize(shape.value);
  const std::size_t most = *std::ranges::max_element(shape.levels);
  logits_.resize(most);
  mask_.resize(most);
  given_.resize(shape.levels.size());
}

void PolicyRunner::start() { std::ranges::fill(state_, 0.0F); }

void PolicyRunner::observe(std::span<const float> observation) {
  const PolicyNetwork& net = *network_;
  for (std::size_t i = 0; i < input_.size(); ++i) {
    input_[i] =
        std::clamp((observation[i] - net.shift_[i]) * net.scale_[i], -net.limit_, net.limit_);
  }
  std::span<const float> in = input_;
  for (std::size_t layer = 0; layer < encoded_.size(); ++layer) {
    net.encoder_[layer].apply(in, encoded_[layer]);
    tanh_all(encoded_[layer]);
    in = encoded_[layer];
  }
  std::ranges::copy(in, features_.begin());
  const std::size_t units = net.shape_.lstm;
  if (units == 0) return;
  const std::span<float> h = std::span(state_).first(units);
  const std::span<float> c = std::span(state_).last(units);
  net.lstm_ih_.apply(in, gates_);
  net.lstm_hh_.add(h, gates_);
  for (std::size_t unit = 0; unit < units; ++unit) {
    const float input = sigmoid(gates_[unit]);
    const float forget = sigmoid(gates_[units + unit]);
    const float cell = std::tanh(gates_[2 * units + unit]);
    const float output = sigmoid(gates_[3 * units + unit]);
    c[unit] = forget * c[unit] + input * cell;
    h[unit] = output * std::tanh(c[unit]);
  }
  std::ranges::copy(h, features_.begin() + static_cast<std::ptrdiff_t>(net.shape_.encoded()));
}

double PolicyRunner::run_heads(const ConditionalMasks& masks, Choice choice, Random* random,
                               std::span<std::int32_t> levels, std::span<std::uint8_t> masks_out,
                               std::span<HeadOutput> outputs) {
  const PolicyNetwork& net = *network_;
  const std::size_t hidden = hidden_.size();
  double log_probability = 0;
  std::size_t offset = 0;
  for (std::size_t d = 0; d < levels.size(); ++d) {
    const PolicyNetwork::Head& head = net.heads_[d];
    const std::size_t count = head.out.rows;
    const std::span<std::uint8_t> mask = std::span(mask_).first(count);
    masks.mask(levels.first(d), mask);
    if (!masks_out.empty()) {
      std::ranges::copy(mask, masks_out.begin() + static_cast<std::ptrdiff_t>(offset));
    }
    offset += count;
    const auto legal = static_cast<std::size_t>(std::ranges::count(mask, std::uint8_t{1}));
    if (legal == 0) throw InvalidMask("PolicyRunner: no level of a dimension is legal");
    if (legal == 1) {
      const auto only = std::ranges::find(mask, std::uint8_t{1}) - mask.begin();
      if (choice != Choice::Given) levels[d] = static_cast<std::int32_t>(only);
      continue;
    }
    head.hidden.apply(std::span(features_).first(net.shape_.features()), hidden_);
    for (std::size_t j = 0; j < d; ++j) {
      const float* const chosen =
          head.choices[j].data() + static_cast<std::size_t>(levels[j]) * hidden;
      for (std::size_t i = 0; i < hidden; ++i) hidden_[i] += chosen[i];
    }
    tanh_all(hidden_);
    const std::span<float> logits = std::span(logits_).first(count);
    head.out.apply(hidden_, logits);
    std::size_t best = count;
    for (std::size_t i = 0; i < count; ++i) {
      if (mask[i] != 0 && (best == count || logits[i] > logits[best])) best = i;
    }
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (mask[i] != 0) sum += std::exp(static_cast<double>(logits[i] - logits[best]));
    }
    std::size_t chosen = best;
    if (choice == Choice::Given) {
      chosen = static_cast<std::size_t>(levels[d]);
    } else if (choice == Choice::Draw) {
      double left = random->uniform() * sum;
      for (std::size_t i = 0; i < count; ++i) {
        if (mask[i] == 0) continue;
        chosen = i;
        left -= std::exp(static_cast<double>(logits[i] - logits[best]));
        if (left < 0) break;
      }
    }
    levels[d] = static_cast<std::int32_t>(chosen);
    if (!outputs.empty()) {
      outputs[d] = {true, logits[chosen], static_cast<std::int32_t>(best), logits[best]};
    }
    log_probability += static_cast<double>(logits[chosen] - logits[best]) - std::log(sum);
  }
  return log_probability;
}

double PolicyRunner::choose(const ConditionalMasks& masks, Random* random,
                            std::span<std::int32_t> levels, std::span<std::uint8_t> masks_out) {
  return run_heads(masks, random != nullptr ? Choice::Draw : Choice::Likeliest, random, levels,
                   masks_out);
}

double PolicyRunner::log_probability(const ConditionalMasks& masks,
                                     std::span<const std::int32_t> levels,
                                     std::span<std::uint8_t> masks_out) {
  std::ranges::copy(levels, given_.begin());
  return run_heads(masks, Choice::Given, nullptr, given_, masks_out);
}

void PolicyRunner::head_outputs(const ConditionalMasks& masks, std::span<const std::int32_t> levels,
                                std::span<HeadOutput> out) {
  std::ranges::copy(levels, given_.begin());
  std::ranges::fill(out, HeadOutput{});
  (void)run_heads(masks, Choice::Given, nullptr, given_, {}, out);
}

float PolicyRunner::value(float prior) {
  const PolicyNetwork& net = *network_;
  features_.back() = prior;
  net.value_.apply(features_, value_hidden_);
  tanh_all(value_hidden_);
  float out = 0;
  net.value_out_.apply(value_hidden_, std::span(&out, 1));
  return out + net.value_prior_ * prior;
}

}  // namespace cclgym
