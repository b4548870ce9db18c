// Amount of exploration by regime: SCCL (12.4), GC3 (12.4), MSCCLang (11.3) and TE-CCL name cells
// in which NCCL is nearly optimal, and cells with much to gain (docs/agents.md).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/options/option.hpp"
#include "core/yaml/yaml.hpp"
#include "env/tuning/collective_tuning.hpp"

namespace cclgym {

/// A set of calls, and the weight that PPO gives to the entropy of their choices.
struct ExplorationRule {
  enum class Servers : std::uint8_t { Any, One, Several };

  std::vector<CollectiveKind> collectives;  ///< empty: all
  std::vector<std::string> fabrics;         ///< names of machines; empty: all
  Servers servers = Servers::Any;
  std::uint64_t least_bytes = 0;
  std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max();
  /// True if the rule matches only while the observation shows a shared network
  /// (TuningObservation::shared_network).
  bool shared = false;
  double entropy = 0;

  /// True if the rule matches the environment's next call.
  [[nodiscard]] bool fits(const CollectiveTuningEnv& environment) const;
};

/// Keys of a rule.
[[nodiscard]] const std::vector<OptionSpec>& exploration_options();
/// Reads a rule for machines that are in `fabrics` or have shipped names. Throws UserError at the
/// location of the mistake.
[[nodiscard]] ExplorationRule read_exploration_rule(const YamlValue& mapping,
                                                    std::vector<std::string> fabrics);

/// Weight of the first rule that matches an environment's next call; `otherwise` if none does, or
/// if the environment is not CollectiveTuning-v0.
[[nodiscard]] double exploration_weight(std::span<const ExplorationRule> rules,
                                        const Environment& environment, double otherwise);

}  // namespace cclgym
