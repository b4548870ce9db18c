#include "agents/deployed_release.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"

namespace cclgym {

namespace {

// The first release that has what a level needs; nothing: no release has.
std::string first_with(bool DeployedRelease::*what) {
  const auto found =
      std::ranges::find_if(deployed_releases(), [&](const auto& release) { return release.*what; });
  return found->name;
}

// What of an action the release has not: "a chunk size, which nccl-2.30 has"; empty: it has all.
std::string misfit(std::span<const std::int32_t> action, const TuningActions& actions,
                   const DeployedRelease& release) {
  if (actions.chooser_of(action)) return {};
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

}  // namespace

const std::vector<DeployedRelease>& deployed_releases() {
  static const std::vector<DeployedRelease> releases{
      {"nccl-2.21", 2, 0, false, false, false}, {"nccl-2.22", 3, 0, false, false, false},
      {"nccl-2.23", 3, 0, true, false, false},  {"nccl-2.24", 4, 0, true, false, false},
      {"nccl-2.25", 4, 0, true, false, false},  {"nccl-2.26", 4, 0, true, false, false},
      {"nccl-2.27", 4, 0, true, false, false},  {"nccl-2.28", 5, 5, true, true, false},
      {"nccl-2.29", 5, 6, true, true, false},   {"nccl-2.30", 6, 6, true, true, true}};
  return releases;
}

OptionSpec release_option() {
  OptionSpec spec{.name = "for",
                  .kind = OptionKind::Choice,
                  .description = "the release of NCCL that the job runs with",
                  .required = true};
  for (const DeployedRelease& release : deployed_releases()) spec.choices.push_back(release.name);
  return spec;
}

const DeployedRelease& deployed_release(std::string_view name, const SourceLocation& where) {
  return deployed_releases()[read_choice(name, release_option(), where)];
}

void check_release(const DeployedChoices& choices, const TuningSetup& setup,
                   const DeployedRelease& release, const std::string& place) {
  for (std::size_t c = 0; c < choices.actions.size(); ++c) {
    for (std::size_t i = 0; i < choices.actions[c].size(); ++i) {
      const std::vector<std::int32_t>& action = choices.actions[c][i];
      const std::string what = misfit(action, *setup.actions, release);
      if (what.empty()) continue;
      throw UserError(fmt::format("{}: {} {} from {}: '{}' needs {}; {} has not", place,
                                  choices.machine.label, kNcclCollectiveNames[c],
                                  format_bytes(choices.machine.grids[c]->sizes[i]),
                                  setup.actions->describe(action), what, release.name));
    }
  }
}

}  // namespace cclgym
