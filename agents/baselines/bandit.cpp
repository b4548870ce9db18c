#include "agents/baselines/bandit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/random.hpp"

namespace cclgym {

std::size_t Ucb1::choose() const {
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  for (std::size_t i = 0; i < arms_.size(); ++i) {
    if (arms_[i].pulls == 0) return i;
    least = std::min(least, arms_[i].mean);
    most = std::max(most, arms_[i].mean);
  }
  const double range = most > least ? most - least : 1;
  const double wide = 2 * portable_log(static_cast<double>(total_));
  std::size_t chosen = 0;
  double highest = -1;
  for (std::size_t i = 0; i < arms_.size(); ++i) {
    const double bound =
        (most - arms_[i].mean) / range + std::sqrt(wide / static_cast<double>(arms_[i].pulls));
    if (bound > highest) {
      highest = bound;
      chosen = i;
    }
  }
  return chosen;
}

void Ucb1::learn(std::size_t arm, double cost) {
  Arm& one = arms_[arm];
  ++one.pulls;
  ++total_;
  one.mean += (cost - one.mean) / static_cast<double>(one.pulls);
}

std::size_t Ucb1::best() const {
  std::size_t found = 0;
  for (std::size_t i = 0; i < arms_.size(); ++i) {
    if (arms_[i].pulls == 0) continue;
    if (arms_[found].pulls == 0 || arms_[i].mean < arms_[found].mean) found = i;
  }
  return found;
}

void BanditPolicy::begin_setup(const TuningSetup& setup) {
  arms_.clear();
  cells_.clear();
  cell_ = nullptr;
  const TuningActions& all = *setup.actions;
  const std::size_t n = all.knobs().size();
  for (const CollectiveKind collective : all_collectives()) {
    const auto legal = all.legal_actions(collective);
    for (std::size_t i = 0; i * n < legal.size(); ++i) {
      const auto action = legal.subspan(i * n, n);
      bool plain = true;
      for (std::size_t d = 0; d < n; ++d) {
        const Knob knob = all.knobs()[d];
        const bool free = knob == Knob::Algorithm || knob == Knob::Inter ||
                          knob == Knob::Protocol || knob == Knob::Channels;
        plain = plain && (free || action[d] == 0);
      }
      if (plain) arms_[collective].push_back(i);
    }
  }
}

void BanditPolicy::choose(const CollectiveTuningEnv& environment, std::span<std::int32_t> action) {
  const Call& call = environment.next_call().call;
  const std::vector<std::size_t>& arms = arms_.at(call.collective);
  cell_ = &cells_.try_emplace(cell_of_call(call), arms.size()).first->second;
  arm_ = cell_->choose();
  const std::size_t n = action.size();
  const auto legal = actions().legal_actions(call.collective);
  std::ranges::copy(legal.subspan(arms[arm_] * n, n), action.begin());
}

void BanditPolicy::learn(double time_us) { cell_->learn(arm_, portable_log(time_us)); }

}  // namespace cclgym
