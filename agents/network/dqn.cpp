#include "agents/network/dqn.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace cclgym {

static_assert(std::endian::native == std::endian::little, "bytes() are those of the numbers");

namespace {

template <class Number>
std::span<const Number> row_of(const std::vector<Number>& rows, std::size_t row,
                               std::size_t width) {
  return std::span(rows).subspan(row * width, width);
}

// Conditional masks along the path to a row's levels, which were stored concatenated.
class PathMasks : public ConditionalMasks {
 public:
  PathMasks(std::span<const std::uint8_t> masks, const std::vector<std::size_t>& levels)
      : masks_(masks), levels_(levels) {}
  void mask(std::span<const std::int32_t> prefix, std::span<std::uint8_t> out) const override {
    std::size_t offset = 0;
    for (std::size_t d = 0; d < prefix.size(); ++d) offset += levels_[d];
    std::ranges::copy(masks_.subspan(offset, out.size()), out.begin());
  }

 private:
  std::span<const std::uint8_t> masks_;
  const std::vector<std::size_t>& levels_;
};

}  // namespace

ReplayMemory::ReplayMemory(std::size_t capacity, const RolloutShape& shape)
    : shape_(shape), capacity_(capacity), reward_(capacity), terminated_(capacity) {
  if (shape.lstm > 0) throw std::invalid_argument("ReplayMemory: a policy with an LSTM");
  for (Side* side : {&before_, &after_}) {
    side->observations.resize(capacity * shape.observations);
    side->masks.resize(capacity * shape.mask_size());
    side->levels.resize(capacity * shape.levels.size());
  }
}

void ReplayMemory::Side::copy(const Rollout& rollout, std::size_t row, std::size_t place) {
  const auto put = [&](const auto& from, auto& to, std::size_t width) {
    std::ranges::copy(row_of(from, row, width),
                      to.begin() + static_cast<std::ptrdiff_t>(place * width));
  };
  put(rollout.observations, observations, rollout.shape.observations);
  put(rollout.masks, masks, rollout.shape.mask_size());
  put(rollout.levels, levels, rollout.shape.levels.size());
}

std::string ReplayMemory::bytes() const {
  std::string bytes;
  const auto add_numbers = [&](const auto& numbers, std::size_t width) {
    bytes.append(reinterpret_cast<const char*>(numbers.data()),
                 size_ * width * sizeof(numbers.front()));
  };
  const std::array<std::uint64_t, 2> head{size_, next_};
  bytes.append(reinterpret_cast<const char*>(head.data()), sizeof head);
  for (const Side* side : {&before_, &after_}) {
    add_numbers(side->observations, shape_.observations);
    add_numbers(side->masks, shape_.mask_size());
    add_numbers(side->levels, shape_.levels.size());
  }
  add_numbers(reward_, 1);
  add_numbers(terminated_, 1);
  return bytes;
}

bool ReplayMemory::restore(std::string_view bytes) {
  std::array<std::uint64_t, 2> head{};
  if (bytes.size() < sizeof head) return false;
  std::memcpy(head.data(), bytes.data(), sizeof head);
  bytes.remove_prefix(sizeof head);
  const std::uint64_t size = head[0];
  const std::uint64_t next = head[1];
  const std::size_t side = shape_.observations * sizeof(float) + shape_.mask_size() +
                           shape_.levels.size() * sizeof(std::int32_t);
  const std::size_t each = 2 * side + sizeof(float) + 1;
  if (size > capacity_ || next >= capacity_ || bytes.size() != size * each) return false;
  ReplayMemory read(capacity_, shape_);
  const auto take_numbers = [&](auto& numbers, std::size_t width) {
    const std::size_t length = size * width * sizeof(numbers.front());
    std::memcpy(numbers.data(), bytes.data(), length);
    bytes.remove_prefix(length);
  };
  for (Side* one : {&read.before_, &read.after_}) {
    take_numbers(one->observations, shape_.observations);
    take_numbers(one->masks, shape_.mask_size());
    take_numbers(one->levels, shape_.levels.size());
    for (std::size_t i = 0; i < size * shape_.levels.size(); ++i) {
      const std::size_t levels = shape_.levels[i % shape_.levels.size()];
      if (one->levels[i] < 0 || static_cast<std::size_t>(one->levels[i]) >= levels) return false;
    }
  }
  take_numbers(read.reward_, 1);
  take_numbers(read.terminated_, 1);
  read.size_ = size;
  read.next_ = next;
  *this = std::move(read);
  return true;
}

void ReplayMemory::add(const Rollout& rollout) {
  for (std::size_t row = 0; row < rollout.rows(); ++row) {
    const bool terminated = rollout.terminated[row] != 0;
    const bool last = (row + 1) % rollout.shape.steps == 0;
    if (!terminated && (last || rollout.done[row] != 0)) continue;
    before_.copy(rollout, row, next_);
    after_.copy(rollout, terminated ? row : row + 1, next_);
    reward_[next_] = rollout.reward[row];
    terminated_[next_] = terminated ? 1 : 0;
    next_ = (next_ + 1) % capacity_;
    size_ = std::min(size_ + 1, capacity_);
  }
}

SequenceBatch ReplayMemory::batch(std::span<const std::size_t> chosen,
                                  const std::shared_ptr<const PolicyNetwork>& online,
                                  const std::shared_ptr<const PolicyNetwork>& frozen,
                                  double gamma) const {
  const std::size_t dimensions = shape_.levels.size();
  SequenceBatch batch;
  batch.sequences = chosen.size();
  batch.steps = 1;
  batch.starts.assign(chosen.size(), 1.0F);
  batch.prior.assign(chosen.size(), 0.0F);
  batch.head_target.assign(chosen.size() * dimensions, 0.0F);
  PolicyRunner now(online);
  PolicyRunner then(frozen);
  std::vector<PolicyRunner::HeadOutput> heads(dimensions);
  std::vector<std::int32_t> greedy(dimensions);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const std::size_t at = chosen[i];
    const auto observation = row_of(before_.observations, at, shape_.observations);
    const auto masks = row_of(before_.masks, at, shape_.mask_size());
    const auto levels = row_of(before_.levels, at, dimensions);
    batch.observations.insert(batch.observations.end(), observation.begin(), observation.end());
    batch.masks.insert(batch.masks.end(), masks.begin(), masks.end());
    batch.levels.insert(batch.levels.end(), levels.begin(), levels.end());

    double target = static_cast<double>(reward_[at]);
    if (terminated_[at] == 0) {
      const auto later = row_of(after_.observations, at, shape_.observations);
      const PathMasks path(row_of(after_.masks, at, shape_.mask_size()), shape_.levels);
      std::ranges::copy(row_of(after_.levels, at, dimensions), greedy.begin());
      now.observe(later);
      now.head_outputs(path, greedy, heads);
      // Levels before the first head with a choice are forced, so its mask is the stored one.
      const auto first =
          std::ranges::find_if(heads, &PolicyRunner::HeadOutput::decided) - heads.begin();
      if (const auto d = static_cast<std::size_t>(first); d < dimensions) {
        greedy[d] = heads[d].best;
        then.observe(later);
        then.head_outputs(path, greedy, heads);
        target += gamma * static_cast<double>(heads[d].given);
      }
    }
    then.observe(observation);
    then.head_outputs(PathMasks(masks, shape_.levels), levels, heads);
    for (std::size_t d = dimensions; d-- > 0;) {
      batch.head_target[i * dimensions + d] = static_cast<float>(target);
      if (heads[d].decided) target = static_cast<double>(heads[d].most);
    }
  }
  return batch;
}

}  // namespace cclgym
