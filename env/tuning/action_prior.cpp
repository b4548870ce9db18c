#include "env/tuning/action_prior.hpp"

#include <algorithm>
#include <set>

#include "core/error.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kMostCalls = 4096;  // calls whose times are kept

}  // namespace

ActionPrior::ActionPrior(std::shared_ptr<const CallSite> site,
                         std::shared_ptr<const TuningActions> actions, const FabricFeatures& fabric)
    : site_(std::move(site)), actions_(std::move(actions)), fabric_(fabric), loads_(site_) {}

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
