#include "agents/training/collect.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/parallel.hpp"
#include "env/tuning/size_class.hpp"

namespace cclgym {

namespace {

template <class Number>
std::span<Number> row_of(std::vector<Number>& rows, std::size_t row, std::size_t width) {
  return std::span<Number>(rows).subspan(row * width, width);
}

// Plays one slot's part of a rollout.
class Player {
 public:
  Player(const std::shared_ptr<const PolicyNetwork>& network, CollectSlot& slot,
         const CollectOptions& options, std::size_t index, Rollout& rollout)
      : slot_(slot),
        options_(options),
        rollout_(rollout),
        first_row_(index * rollout.shape.steps),
        environment_(*slot.environment),
        buffers_(environment_.spec()),
        runner_(network),
        masks_(environment_, buffers_.action_mask),
        random_(Random::stream(options.seed, {index})),
        action_(rollout.shape.levels.size()) {}

  void play() {
    begin();
    for (std::size_t t = 0; t < rollout_.shape.steps; ++t) step(first_row_ + t);
    // The critic's estimate after the last step is needed unless the episode ended with it.
    const std::size_t last = first_row_ + rollout_.shape.steps - 1;
    if (rollout_.done[last] == 0) rollout_.next_value[last] = look();
  }

 private:
  [[nodiscard]] const CollectiveTuningEnv& tuning() const {
    const auto* tuning = dynamic_cast<const CollectiveTuningEnv*>(&environment_);
    if (tuning == nullptr) throw std::logic_error("collect: experience is of CollectiveTuning-v0");
    return *tuning;
  }

  void begin() {
    environment_.reset(random_(), buffers_.view());
    runner_.start();
    start_ = true;
  }

  // Feeds the observation; returns the critic's estimate.
  float look() {
    runner_.observe(buffers_.observation);
    prior_ = value_prior(environment_, options_.prior);
    return runner_.value(prior_);
  }

  void step(std::size_t row) {
    const RolloutShape& shape = rollout_.shape;
    std::ranges::copy(buffers_.observation,
                      row_of(rollout_.observations, row, shape.observations).begin());
    std::ranges::copy(runner_.state(), row_of(rollout_.states, row, 2 * shape.lstm).begin());
    rollout_.starts[row] = start_ ? 1 : 0;
    if (!rollout_.entropy.empty()) {
      rollout_.entropy[row] = static_cast<float>(
          exploration_weight(options_.exploration, environment_, options_.entropy));
    }
    const float value = look();
    rollout_.prior[row] = prior_;
    rollout_.value[row] = value;
    if (!start_) rollout_.next_value[row - 1] = value;
    start_ = false;
    rollout_.log_probability[row] = static_cast<float>(decide(row));

    Experience::Trial trial;
    if (slot_.experience != nullptr) {
      trial = {.call_class = static_cast<std::uint32_t>(size_class(tuning().next_call().call)),
               .action = slot_.experience->code(action_),
               .explored = explored_};
    }
    levels_to_action(environment_.spec().action_space, action_);
    const StepOutcome outcome = environment_.step(action_, buffers_.view());
    rollout_.reward[row] = static_cast<float>(outcome.reward);
    if (slot_.experience != nullptr) {
      trial.reward = outcome.reward;
      slot_.notes.add(trial);
    }
    rollout_.done[row] = outcome.done() ? 1 : 0;
    rollout_.terminated[row] = outcome.terminated ? 1 : 0;
    if (!outcome.done()) return;
    // A truncated episode could have continued, so its estimate counts.
    rollout_.next_value[row] = outcome.terminated ? 0.0F : look();
    if (row + 1 < first_row_ + shape.steps) begin();
  }

  // Fills levels, masks and action of a row. Returns the levels' log probability.
  double decide(std::size_t row) {
    const RolloutShape& shape = rollout_.shape;
    const std::span<std::int32_t> levels = row_of(rollout_.levels, row, shape.levels.size());
    const std::span<std::uint8_t> masks = row_of(rollout_.masks, row, shape.mask_size());
    explored_ = false;
    if (options_.explored_share >= 0) return imitate(levels, masks);
    if (options_.epsilon >= 0) {
      if (random_.uniform() < options_.epsilon && explore(levels)) {
        explored_ = true;
      } else {
        (void)runner_.choose(masks_, nullptr, levels, {});
      }
      std::ranges::copy(levels, action_.begin());
      return runner_.log_probability(masks_, levels, masks);
    }
    if (options_.expert_share < 0) {
      const double log_probability = runner_.choose(masks_, &random_, levels, masks);
      std::ranges::copy(levels, action_.begin());
      return log_probability;
    }
    const auto* tuning = dynamic_cast<const CollectiveTuningEnv*>(&environment_);
    if (slot_.expert == nullptr || tuning == nullptr) {
      throw std::logic_error("collect: expert_share needs an expert");
    }
    slot_.expert->choose(*tuning, random_, levels);
    if (random_.uniform() < options_.expert_share) {
      std::ranges::copy(levels, action_.begin());
    } else {
      (void)runner_.choose(masks_, &random_, action_, {});
    }
    return runner_.log_probability(masks_, levels, masks);
  }

  // Draws an action to try. Returns false if there is a budget, and it is spent.
  bool explore(std::span<std::int32_t> levels) {
    if (slot_.experience == nullptr) {
      draw_levels(levels);
      return true;
    }
    double weight = 1;
    if (options_.entropy > 0) {
      weight = exploration_weight(options_.exploration, environment_, options_.entropy) /
               options_.entropy;
    }
    return slot_.experience->propose(tuning().next_call().call, masks_, slot_.notes, slot_.sharing,
                                     weight, random_, levels);
  }

  // Labels a row with the best action so far, or with the one that is tried, if it is the first.
  double imitate(std::span<std::int32_t> levels, std::span<std::uint8_t> masks) {
    if (slot_.experience == nullptr) throw std::logic_error("collect: there is no experience");
    explored_ = random_.uniform() < options_.explored_share && explore(action_);
    if (!explored_) (void)runner_.choose(masks_, &random_, action_, {});
    const auto best = slot_.experience->best(tuning().next_call().call);
    if (best) {
      std::ranges::copy(*best, levels.begin());
    } else {
      std::ranges::copy(action_, levels.begin());
    }
    return runner_.log_probability(masks_, levels, masks);
  }

  // Draws each dimension uniformly from its legal levels, given the earlier dimensions.
  void draw_levels(std::span<std::int32_t> levels) {
    for (std::size_t d = 0; d < levels.size(); ++d) {
      legal_.resize(rollout_.shape.levels[d]);
      masks_.mask(levels.first(d), legal_);
      const auto count = std::ranges::count(legal_, std::uint8_t{1});
      std::int64_t left = random_.integer(0, count - 1);
      std::int32_t level = 0;
      while (legal_[static_cast<std::size_t>(level)] == 0 || left-- > 0) ++level;
      levels[d] = level;
    }
  }

  CollectSlot& slot_;
  const CollectOptions& options_;
  Rollout& rollout_;
  std::size_t first_row_;
  Environment& environment_;
  OwnedBuffers buffers_;
  PolicyRunner runner_;
  EnvironmentMasks masks_;
  Random random_;
  std::vector<std::int32_t> action_;
  std::vector<std::uint8_t> legal_;
  bool start_ = true;
  bool explored_ = false;  ///< true if the action is a trial
  float prior_ = 0;
};

}  // namespace

void collect(const std::shared_ptr<const PolicyNetwork>& network, std::vector<CollectSlot>& slots,
             const CollectOptions& options, Rollout& rollout) {
  rollout.entropy.assign(options.exploration.empty() ? 0 : rollout.rows(), 0.0F);
  for_each_index(slots.size(), options.threads,
                 [&](std::size_t i) { Player(network, slots[i], options, i, rollout).play(); });
}

}  // namespace cclgym
