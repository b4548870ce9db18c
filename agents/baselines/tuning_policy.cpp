#include "agents/baselines/tuning_policy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/error.hpp"
#include "core/random.hpp"
#include "sim/noise/noise_random.hpp"

namespace cclgym {

const CollectiveTuningEnv& tuning_environment(const Environment& environment,
                                              std::string_view policy) {
  const auto* tuning = dynamic_cast<const CollectiveTuningEnv*>(&environment);
  if (tuning == nullptr) {
    throw UserError("policy '" + std::string(policy) + "' is for CollectiveTuning-v0, not for " +
                    environment.spec().name);
  }
  return *tuning;
}

void TuningPolicy::begin_episode(const Environment& environment, std::uint64_t /*seed*/) {
  const CollectiveTuningEnv& tuning = tuning_environment(environment, name_);
  setup_ = &tuning.setup();
  time_ = info_index(environment.spec(), CollectiveTuningEnv::kTime);
  if (known_ == setup_->actions) return;
  known_ = setup_->actions;
  begin_setup(*setup_);
}

void TuningPolicy::act(std::span<const float> /*observation*/,
                       std::span<const std::uint8_t> /*action_mask*/,
                       const Environment& environment, std::span<std::int32_t> action) {
  const CollectiveTuningEnv& tuning = tuning_environment(environment, name_);
  choose(tuning, action);
  if (!setup_->actions->large(tuning.next_call().call)) return;
  // A choice for a small call may reduce on hosts, which is not legal for large ones.
  const std::vector<Knob>& knobs = setup_->actions->knobs();
  const auto reduce = std::ranges::find(knobs, Knob::Reduce) - knobs.begin();
  if (reduce < std::ssize(knobs)) action[static_cast<std::size_t>(reduce)] = 0;
}

void TuningPolicy::observe(const PolicyFeedback& feedback) { learn(feedback.info[time_]); }

std::vector<std::int32_t> nearest_action(const TuningActions& actions, CollectiveKind collective,
                                         const PlainConfig& config) {
  const auto all = actions.legal_actions(collective);
  const std::size_t n = actions.knobs().size();
  std::array<double, 5> best{};
  best.fill(std::numeric_limits<double>::infinity());
  std::span<const std::int32_t> found;
  const auto apart = [](double a, double b) { return std::abs(std::log2((a + 1) / (b + 1))); };
  for (std::size_t i = 0; i < all.size(); i += n) {
    const auto action = all.subspan(i, n);
    if (actions.tuner_of(action)) continue;
    const PlainConfig other = actions.config(collective, action);
    const std::array<double, 5> distance{
        other.program == config.program ? 0.0 : 1.0, other.protocol == config.protocol ? 0.0 : 1.0,
        apart(other.channels * other.instances, config.channels * config.instances),
        apart(other.instances, config.instances) + apart(other.threads, config.threads) +
            apart(static_cast<double>(other.tile_bytes), static_cast<double>(config.tile_bytes)),
        other.binding == config.binding ? 0.0 : 1.0};
    if (distance < best) {
      best = distance;
      found = action;
    }
  }
  if (found.empty()) {
    // All actions are tuners.
    if (all.empty()) throw std::logic_error("nearest_action: no legal action");
    found = all.first(n);
  }
  return {found.begin(), found.end()};
}

TuningCell cell_of_call(const Call& call) {
  return {call.collective, static_cast<int>(std::bit_width(call.bytes)) - 1};
}

std::vector<std::uint64_t> training_sizes(CollectiveKind collective, int ranks, std::size_t count) {
  const double low = portable_log(1024.0);
  const double high = portable_log(1024.0 * 1024.0 * 1024.0);
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 0; i < count; ++i) {
    const double share = count > 1 ? static_cast<double>(i) / static_cast<double>(count - 1) : 0.5;
    const double bytes = portable_exp(low + share * (high - low));
    const std::uint64_t fitting =
        fitting_bytes(collective, static_cast<std::uint64_t>(bytes + 0.5), ranks);
    if (sizes.empty() || fitting > sizes.back()) sizes.push_back(fitting);
  }
  return sizes;
}

}  // namespace cclgym
