#include "env/tuning/estimates/action_prior.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "core/error.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kMostCalls = 4096;  // calls whose times are kept

}  // namespace

ActionPrior::ActionPrior(std::shared_ptr<const CallSite> site,
                         std::shared_ptr<const TuningActions> actions, const FabricFeatures& fabric)
    : site_(std::move(site)),
      actions_(std::move(actions)),
      fabric_(fabric),
      loads_(site_),
      estimates_(site_) {}

std::optional<ActionPrior::Line> ActionPrior::line(CollectiveKind collective,
                                                   const PlainConfig& config) {
  const ProtocolFeatures& protocol = fabric_.protocols[static_cast<std::size_t>(config.protocol)];
  const double far_s = std::max(protocol.alpha_s, protocol.network_alpha_s);
  if (const FrontSchedule* schedule = actions_->synthesised(config)) {
    return Line{schedule->steps * far_s, schedule->s_per_B * protocol.wire_share};
  }
  const PlanLoad& load = loads_.load(collective, config);
  if (!load.known()) return std::nullopt;
  return Line{load.near_steps * protocol.alpha_s + load.far_steps * far_s,
              load.s_per_B * protocol.wire_share};
}

// Lines of the actions that choose configurations themselves. Of a level's lines, those are kept
// that are the least for some size.
const ActionPrior::Lines& ActionPrior::lines_of(CollectiveKind collective) {
  const auto [entry, is_new] = lines_.try_emplace(collective);
  if (!is_new || fabric_.ranks > kMostRanks) return entry->second;
  const std::size_t knobs = actions_->knobs().size();
  const std::span<const std::int32_t> all = actions_->legal_actions(collective);
  std::set<std::tuple<std::int32_t, int, int, int, int, int>> seen;
  for (std::size_t i = 0; i < actions_->legal_count(collective); ++i) {
    const auto action = all.subspan(i * knobs, knobs);
    if (actions_->tuner_of(action)) continue;
    const PlainConfig config = actions_->config(collective, action);
    if (!seen.insert({action[0], config.program, config.binding, config.channels * config.instances,
                      static_cast<int>(config.protocol), 0})
             .second) {
      continue;
    }
    if (const auto found = line(collective, config)) entry->second[action[0]].push_back(*found);
  }
  for (auto& [level, lines] : entry->second) {
    std::ranges::sort(lines, {},
                      [](const Line& one) { return std::pair(one.alpha_s, one.s_per_B); });
    std::vector<Line> kept;
    for (const Line& one : lines) {
      if (kept.empty() || one.s_per_B < kept.back().s_per_B) kept.push_back(one);
    }
    lines = std::move(kept);
  }
  return entry->second;
}

// Estimates of all actions that choose configurations themselves. Of several with equal estimates,
// the first is kept.
const std::vector<ActionPrior::Advised>& ActionPrior::advised_of(CollectiveKind collective) {
  const auto [entry, is_new] = advised_.try_emplace(collective);
  if (!is_new || fabric_.ranks > kMostRanks) return entry->second;
  const std::size_t knobs = actions_->knobs().size();
  const std::span<const std::int32_t> all = actions_->legal_actions(collective);
  for (std::size_t i = 0; i < actions_->legal_count(collective); ++i) {
    const auto action = all.subspan(i * knobs, knobs);
    if (actions_->tuner_of(action)) continue;
    const PlainConfig config = actions_->config(collective, action);
    if (actions_->synthesised(config) != nullptr) continue;
    if (const auto one = estimates_.estimate(collective, config, loads_)) {
      entry->second.push_back({*one, config.protocol, i, action});
    }
  }
  return entry->second;
}

std::span<const std::int32_t> ActionPrior::advice(const Call& call) {
  const std::lock_guard lock(mutex_);
  const Advised* best = best_advised(call);
  return best == nullptr ? std::span<const std::int32_t>{} : best->action;
}

std::optional<std::size_t> ActionPrior::advised_number(const Call& call) {
  const std::lock_guard lock(mutex_);
  const Advised* best = best_advised(call);
  return best == nullptr ? std::nullopt : std::optional(best->number);
}

// The action with the least estimate; null if nothing is known.
const ActionPrior::Advised* ActionPrior::best_advised(const Call& call) {
  const std::vector<Advised>& all = advised_of(call.collective);
  const std::tuple key{call.collective, call.bytes};
  if (const auto found = advice_.find(key); found != advice_.end()) {
    return &all[found->second];
  }
  const bool by_size = actions_->by_size(call.collective);
  const auto bytes = static_cast<double>(call.bytes);
  double least_s = std::numeric_limits<double>::infinity();
  std::size_t best = all.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double time_s = all[i].estimate.time_s(bytes, site_->cost_model, all[i].protocol);
    if (time_s >= least_s || (by_size && !actions_->legal(call, all[i].action))) continue;
    least_s = time_s;
    best = i;
  }
  if (best == all.size()) return nullptr;
  if (advice_.size() < kMostCalls) advice_.emplace(key, best);
  return &all[best];
}

double ActionPrior::estimate_s(const Call& call, const PlainConfig& config) {
  const std::lock_guard lock(mutex_);
  return known_estimate_s(call, config);
}

double ActionPrior::known_estimate_s(const Call& call, const PlainConfig& config) {
  if (fabric_.ranks > kMostRanks || actions_->synthesised(config) != nullptr) return 0;
  const auto one = estimates_.estimate(call.collective, config, loads_);
  if (!one) return 0;
  return one->time_s(static_cast<double>(call.bytes), site_->cost_model, config.protocol);
}

void ActionPrior::estimates(const Call& call, std::span<double> out_s) {
  const std::lock_guard lock(mutex_);
  std::ranges::fill(out_s, 0);
  const std::size_t tuners = actions_->options().tuners.size();
  const auto bytes = static_cast<double>(call.bytes);
  const bool by_size = actions_->by_size(call.collective);
  for (const Advised& one : advised_of(call.collective)) {
    if (by_size && !actions_->legal(call, one.action)) continue;
    const std::size_t level = static_cast<std::size_t>(one.action[0]) - tuners;
    double& least_s = out_s[3 * level + static_cast<std::size_t>(one.protocol)];
    const double time_s = one.estimate.time_s(bytes, site_->cost_model, one.protocol);
    least_s = least_s > 0 ? std::min(least_s, time_s) : time_s;
  }
  if (actions_->chooses(0, call.collective)) {
    out_s.back() = known_estimate_s(call, actions_->choose(0, call));
  }
}

double ActionPrior::time_s(const Call& call, const PlainConfig& config) {
  const std::lock_guard lock(mutex_);
  if (fabric_.ranks > kMostRanks) return 0;
  const auto found = line(call.collective, config);
  return found ? found->time_s(static_cast<double>(call.bytes)) : 0;
}

double ActionPrior::tuned_s(const Call& call, std::size_t tuner) {
  const std::tuple key{call.collective, call.root, call.bytes, tuner};
  if (const auto found = tuned_.find(key); found != tuned_.end()) return found->second;
  double time_s = 0;
  if (actions_->chooses(tuner, call.collective)) {
    const auto found = line(call.collective, actions_->choose(tuner, call));
    if (found) time_s = found->time_s(static_cast<double>(call.bytes));
  }
  if (tuned_.size() < kMostCalls) tuned_.emplace(key, time_s);
  return time_s;
}

// Least time of the lines of a level, or of the tuner that it is.
std::optional<double> ActionPrior::least_s(const Call& call, std::int32_t level,
                                           const std::vector<Line>& lines) {
  if (static_cast<std::size_t>(level) < actions_->options().tuners.size()) {
    const double time_s = tuned_s(call, static_cast<std::size_t>(level));
    return time_s > 0 ? std::optional(time_s) : std::nullopt;
  }
  if (lines.empty()) return std::nullopt;
  double least = lines.front().time_s(static_cast<double>(call.bytes));
  for (const Line& one : lines)
    least = std::min(least, one.time_s(static_cast<double>(call.bytes)));
  return least;
}

double ActionPrior::level_s(const Call& call, std::int32_t level) {
  const std::lock_guard lock(mutex_);
  const Lines& lines = lines_of(call.collective);
  const auto found = lines.find(level);
  static const std::vector<Line> none;
  return least_s(call, level, found == lines.end() ? none : found->second).value_or(0);
}

ActionPrior::Times ActionPrior::times(const Call& call) {
  const std::lock_guard lock(mutex_);
  const std::tuple key{call.collective, call.root, call.bytes};
  if (const auto found = times_.find(key); found != times_.end()) return found->second;
  Times times;
  for (const auto& [level, lines] : lines_of(call.collective)) {
    const auto least = least_s(call, level, lines);
    if (least && (times.best_s == 0 || *least < times.best_s)) times.best_s = *least;
  }
  if (times.best_s > 0) {
    const auto found = line(call.collective, actions_->reference(call));
    if (found) times.default_s = found->time_s(static_cast<double>(call.bytes));
    // A tuner is an action, too.
    if (times.default_s > 0) times.best_s = std::min(times.best_s, times.default_s);
  }
  if (times_.size() < kMostCalls) times_.emplace(key, times);
  return times;
}

}  // namespace cclgym
