#include "agents/export/deployed_release.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/units.hpp"
#include "cost_models/nccl/nccl_comm_for.hpp"
#include "cost_models/nccl/nccl_default.hpp"

namespace cclgym {

namespace {

constexpr std::string_view kPrefix = "nccl-";

// The first release with the given capability; empty if there is none.
std::string first_with(bool DeployedRelease::*what) {
  const auto found =
      std::ranges::find_if(deployed_releases(), [&](const auto& release) { return release.*what; });
  return found->name;
}

// Text of the missing capability for an action: "a chunk size, which nccl-2.30 has". Empty if the
// release has all capabilities.
std::string misfit(std::span<const std::int32_t> action, const TuningActions& actions,
                   const DeployedRelease& release) {
  if (actions.tuner_of(action)) return {};
  for (std::size_t i = 0; i < action.size(); ++i) {
    const Knob knob = actions.knobs()[i];
    const std::string& level = actions.levels(knob)[static_cast<std::size_t>(action[i])];
    if (knob == Knob::Algorithm && level == "pat" && !release.pat) {
      return "algorithm pat, which " + first_with(&DeployedRelease::pat) + " has";
    }
    const bool of_nccl =
        knob == Knob::Algorithm || knob == Knob::Protocol || knob == Knob::Channels;
    if (of_nccl || action[i] == 0) continue;
    if (knob == Knob::Chunk && release.chunks) continue;
    if (knob == Knob::Chunk && level != "whole") {
      return "a chunk size that a tuner can set, which " + first_with(&DeployedRelease::chunks) +
             " has";
    }
    return fmt::format("a knob '{}' that a tuner can turn", to_string(knob));
  }
  return {};
}

// The first two numbers of "2.28", "2.28.9" or "nccl-2.28.9".
std::optional<std::pair<int, int>> release_numbers(std::string_view text) {
  if (text.starts_with(kPrefix)) text.remove_prefix(kPrefix.size());
  std::array<int, 3> numbers{};
  std::size_t count = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (count < numbers.size()) {
    const auto [next, error] = std::from_chars(at, end, numbers[count]);
    if (error != std::errc() || next == at || numbers[count] < 0) return std::nullopt;
    ++count;
    at = next;
    if (at == end) break;
    if (*at != '.') return std::nullopt;
    ++at;
  }
  if (at != end || count < 2) return std::nullopt;
  return std::pair(numbers[0], numbers[1]);
}

}  // namespace

const std::vector<DeployedRelease>& deployed_releases() {
  static const std::vector<DeployedRelease> releases{
      {"nccl-2.21", 2, 0, false, false, false},
      {"nccl-2.22", 3, 0, false, false, false},
      {"nccl-2.23", 3, 0, true, false, false},
      {"nccl-2.24", 4, 0, true, false, false},
      {"nccl-2.25", 4, 0, true, false, false},
      {"nccl-2.26", 4, 0, true, false, false},
      {"nccl-2.27", 4, 0, true, false, false},
      {"nccl-2.28", 5, 5, true, true, false},
      {"nccl-2.29", 5, 6, true, true, false},
      {"nccl-2.30", 6, 6, true, true, true},
      // Their libraries ask for the same tuner as 2.30, and for a profiler that the plugin has, too
      // (docs/deploy.md, "Releases").
      {"nccl-2.31", 6, 6, true, true, true},
      {"nccl-2.32", 6, 6, true, true, true}};
  return releases;
}

OptionSpec release_option() {
  OptionSpec spec{.name = "for",
                  .kind = OptionKind::Choice,
                  .description = "release of NCCL that the job uses",
                  .required = true};
  for (const DeployedRelease& release : deployed_releases()) spec.choices.push_back(release.name);
  return spec;
}

std::string release_name(std::string_view text) {
  const std::optional<std::pair<int, int>> numbers = release_numbers(text);
  if (!numbers) return std::string(text);
  return fmt::format("{}{}.{}", kPrefix, numbers->first, numbers->second);
}

const DeployedRelease& deployed_release(std::string_view text, const SourceLocation& where,
                                        const OptionSpec& known) {
  const std::string name = release_name(text);
  const std::vector<DeployedRelease>& releases = deployed_releases();
  const auto numbers = release_numbers(name);
  if (numbers && numbers < release_numbers(releases.front().name)) {
    throw UserError(
        where, fmt::format("{} asks for no tuner that the plugin has; expected {} or newer", name,
                           releases.front().name));
  }
  if (numbers && numbers > release_numbers(releases.back().name)) {
    throw UserError(where,
                    fmt::format("{} is newer than the releases that are known; the newest is "
                                "{}, with version {} of the tuner's interface",
                                name, releases.back().name, releases.back().tuner));
  }
  OptionSpec named = known;
  named.name = "release";
  return releases[read_choice(name, named, where)];
}

void check_release(const DeployedChoices& choices, const TuningSetup& setup,
                   const DeployedRelease& release, const std::string& place) {
  for (std::size_t c = 0; c < choices.actions.size(); ++c) {
    for (std::size_t i = 0; i < choices.actions[c].size(); ++i) {
      const std::vector<std::int32_t>& action = choices.actions[c][i];
      const std::string what = misfit(action, *setup.actions, release);
      if (what.empty()) continue;
      throw UserError(fmt::format("{}: {} {} from {}: '{}' needs {}; {} does not have it", place,
                                  choices.machine.label, kNcclCollectiveNames[c],
                                  format_bytes(choices.machine.grids[c]->sizes[i]),
                                  setup.actions->describe(action), what, release.name));
    }
  }
}

int choices_not_offered(const DeployedChoices& choices, const TuningSetup& setup,
                        const DeployedRelease& release) {
  const TuningActions& actions = *setup.actions;
  std::optional<NcclDefault> nccl;
  try {
    const NcclVersion version = parse_nccl_version(release.name.substr(kPrefix.size()));
    nccl.emplace(version, nccl_comm_for(*setup.site->fabrics.front(), version));
  } catch (const UserError&) {
    return 0;
  }
  int not_offered = 0;
  for (std::size_t c = 0; c < choices.actions.size(); ++c) {
    for (std::size_t i = 0; i < choices.actions[c].size(); ++i) {
      std::optional<int> algorithm;
      std::optional<int> protocol;
      const std::vector<std::int32_t>& action = choices.actions[c][i];
      for (std::size_t k = 0; k < action.size(); ++k) {
        const Knob knob = actions.knobs()[k];
        const std::string& level = actions.levels(knob)[static_cast<std::size_t>(action[k])];
        if (knob == Knob::Algorithm) algorithm = nccl_algorithm_of_ours(level);
        if (knob == Knob::Protocol) protocol = nccl_protocol_of(level);
      }
      if (!algorithm || !protocol) continue;
      // NCCL's numbers of collectives, algorithms and protocols are the values of these types.
      const bool offered =
          nccl->time_s(static_cast<NcclCollective>(c), static_cast<NcclAlgorithm>(*algorithm),
                       static_cast<Protocol>(*protocol), choices.machine.grids[c]->sizes[i])
              .has_value();
      not_offered += offered ? 0 : 1;
    }
  }
  return not_offered;
}

}  // namespace cclgym
