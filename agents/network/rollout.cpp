#include "agents/network/rollout.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace cclgym {

namespace {

template <class Number>
void copy_row(const std::vector<Number>& from, std::size_t from_row, std::vector<Number>& to,
              std::size_t to_row, std::size_t width) {
  std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(from_row * width), width,
              to.begin() + static_cast<std::ptrdiff_t>(to_row * width));
}

}  // namespace

std::size_t RolloutShape::mask_size() const {
  return std::accumulate(levels.begin(), levels.end(), std::size_t{0});
}

double RolloutShape::bytes() const {
  // As the constructor of Rollout assigns them: three flags and seven numbers per row, and the
  // rest.
  const std::size_t row = 3 + sizeof(float) * (7 + observations + 2 * lstm) + mask_size() +
                          sizeof(std::int32_t) * levels.size();
  return static_cast<double>(environments) * static_cast<double>(steps) * static_cast<double>(row);
}

Rollout::Rollout(RolloutShape wanted) : shape(std::move(wanted)) {
  const std::size_t count = rows();
  observations.assign(count * shape.observations, 0.0F);
  masks.assign(count * shape.mask_size(), 0);
  levels.assign(count * shape.levels.size(), 0);
  states.assign(count * 2 * shape.lstm, 0.0F);
  starts.assign(count, 0);
  done.assign(count, 0);
  terminated.assign(count, 0);
  for (std::vector<float>* numbers :
       {&log_probability, &prior, &value, &next_value, &reward, &advantage, &target}) {
    numbers->assign(count, 0.0F);
  }
}

void estimate_advantages(Rollout& rollout, double gamma, double lambda) {
  const std::size_t steps = rollout.shape.steps;
  for (std::size_t e = 0; e < rollout.shape.environments; ++e) {
    double later = 0;
    for (std::size_t t = steps; t-- > 0;) {
      const std::size_t row = e * steps + t;
      const double value = rollout.value[row];
      const double delta = static_cast<double>(rollout.reward[row]) +
                           gamma * static_cast<double>(rollout.next_value[row]) - value;
      later = delta + (rollout.done[row] != 0 ? 0.0 : gamma * lambda * later);
      rollout.advantage[row] = static_cast<float>(later);
      rollout.target[row] = static_cast<float>(later + value);
    }
  }
}

SequenceBatch gather_sequences(const Rollout& rollout, std::size_t length,
                               std::span<const std::size_t> chosen) {
  const RolloutShape& shape = rollout.shape;
  if (length == 0 || shape.steps % length != 0) {
    throw std::logic_error("gather_sequences: steps must be a multiple of the length");
  }
  SequenceBatch batch;
  batch.sequences = chosen.size();
  batch.steps = length;
  const std::size_t count = length * chosen.size();
  batch.observations.resize(count * shape.observations);
  batch.masks.resize(count * shape.mask_size());
  batch.levels.resize(count * shape.levels.size());
  batch.hidden.resize(chosen.size() * shape.lstm);
  batch.cell.resize(chosen.size() * shape.lstm);
  for (std::vector<float>* numbers :
       {&batch.starts, &batch.log_probability, &batch.prior, &batch.advantage, &batch.target}) {
    numbers->resize(count);
  }
  batch.entropy.resize(rollout.entropy.empty() ? 0 : count);
  for (std::size_t s = 0; s < chosen.size(); ++s) {
    // Environments are contiguous, and so are sequences.
    const std::size_t first = chosen[s] * length;
    const auto state = rollout.states.begin() + static_cast<std::ptrdiff_t>(first * 2 * shape.lstm);
    const auto at = static_cast<std::ptrdiff_t>(s * shape.lstm);
    const auto units = static_cast<std::ptrdiff_t>(shape.lstm);
    std::copy_n(state, units, batch.hidden.begin() + at);
    std::copy_n(state + units, units, batch.cell.begin() + at);
    for (std::size_t t = 0; t < length; ++t) {
      const std::size_t from = first + t;
      const std::size_t to = t * chosen.size() + s;
      copy_row(rollout.observations, from, batch.observations, to, shape.observations);
      copy_row(rollout.masks, from, batch.masks, to, shape.mask_size());
      copy_row(rollout.levels, from, batch.levels, to, shape.levels.size());
      batch.starts[to] = rollout.starts[from];
      batch.log_probability[to] = rollout.log_probability[from];
      batch.prior[to] = rollout.prior[from];
      batch.advantage[to] = rollout.advantage[from];
      batch.target[to] = rollout.target[from];
      if (!batch.entropy.empty()) batch.entropy[to] = rollout.entropy[from];
    }
  }
  return batch;
}

void normalise(std::span<float> advantages) {
  if (advantages.empty()) return;
  double sum = 0;
  for (const float x : advantages) sum += static_cast<double>(x);
  const double mean = sum / static_cast<double>(advantages.size());
  double squares = 0;
  for (const float x : advantages) {
    const double apart = static_cast<double>(x) - mean;
    squares += apart * apart;
  }
  const double deviation = std::sqrt(squares / static_cast<double>(advantages.size()));
  if (deviation < 1e-8) return;
  for (float& x : advantages) x = static_cast<float>((static_cast<double>(x) - mean) / deviation);
}

}  // namespace cclgym
