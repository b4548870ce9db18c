// The network of policy_weights.hpp, implemented with LibTorch.
#include <algorithm>
#include <exception>
#include <fmt/core.h>
#include <thread>
#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <torch/version.h>

#include "agents/network/policy_gradient.hpp"

// Declared as in OpenBLAS; Debian's cblas.h may belong to another library.
extern "C" void openblas_set_num_threads(int threads);

namespace cclgym {

namespace {

using torch::Tensor;

std::int64_t as_int64(std::size_t n) { return static_cast<std::int64_t>(n); }

// Uses one thread per gradient, since results of parallel reductions depend on the number of
// threads. OpenMP keeps this number per thread.
void use_one_thread() {
  at::set_num_threads(1);
  openblas_set_num_threads(1);
}

// Copies the sequences `first` .. `first + count - 1` of a batch to a tensor.
template <class Number>
Tensor slice(const std::vector<Number>& numbers, const SequenceBatch& batch, std::size_t first,
             std::size_t count, std::size_t width, torch::Dtype type) {
  Tensor out = torch::empty({as_int64(batch.steps * count), as_int64(width)}, type);
  Number* to = out.data_ptr<Number>();
  for (std::size_t t = 0; t < batch.steps; ++t) {
    const Number* const from = numbers.data() + (t * batch.sequences + first) * width;
    to = std::copy_n(from, count * width, to);
  }
  return out;
}

Tensor state_of(const std::vector<float>& state, std::size_t first, std::size_t count,
                std::size_t units) {
  Tensor out = torch::empty({as_int64(count), as_int64(units)});
  std::copy_n(state.data() + first * units, count * units, out.data_ptr<float>());
  return out;
}

class Network {
 public:
  explicit Network(const PolicyWeights& weights) : weights_(weights) {
    for (const PolicyTensor& tensor : weights.tensors) {
      std::vector<std::int64_t> shape;
      for (const std::size_t n : tensor.shape) shape.push_back(as_int64(n));
      Tensor parameter = torch::empty(shape);
      std::ranges::copy(tensor.values, parameter.data_ptr<float>());
      parameters_.push_back(parameter.requires_grad_(true));
    }
  }

  [[nodiscard]] const std::vector<Tensor>& parameters() const { return parameters_; }

  struct Outputs {
    Tensor log_probability;  ///< [rows]
    Tensor entropy;          ///< [rows]
    Tensor value;            ///< [rows]
    Tensor head_loss;        ///< [rows]; empty if the batch has no targets for heads
  };

  /// Outputs for the sequences `first` .. `first + count - 1`; rows are [steps x count].
  [[nodiscard]] Outputs run(const SequenceBatch& batch, std::size_t first,
                            std::size_t count) const {
    const PolicyShape& shape = weights_.shape;
    const Tensor shift = torch::tensor(weights_.input_shift);
    const Tensor scale = torch::tensor(weights_.input_scale);
    Tensor x = slice(batch.observations, batch, first, count, shape.observations, torch::kFloat32);
    x = ((x - shift) * scale).clamp(-weights_.input_limit, weights_.input_limit);
    for (std::size_t layer = 0; layer < shape.encoder.size(); ++layer) {
      x = torch::tanh(linear(fmt::format("encoder.{}", layer), x));
    }
    const Tensor features = shape.lstm > 0 ? with_memory(x, batch, first, count) : x;
    Outputs outputs;
    heads(features, batch, first, count, outputs);
    const Tensor prior = slice(batch.prior, batch, first, count, 1, torch::kFloat32);
    const Tensor hidden = torch::tanh(linear("value", torch::cat({features, prior}, 1)));
    outputs.value = (linear("value.out", hidden) + prior * parameter("value.prior")).squeeze(1);
    return outputs;
  }

 private:
  [[nodiscard]] const Tensor& parameter(const std::string& name) const {
    const auto found = std::ranges::find(weights_.tensors, name, &PolicyTensor::name);
    return parameters_[static_cast<std::size_t>(found - weights_.tensors.begin())];
  }

  [[nodiscard]] Tensor linear(const std::string& name, const Tensor& in) const {
    return torch::addmm(parameter(name + ".bias"), in, parameter(name + ".weight").t());
  }

  [[nodiscard]] Tensor with_memory(const Tensor& encoded, const SequenceBatch& batch,
                                   std::size_t first, std::size_t count) const {
    const std::int64_t rows = as_int64(count);
    Tensor h = state_of(batch.hidden, first, count, weights_.shape.lstm);
    Tensor c = state_of(batch.cell, first, count, weights_.shape.lstm);
    const Tensor keep = 1 - slice(batch.starts, batch, first, count, 1, torch::kFloat32);
    const Tensor from_input =
        torch::addmm(parameter("lstm.bias"), encoded, parameter("lstm.weight_ih").t());
    const Tensor recurrent = parameter("lstm.weight_hh").t();
    std::vector<Tensor> states;
    for (std::size_t t = 0; t < batch.steps; ++t) {
      const std::int64_t begin = as_int64(t) * rows;
      const Tensor kept = keep.narrow(0, begin, rows);
      h = h * kept;
      c = c * kept;
      const Tensor gates = torch::addmm(from_input.narrow(0, begin, rows), h, recurrent);
      const std::vector<Tensor> parts = gates.chunk(4, 1);
      c = torch::sigmoid(parts[1]) * c + torch::sigmoid(parts[0]) * torch::tanh(parts[2]);
      h = torch::sigmoid(parts[3]) * torch::tanh(c);
      states.push_back(h);
    }
    return torch::cat({encoded, torch::cat(states, 0)}, 1);
  }

  void heads(const Tensor& features, const SequenceBatch& batch, std::size_t first,
             std::size_t count, Outputs& outputs) const {
    const std::vector<std::size_t>& levels = weights_.shape.levels;
    std::size_t mask_size = 0;
    for (const std::size_t n : levels) mask_size += n;
    const Tensor masks = slice(batch.masks, batch, first, count, mask_size, torch::kUInt8);
    const Tensor chosen =
        slice(batch.levels, batch, first, count, levels.size(), torch::kInt32).to(torch::kInt64);
    outputs.log_probability = torch::zeros({features.size(0)});
    outputs.entropy = torch::zeros({features.size(0)});
    outputs.head_loss = torch::zeros({features.size(0)});
    const Tensor targets = batch.head_target.empty() ? Tensor()
                                                     : slice(batch.head_target, batch, first, count,
                                                             levels.size(), torch::kFloat32);
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < levels.size(); ++d) {
      const Tensor mask = masks.narrow(1, offset, as_int64(levels[d]));
      offset += as_int64(levels[d]);
      // If only one level is legal, its probability is 1 for any logits.
      if (mask.sum(1).max().item<std::int64_t>() <= 1) continue;
      const std::string name = fmt::format("head.{}", d);
      Tensor hidden = linear(name, features);
      for (std::size_t j = 0; j < d; ++j) {
        const Tensor& table = parameter(fmt::format("{}.choice.{}", name, j));
        hidden = hidden + table.index_select(0, chosen.select(1, as_int64(j)));
      }
      constexpr double kNever = -1e9;
      const Tensor logits =
          linear(name + ".out", torch::tanh(hidden)).masked_fill(mask == 0, kNever);
      if (targets.defined()) {
        const Tensor given =
            logits.gather(1, chosen.select(1, as_int64(d)).unsqueeze(1)).squeeze(1);
        const Tensor decided = (mask.to(torch::kFloat32).sum(1) > 1).to(torch::kFloat32);
        const Tensor apart = (given - targets.select(1, as_int64(d))).abs();
        const Tensor square = apart.clamp_max(1);
        outputs.head_loss =
            outputs.head_loss + decided * (0.5 * square * square + (apart - square));
      }
      const Tensor logs = torch::log_softmax(logits, 1);
      outputs.log_probability =
          outputs.log_probability +
          logs.gather(1, chosen.select(1, as_int64(d)).unsqueeze(1)).squeeze(1);
      outputs.entropy = outputs.entropy - (logs.exp() * logs).sum(1);
    }
  }

  const PolicyWeights& weights_;
  std::vector<Tensor> parameters_;
};

// Sums over a shard's rows, divided by the rows of the complete batch.
PolicyGradient shard_gradient(const PolicyWeights& weights, const SequenceBatch& batch,
                              const LossOptions& options, std::size_t first, std::size_t count) {
  const Network network(weights);
  const Network::Outputs outputs = network.run(batch, first, count);
  const double rows = static_cast<double>(batch.sequences * batch.steps);
  const auto column = [&](const std::vector<float>& numbers) {
    return slice(numbers, batch, first, count, 1, torch::kFloat32).squeeze(1);
  };
  PolicyGradient result;
  Tensor policy;
  if (options.q_values) {
    policy = outputs.head_loss.sum() / rows;
  } else if (options.clone) {
    policy = -outputs.log_probability.sum() / rows;
  } else {
    const Tensor log_ratio = outputs.log_probability - column(batch.log_probability);
    const Tensor ratio = log_ratio.exp();
    const Tensor advantage = column(batch.advantage);
    const Tensor bounded = ratio.clamp(1 - options.clip, 1 + options.clip);
    policy = -torch::min(ratio * advantage, bounded * advantage).sum() / rows;
    const Tensor apart = (ratio.detach() - 1 - log_ratio.detach()).sum() / rows;
    const Tensor clipped = ((ratio.detach() - 1).abs() > options.clip).to(torch::kFloat32);
    result.statistics.divergence = apart.item<double>();
    result.statistics.clipped = (clipped.sum() / rows).item<double>();
  }
  const Tensor entropy = outputs.entropy.sum() / rows;
  const Tensor value = options.q_values
                           ? torch::zeros({})
                           : (outputs.value - column(batch.target)).square().sum() / rows;
  const Tensor explored =
      batch.entropy.empty() ? entropy : (outputs.entropy * column(batch.entropy)).sum() / rows;
  const Tensor loss = policy - options.entropy * explored + options.value_weight * value;
  const std::vector<Tensor> gradients =
      torch::autograd::grad({loss}, network.parameters(), {}, {}, false, /*allow_unused=*/true);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    std::vector<float>& out = result.gradients.emplace_back(weights.tensors[i].values.size(), 0.0F);
    if (!gradients[i].defined()) continue;
    const Tensor dense = gradients[i].contiguous();
    std::copy_n(dense.data_ptr<float>(), out.size(), out.begin());
  }
  result.statistics.policy = policy.item<double>();
  result.statistics.value = value.item<double>();
  result.statistics.entropy = entropy.item<double>();
  return result;
}

void add(const PolicyGradient& from, PolicyGradient& to) {
  for (std::size_t i = 0; i < to.gradients.size(); ++i) {
    for (std::size_t j = 0; j < to.gradients[i].size(); ++j) {
      to.gradients[i][j] += from.gradients[i][j];
    }
  }
  to.statistics.policy += from.statistics.policy;
  to.statistics.value += from.statistics.value;
  to.statistics.entropy += from.statistics.entropy;
  to.statistics.divergence += from.statistics.divergence;
  to.statistics.clipped += from.statistics.clipped;
}

}  // namespace

bool training_available() { return true; }

std::string training_library() { return fmt::format("LibTorch {}", TORCH_VERSION); }

PolicyGradient policy_gradient(const PolicyWeights& weights, const SequenceBatch& batch,
                               const LossOptions& options, std::size_t threads) {
  const std::size_t shards = std::min(kGradientShards, batch.sequences);
  std::vector<PolicyGradient> parts(shards);
  std::vector<std::exception_ptr> errors(shards);
  const auto work = [&](std::size_t shard) {
    use_one_thread();
    const std::size_t begin = batch.sequences * shard / shards;
    const std::size_t end = batch.sequences * (shard + 1) / shards;
    try {
      parts[shard] = shard_gradient(weights, batch, options, begin, end - begin);
    } catch (...) {
      errors[shard] = std::current_exception();
    }
  };
  if (threads < 2 || shards < 2) {
    for (std::size_t shard = 0; shard < shards; ++shard) work(shard);
  } else {
    std::vector<std::jthread> workers;
    for (std::size_t shard = 1; shard < shards; ++shard) workers.emplace_back(work, shard);
    work(0);
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  for (std::size_t shard = 1; shard < shards; ++shard) add(parts[shard], parts[0]);
  return std::move(parts[0]);
}

PolicyOutputs policy_outputs(const PolicyWeights& weights, const SequenceBatch& batch) {
  use_one_thread();
  const torch::NoGradGuard no_gradients;
  const Network::Outputs outputs = Network(weights).run(batch, 0, batch.sequences);
  const auto numbers = [](const Tensor& tensor) {
    const Tensor dense = tensor.contiguous();
    return std::vector<float>(dense.data_ptr<float>(), dense.data_ptr<float>() + dense.numel());
  };
  return {numbers(outputs.log_probability), numbers(outputs.value)};
}

}  // namespace cclgym
