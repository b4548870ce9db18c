// Reasons that exclude actions: levels that the user leaves out, programs that NCCL does not have,
// and the explanation of why a given action is not legal.
#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <iterator>

#include "core/error.hpp"
#include "core/index.hpp"
#include "env/tuning/actions/tuning_action.hpp"
#include "sim/simulator.hpp"
#include "sim/tuners/nccl_default_tuner.hpp"

namespace cclgym {

namespace {

// Text for a list of names: "only Simple", "LL or Simple", "1, 2 or 4".
std::string alternatives(const std::vector<std::string>& names) {
  if (names.size() == 1) return "only " + names.front();
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 < names.size() ? ", " : " or ";
    text += names[i];
  }
  return text;
}

}  // namespace

// Allows all levels of an item of Options::synth that is named without a number. Returns false if
// the name is another one.
bool TuningActions::allow_schedules(std::string_view name, std::uint32_t& allowed) const {
  for (std::size_t i = 0; i < options_.synth.size(); ++i) {
    if (options_.synth[i].level_prefix() != name) continue;
    constexpr std::uint32_t kAll = (1U << SynthActions::kLevels) - 1U;
    allowed |= kAll << (first_schedule_ + i * SynthActions::kLevels);
    return true;
  }
  return false;
}

void TuningActions::limit_levels(const std::vector<KnobLimit>& limits) {
  allowed_.fill(~0U);
  for (const KnobLimit& limit : limits) {
    std::vector<std::string> names;
    for (const Knob knob : knobs_) names.emplace_back(to_string(knob));
    const auto found = std::ranges::find(names, limit.knob);
    if (found == names.end()) {
      throw UserError(limit.where, unknown_name_message("knob", limit.knob, names));
    }
    const Knob knob = knobs_[static_cast<std::size_t>(found - names.begin())];
    std::uint32_t& allowed = allowed_[static_cast<std::size_t>(knob)];
    allowed = 0;
    for (const KnobLimit::Level& wanted : limit.levels) {
      if (knob == Knob::Algorithm && allow_schedules(wanted.name, allowed)) continue;
      const auto level = std::ranges::find(levels(knob), wanted.name);
      if (level == levels(knob).end()) {
        std::vector<std::string> known = levels(knob);
        for (const SynthActions& item : options_.synth) {
          if (knob == Knob::Algorithm) known.push_back(item.level_prefix());
        }
        throw UserError(wanted.where, unknown_name_message(fmt::format("level of {}", limit.knob),
                                                           wanted.name, known));
      }
      allowed |= 1U << static_cast<unsigned>(level - levels(knob).begin());
    }
  }
}

std::optional<NcclOffer> TuningActions::offer(const Options& options) const {
  if (!options.as_nccl) return std::nullopt;
  if (profile_ != ActionProfile::StockNccl && profile_ != ActionProfile::Nccl230) {
    throw UserError(
        options.as_nccl_where,
        fmt::format("profile {} has programs that are not NCCL's; expected profile stock-nccl "
                    "or nccl-2.30",
                    action_profile_names()[static_cast<std::size_t>(profile_)]));
  }
  try {
    NcclVersion version = kNewestNccl;
    for (const std::string& name : tuner_names_) {
      const auto named = nccl_release_of(name);
      if (!named) continue;
      version = *named;
      break;
    }
    return NcclOffer(version, *site_->fabrics.front());
  } catch (const UserError& error) {
    throw UserError(options.as_nccl_where,
                    fmt::format("the programs of NCCL there are not known: {}",
                                std::string_view(error.what())));
  }
}

std::vector<CollectiveKind> TuningActions::untuned_collectives() const {
  std::vector<CollectiveKind> untuned;
  if (!offer_) return untuned;
  std::ranges::copy_if(options_.collectives, std::back_inserter(untuned),
                       [](CollectiveKind one) { return !NcclOffer::asks_tuner(one); });
  return untuned;
}

bool TuningActions::has_action(CollectiveKind collective, const TunedProgram& program) const {
  const std::span<const std::int32_t> actions = legal_actions(collective);
  const std::size_t n = knobs_.size();
  for (std::size_t i = 0; i < actions.size(); i += n) {
    const std::span<const std::int32_t> action = actions.subspan(i, n);
    if (tuner_of(action)) continue;
    if (program_at(collective, levels_of(action)) == program.index) return true;
  }
  return false;
}

std::optional<TuningActions::Idle> TuningActions::why_idle(std::string_view program) const {
  const AlgorithmEntry& entry = site_->algorithms.at(program);
  const auto tuned = std::ranges::find_if(
      programs_, [&](const TunedProgram& one) { return &entry_of(one) == &entry; });
  const auto& wanted = options_.collectives.empty() ? all_collectives() : options_.collectives;
  std::vector<CollectiveKind> shared;
  std::vector<std::string_view> called;
  for (const CollectiveKind collective : wanted) {
    called.push_back(to_string(collective));
    if (!supports(entry, collective)) continue;
    if (has_action(collective, *tuned)) return std::nullopt;
    shared.push_back(collective);
  }
  if (shared.empty()) {
    return Idle{fmt::format("it has {}; the workload calls {}", collectives_text(entry),
                            fmt::join(called, ", ")),
                true};
  }
  for (const auto& [knob, name] :
       {std::pair(Knob::Algorithm, tuned->algorithm), std::pair(Knob::Inter, tuned->inter)}) {
    const auto level = std::ranges::find(levels(knob), name) - levels(knob).begin();
    if (allowed(knob, static_cast<std::int32_t>(level))) continue;
    return Idle{fmt::format("knobs.{} leaves out '{}'", to_string(knob), name), true};
  }
  const Fabric& fabric = *site_->fabrics.front();
  if (const auto reason = check_ranks(entry, fabric.ranks())) return Idle{*reason};
  if (const std::string reason = check_switches(entry, fabric); !reason.empty()) {
    return Idle{reason};
  }
  if (entry.fixed() && is_rooted(shared.front()) && entry.program->contract.root() != 0) {
    return Idle{fmt::format("its root is {}; calls have root 0", entry.program->contract.root()),
                true};
  }
  return Idle{"none of its configurations fits on the GPUs of " + fabric.name()};
}

std::optional<TuningActions::Idle> TuningActions::why_idle(const SynthActions& item) const {
  if (item.fronts.empty()) {
    return Idle{fmt::format("synthesis has no programs for these calls on {}",
                            site_->fabrics.front()->name())};
  }
  const std::size_t n = knobs_.size();
  bool named = false;  // true if the user allows one of its levels
  const auto items = static_cast<std::size_t>(&item - options_.synth.data());
  const std::size_t first = first_schedule_ + items * SynthActions::kLevels;
  for (std::size_t level = first; level < first + SynthActions::kLevels; ++level) {
    named = named || allowed(Knob::Algorithm, static_cast<std::int32_t>(level));
  }
  if (!named) {
    return Idle{fmt::format("knobs.algorithm leaves out '{}'", item.level_prefix()), true};
  }
  for (const CollectiveFront& front : item.fronts) {
    const std::span<const std::int32_t> actions = legal_actions(front.collective);
    for (std::size_t i = 0; i < actions.size(); i += n) {
      const std::size_t level = at(actions[i]);  // Knob::Algorithm comes first
      if (level >= first && level < first + SynthActions::kLevels) return std::nullopt;
    }
  }
  return Idle{"none of its programs fits on the GPUs of " + site_->fabrics.front()->name()};
}

std::string TuningActions::misfit(const Call& call, std::span<const std::int32_t> action) const {
  const std::vector<Prefix>& prefixes = of(call).prefixes;
  if (prefixes.empty() || prefixes.front().values == 0) {
    return fmt::format("no action carries out {}", to_string(call.collective));
  }
  std::size_t node = 0;
  for (std::size_t depth = 0; depth < knobs_.size(); ++depth) {
    const std::uint32_t values = prefixes[node].values;
    const auto value = static_cast<unsigned>(action[depth]);
    if (((values >> value) & 1U) != 0) {
      node = prefixes[node].first_child +
             static_cast<std::uint32_t>(std::popcount(values & ((1U << value) - 1U)));
      continue;
    }
    std::vector<std::string> legal;
    const std::vector<std::string>& names = levels(knobs_[depth]);
    for (std::size_t level = 0; level < names.size(); ++level) {
      if (((values >> level) & 1U) != 0) legal.push_back(names[level]);
    }
    const std::string before = depth == 0 ? std::string(to_string(call.collective))
                                          : "'" + describe(action.first(depth)) + "'";
    return fmt::format("{} {}: {} has {}", to_string(knobs_[depth]), names[value], before,
                       alternatives(legal));
  }
  return {};
}

}  // namespace cclgym
