#include "agents/export/tuner_csv.hpp"

#include <fmt/format.h>
#include <optional>
#include <utility>
#include <vector>

namespace cclgym {

namespace {

// Configuration as it appears in a line: "ring,ll128,8"; nullopt if a line cannot express it.
std::optional<std::string> sayable(const TuningActions& actions,
                                   std::span<const std::int32_t> action) {
  std::string algorithm;
  std::string protocol;
  std::string channels;
  for (std::size_t i = 0; i < action.size(); ++i) {
    const Knob knob = actions.knobs()[i];
    const std::string& level = actions.levels(knob)[static_cast<std::size_t>(action[i])];
    if (knob == Knob::Algorithm) {
      const auto found = nccl_algorithm_of_ours(level);
      if (!found) return std::nullopt;
      algorithm = kNcclAlgorithmNames[static_cast<std::size_t>(*found)].csv;
    } else if (knob == Knob::Protocol) {
      protocol = lower_case(level);
    } else if (knob == Knob::Channels) {
      channels = level;
    } else if (action[i] != 0) {
      return std::nullopt;
    }
  }
  return algorithm + "," + protocol + "," + channels;
}

struct Range {
  std::uint64_t from = 0;
  std::optional<std::string> choice;
  std::string wish;
};

std::vector<Range> ranges_of(const DeployedChoices& choices, std::size_t collective,
                             const TuningActions& actions) {
  const std::vector<std::uint64_t>& sizes = choices.machine.grids[collective]->sizes;
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::vector<std::int32_t>& action = choices.actions[collective][i];
    Range next{i == 0 ? 0 : sizes[i], sayable(actions, action), actions.describe(action)};
    const bool same = !ranges.empty() && ranges.back().choice == next.choice &&
                      (next.choice || ranges.back().wish == next.wish);
    if (!same) ranges.push_back(std::move(next));
  }
  return ranges;
}

}  // namespace

TunerCsv tuner_csv(const DeployedChoices& choices, const TuningSetup& setup) {
  TunerCsv csv;
  csv.text = fmt::format(
      "# {}: distilled by cclgym; for NCCL's example tuner plugin (NCCL_TUNER_CONFIG_FILE)\n"
      "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n",
      setup.fabric_label);
  for (std::size_t c = 0; c < kNcclCollectiveNames.size(); ++c) {
    if (!choices.machine.grids[c]) continue;
    const std::vector<Range> ranges = ranges_of(choices, c, *setup.actions);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const std::uint64_t to =
          i + 1 < ranges.size() ? ranges[i + 1].from - 1 : std::uint64_t{1} << 40U;
      if (ranges[i].choice) {
        csv.text += fmt::format("{},{},{},{},{},{}\n", kNcclCollectiveNames[c], ranges[i].from, to,
                                *ranges[i].choice, choices.machine.nodes, choices.machine.ranks);
        ++csv.lines;
      } else {
        csv.text += fmt::format("# {} {}..{}: left to NCCL; the policy chooses {}\n",
                                kNcclCollectiveNames[c], ranges[i].from, to, ranges[i].wish);
        ++csv.left_out;
      }
    }
  }
  return csv;
}

TunerCsv tuner_csv(const PolicyFile& policy, const TuningSetup& setup) {
  return tuner_csv(deployed_choices(policy, setup), setup);
}

}  // namespace cclgym
