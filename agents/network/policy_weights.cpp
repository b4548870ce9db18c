#include "agents/network/policy_weights.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <stdexcept>

namespace cclgym {

namespace {

std::size_t count_of(const std::vector<std::size_t>& shape) {
  std::size_t count = 1;
  for (const std::size_t n : shape) count *= n;
  return count;
}

bool finite(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

}  // namespace

std::vector<PolicyTensor> policy_tensors(const PolicyShape& shape) {
  std::vector<PolicyTensor> tensors;
  const auto add = [&](const std::string& name, std::vector<std::size_t> dimensions) {
    tensors.push_back({name, std::move(dimensions), {}});
  };
  const auto linear = [&](const std::string& name, std::size_t rows, std::size_t columns) {
    add(name + ".weight", {rows, columns});
    add(name + ".bias", {rows});
  };
  std::size_t columns = shape.observations;
  for (std::size_t layer = 0; layer < shape.encoder.size(); ++layer) {
    linear(fmt::format("encoder.{}", layer), shape.encoder[layer], columns);
    columns = shape.encoder[layer];
  }
  if (shape.lstm > 0) {
    add("lstm.weight_ih", {4 * shape.lstm, columns});
    add("lstm.weight_hh", {4 * shape.lstm, shape.lstm});
    add("lstm.bias", {4 * shape.lstm});
  }
  for (std::size_t d = 0; d < shape.levels.size(); ++d) {
    const std::string head = fmt::format("head.{}", d);
    linear(head, shape.head, shape.features());
    for (std::size_t j = 0; j < d; ++j) {
      add(fmt::format("{}.choice.{}", head, j), {shape.levels[j], shape.head});
    }
    linear(head + ".out", shape.levels[d], shape.head);
  }
  linear("value", shape.value, shape.features() + 1);
  linear("value.out", 1, shape.value);
  add("value.prior", {1});
  return tensors;
}

const PolicyTensor& PolicyWeights::tensor(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &PolicyTensor::name);
  if (found == tensors.end()) {
    throw std::logic_error("PolicyWeights::tensor: no tensor " + std::string(name));
  }
  return *found;
}

std::string policy_weights_fault(const PolicyWeights& weights) {
  const PolicyShape& shape = weights.shape;
  if (shape.observations == 0) return "it has no observations";
  if (shape.encoder.empty() || std::ranges::count(shape.encoder, 0U) > 0) {
    return "a layer of its encoder has no units";
  }
  if (shape.head == 0 || shape.value == 0) return "a head has no units";
  if (shape.levels.empty() || std::ranges::count(shape.levels, 0U) > 0) {
    return "a dimension of its action has no levels";
  }
  if (weights.input_shift.size() != shape.observations ||
      weights.input_scale.size() != shape.observations) {
    return fmt::format("its normalisation has {} and {} numbers, expected {}",
                       weights.input_shift.size(), weights.input_scale.size(), shape.observations);
  }
  if (!finite(weights.input_shift) || !finite(weights.input_scale) ||
      !std::isfinite(weights.input_limit)) {
    return "its normalisation has a number that is not finite";
  }
  const std::vector<PolicyTensor> expected = policy_tensors(shape);
  if (weights.tensors.size() != expected.size()) {
    return fmt::format("it has {} tensors, expected {}", weights.tensors.size(), expected.size());
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const PolicyTensor& tensor = weights.tensors[i];
    if (tensor.name != expected[i].name) {
      return fmt::format("tensor {} is '{}', expected '{}'", i, tensor.name, expected[i].name);
    }
    if (tensor.shape != expected[i].shape || tensor.values.size() != count_of(expected[i].shape)) {
      return fmt::format("tensor '{}' has {} numbers, expected {}", tensor.name,
                         tensor.values.size(), count_of(expected[i].shape));
    }
    if (!finite(tensor.values)) {
      return fmt::format("tensor '{}' has a number that is not finite", tensor.name);
    }
  }
  return {};
}

PolicyWeights initial_policy_weights(const PolicyShape& shape, Random& random) {
  PolicyWeights weights;
  weights.shape = shape;
  weights.input_shift.assign(shape.observations, 0.0F);
  weights.input_scale.assign(shape.observations, 1.0F);
  weights.tensors = policy_tensors(shape);
  for (PolicyTensor& tensor : weights.tensors) {
    tensor.values.assign(count_of(tensor.shape), 0.0F);
    if (tensor.name == "value.prior") tensor.values[0] = 1;
    if (tensor.name == "lstm.bias") {
      std::fill_n(tensor.values.begin() + static_cast<std::ptrdiff_t>(shape.lstm), shape.lstm,
                  1.0F);
    }
    if (tensor.shape.size() < 2) continue;
    // Keeps the variance of tanh units roughly constant across layers (Glorot and Bengio 2010).
    const bool last = tensor.name.ends_with(".out.weight");
    const double bound =
        (last ? 0.01 : 1.0) * std::sqrt(3.0 / static_cast<double>(tensor.shape[1]));
    const bool choice = tensor.name.find(".choice.") != std::string::npos;
    for (float& value : tensor.values) {
      const double drawn = random.uniform(-1, 1);
      value = static_cast<float>((choice ? 0.5 : bound) * drawn);
    }
  }
  return weights;
}

}  // namespace cclgym
