// Use of actions: masks, and the conversion between actions and configurations.
#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>

#include "collectives/library/algorithm_library.hpp"
#include "collectives/library/logical_rings.hpp"
#include "core/error.hpp"
#include "core/index.hpp"
#include "env/tuning/actions/tuning_action.hpp"
#include "sim/call/tiles.hpp"
#include "sim/prices/transfer_cost.hpp"

namespace cclgym {

namespace {

bool has(std::uint32_t values, std::int32_t value) {
  return value >= 0 && value < 32 && ((values >> static_cast<unsigned>(value)) & 1U) != 0;
}

// Number of legal values below `value`, which is the index of its child.
std::uint32_t rank_among(std::uint32_t values, std::int32_t value) {
  return static_cast<std::uint32_t>(
      std::popcount(values & ((1U << static_cast<unsigned>(value)) - 1U)));
}

}  // namespace

std::span<const std::int32_t> TuningActions::legal_actions(CollectiveKind collective) const {
  return of(collective).actions;
}

std::size_t TuningActions::legal_count(CollectiveKind collective) const {
  return of(collective).actions.size() / knobs_.size();
}

bool TuningActions::legal(CollectiveKind collective, std::span<const std::int32_t> action) const {
  return legal_in(of(collective), action);
}

bool TuningActions::legal(const Call& call, std::span<const std::int32_t> action) const {
  return legal_in(of(call), action);
}

bool TuningActions::legal_in(const Legal& legal, std::span<const std::int32_t> action) const {
  if (action.size() != knobs_.size()) return false;
  const std::vector<Prefix>& prefixes = legal.prefixes;
  if (prefixes.empty()) return false;  // the workload has no such calls
  std::size_t node = 0;
  for (std::size_t depth = 0; depth < action.size(); ++depth) {
    const Prefix& prefix = prefixes[node];
    if (!has(prefix.values, action[depth])) return false;
    node = prefix.first_child + rank_among(prefix.values, action[depth]);
  }
  return true;
}

void TuningActions::mask(CollectiveKind collective, std::span<std::uint8_t> out) const {
  std::ranges::copy(of(collective).marginal, out.begin());
}

void TuningActions::mask(const Call& call, std::span<std::uint8_t> out) const {
  std::ranges::copy(of(call).marginal, out.begin());
}

void TuningActions::conditional_mask(CollectiveKind collective,
                                     std::span<const std::int32_t> prefix,
                                     std::span<std::uint8_t> out) const {
  mask_of(of(collective), prefix, out);
}

void TuningActions::conditional_mask(const Call& call, std::span<const std::int32_t> prefix,
                                     std::span<std::uint8_t> out) const {
  mask_of(of(call), prefix, out);
}

void TuningActions::mask_of(const Legal& legal, std::span<const std::int32_t> prefix,
                            std::span<std::uint8_t> out) {
  const std::vector<Prefix>& prefixes = legal.prefixes;
  std::size_t node = 0;
  bool found = !prefixes.empty();
  for (const std::int32_t value : prefix) {
    found = found && has(prefixes[node].values, value);
    if (!found) break;
    node = prefixes[node].first_child + rank_among(prefixes[node].values, value);
  }
  const std::uint32_t values = found ? prefixes[node].values : 0;
  for (std::size_t value = 0; value < out.size(); ++value) {
    out[value] = static_cast<std::uint8_t>((values >> value) & 1U);
  }
}

TuningActions::Levels TuningActions::levels_of(std::span<const std::int32_t> action) const {
  Levels levels{};
  for (std::size_t i = 0; i < knobs_.size(); ++i) levels[at(knobs_[i])] = action[i];
  return levels;
}

std::size_t TuningActions::place_of(const Levels& levels) const {
  return static_cast<std::size_t>(levels[at(Knob::Algorithm)]) * levels_[at(Knob::Inter)].size() +
         static_cast<std::size_t>(levels[at(Knob::Inter)]);
}

std::int32_t& TuningActions::copies_at(Legal& legal, const Levels& levels) const {
  const std::size_t schedule = at(levels[at(Knob::Algorithm)]) - first_schedule_;
  return legal
      .copies[schedule * this->levels(Knob::Instances).size() + at(levels[at(Knob::Instances)])];
}

// Index of a program in the library, or -1.
std::int32_t TuningActions::program_at(CollectiveKind collective, const Levels& levels) const {
  if (profile_ == ActionProfile::Pccl) return plan_program_[plan_at(levels)];
  const Legal& legal = of(collective);
  const std::size_t algorithm = at(levels[at(Knob::Algorithm)]);
  if (algorithm < first_schedule_ || legal.copies.empty()) return legal.programs[place_of(levels)];
  const std::size_t instances = this->levels(Knob::Instances).size();
  return legal.copies[(algorithm - first_schedule_) * instances + at(levels[at(Knob::Instances)])];
}

const FrontSchedule* TuningActions::synthesised(const PlainConfig& config) const {
  return config.program < schedules_.size() ? schedules_[config.program] : nullptr;
}

const CollectiveFront* TuningActions::front(CollectiveKind collective) const {
  for (const SynthActions& item : options_.synth) {
    if (const CollectiveFront* front = item.front(collective)) return front;
  }
  return nullptr;
}

std::vector<CollectiveFront> TuningActions::fronts() const {
  std::vector<CollectiveFront> fronts;
  for (const CollectiveKind collective : all_collectives()) {
    if (const CollectiveFront* one = front(collective)) fronts.push_back(*one);
  }
  return fronts;
}

std::optional<std::size_t> TuningActions::tuner_of(std::span<const std::int32_t> action) const {
  const auto algorithm = static_cast<std::size_t>(action[0]);  // Knob::Algorithm comes first
  if (algorithm < tuners_.size()) return algorithm;
  return std::nullopt;
}

PlainConfig TuningActions::reference(const Call& call) const {
  if (!tuners_.empty() && tuners_.front() && tuners_.front()->chooses_for(call.collective)) {
    return choose(0, call);
  }
  constexpr std::uint64_t kLatencyBound = 16 << 10;
  constexpr std::uint64_t kBandwidthBound = 1 << 20;
  const Fabric& fabric = *site_->fabrics.front();
  const bool large = call.bytes >= kBandwidthBound;
  Config config;
  config.protocol = call.bytes < kLatencyBound ? Protocol::LL
                    : large                    ? Protocol::Simple
                                               : Protocol::LL128;
  config.channels = large ? std::clamp(static_cast<int>(logical_rings(fabric).size()), 1, 32) : 1;
  const std::array<std::string_view, 3> by_preference =
      call.bytes < kLatencyBound ? std::array<std::string_view, 3>{"tree", "ring", "naive"}
                                 : std::array<std::string_view, 3>{"ring", "tree", "naive"};
  for (const std::string_view name : by_preference) {
    if (!supports(site_->algorithms.at(name), call.collective)) continue;
    config.algorithm = std::string(name);
    return plain_config(site_->algorithms,
                        with_protocol_tiles(site_->cost_model, call.collective, config));
  }
  throw UserError("the library has no program for " + std::string(to_string(call.collective)));
}

PlainConfig TuningActions::choose(std::size_t tuner, const Call& call) const {
  if (!tuners_.at(tuner)) {
    throw UserError("tuner '" + tuner_names_[tuner] + "' does not run on fabric '" +
                    site_->fabrics.front()->name() + "'");
  }
  return plain_config(site_->algorithms, tuners_[tuner]->choose(call));
}

PlainConfig TuningActions::config(CollectiveKind collective,
                                  std::span<const std::int32_t> action) const {
  const Levels levels = levels_of(action);
  const std::int32_t program = program_at(collective, levels);
  if (program >= 0) return config_of(collective, static_cast<std::uint16_t>(program), levels);
  throw std::logic_error("TuningActions::config: no program for " + describe(action));
}

PlainConfig TuningActions::config(const Call& call, std::span<const std::int32_t> action) const {
  if (const auto tuner = tuner_of(action)) return choose(*tuner, call);
  const PlainConfig own = config(call.collective, action);
  return profile_ == ActionProfile::Pccl ? with_program(engine_choice(call), own.program) : own;
}

std::optional<std::vector<std::int32_t>> TuningActions::action_of(CollectiveKind collective,
                                                                  const PlainConfig& wanted) const {
  const std::vector<std::int32_t>& actions = of(collective).actions;
  const std::size_t n = knobs_.size();
  for (std::size_t i = 0; i < actions.size(); i += n) {
    const std::span<const std::int32_t> action(actions.data() + i, n);
    if (!tuner_of(action) && config(collective, action) == wanted) {
      return std::vector<std::int32_t>(action.begin(), action.end());
    }
  }
  return std::nullopt;
}

std::string TuningActions::describe(std::span<const std::int32_t> action) const {
  std::string text;
  const bool chosen = tuner_of(action).has_value();
  for (std::size_t i = 0; i < action.size() && (i == 0 || !chosen); ++i) {
    const std::string& level = levels(knobs_[i])[static_cast<std::size_t>(action[i])];
    const bool plain = knobs_[i] == Knob::Algorithm || knobs_[i] == Knob::Protocol ||
                       knobs_[i] == Knob::Hierarchy ||
                       (knobs_[i] == Knob::Inter && profile_ == ActionProfile::Pccl);
    if (plain) {
      text += (text.empty() ? "" : " ") + level;
    } else if (action[i] != 0) {
      text += " " + std::string(to_string(knobs_[i])) + "=" + level;
    }
  }
  return text;
}

}  // namespace cclgym
