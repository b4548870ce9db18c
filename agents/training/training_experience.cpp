#include "agents/training/training_experience.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "env/tuning/estimates/action_prior.hpp"

namespace cclgym {

namespace {

// Levels of the rule of thumb of TE-CCL (section 11), on eight channels or the most below; nullopt
// if no action does that.
std::optional<std::vector<std::int32_t>> rule_of_thumb(const TuningActions& actions,
                                                       const Call& call) {
  constexpr std::uint64_t kTree = std::uint64_t{16} << 10U;
  constexpr std::uint64_t kLl128 = std::uint64_t{1} << 20U;
  constexpr int kMostChannels = 8;
  const char* const algorithm = call.bytes < kTree ? "tree" : "ring";
  const Protocol protocol = call.bytes < kTree    ? Protocol::LL
                            : call.bytes < kLl128 ? Protocol::LL128
                                                  : Protocol::Simple;
  const std::size_t knobs = actions.knobs().size();
  const std::span<const std::int32_t> all = actions.legal_actions(call.collective);
  const auto& names = actions.levels(Knob::Algorithm);
  std::optional<std::vector<std::int32_t>> found;
  int channels = 0;
  for (std::size_t i = 0; i < actions.legal_count(call.collective); ++i) {
    const auto action = all.subspan(i * knobs, knobs);
    if (names[static_cast<std::size_t>(action[0])] != algorithm) continue;
    const PlainConfig config = actions.config(call.collective, action);
    if (config.protocol != protocol || config.channels > kMostChannels) continue;
    if (config.channels <= channels) continue;
    channels = config.channels;
    found.emplace(action.begin(), action.end());
  }
  return found;
}

PriorKnowledge knowledge_of(const std::shared_ptr<const TuningSetup>& setup) {
  return {.level =
              [setup](const Call& call, std::int32_t level) {
                const double best_s = setup->prior->times(call).best_s;
                const double own_s = setup->prior->level_s(call, level);
                if (best_s <= 0 || own_s <= 0) return 0.0;
                return std::min(0.0, portable_log(best_s / own_s));
              },
          .rule = [setup](const Call& call) { return rule_of_thumb(*setup->actions, call); }};
}

void add_part(std::string& bytes, const std::string& part) {
  const std::uint64_t length = part.size();
  for (unsigned i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(length >> (8 * i)));
  bytes += part;
}

std::optional<std::string_view> take_part(std::string_view& bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length) return std::nullopt;
  for (unsigned i = 0; i < 8; ++i) {
    length |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  bytes.remove_prefix(sizeof length);
  if (length > bytes.size()) return std::nullopt;
  const std::string_view part = bytes.substr(0, length);
  bytes.remove_prefix(length);
  return part;
}

}  // namespace

TrainingExperience::TrainingExperience(const TrainConfig& config,
                                       const std::vector<std::size_t>& levels)
    : config_(config) {
  for (const TrainingPart& part : config.parts) {
    experiences_.emplace_back(levels, config.budget.value_or(ExplorationBudget{}),
                              knowledge_of(part.environment->setup()));
  }
}

void TrainingExperience::lend(std::span<const TrainingPart* const> taken,
                              std::vector<CollectSlot>& slots) const {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i].experience = &experiences_[number_of(taken[i])];
    slots[i].sharing = static_cast<std::size_t>(std::ranges::count(taken, taken[i]));
  }
}

void TrainingExperience::keep(std::span<const TrainingPart* const> taken,
                              const std::vector<CollectSlot>& slots) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    experiences_[number_of(taken[i])].merge(std::span(&slots[i].notes, 1));
  }
}

std::string TrainingExperience::bytes(const std::string& memory) const {
  std::string bytes;
  add_part(bytes, memory);
  for (const Experience& one : experiences_) add_part(bytes, one.bytes());
  return bytes;
}

bool TrainingExperience::restore(std::string_view bytes, std::string& memory) {
  const auto kept = take_part(bytes);
  if (!kept) return false;
  memory = *kept;
  for (Experience& one : experiences_) {
    const auto part = take_part(bytes);
    if (!part || !one.restore(*part)) return false;
  }
  return bytes.empty();
}

}  // namespace cclgym
