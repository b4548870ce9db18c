// How much is explored, by regime: SCCL (12.4), GC3 (12.4), MSCCLang (11.3) and TE-CCL name cells
// in which NCCL is near the best, and cells in which much is to be gained (docs/agents.md).
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

/// Calls, and the weight that PPO gives the entropy of what is chosen for them.
struct ExplorationRule {
  enum class Servers : std::uint8_t { Any, One, Several };

  std::vector<CollectiveKind> collectives;  ///< empty: all
  std::vector<std::string> fabrics;         ///< names of machines; empty: all
  Servers servers = Servers::Any;
  std::uint64_t least_bytes = 0;
  std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max();
  /// Only while the network is shared, as the observation has it
  /// (TuningObservation::shared_network).
  bool shared = false;
  double entropy = 0;

  /// Does it speak of the call that the environment makes next?
  [[nodiscard]] bool fits(const CollectiveTuningEnv& environment) const;
};

/// Keys of a rule.
[[nodiscard]] const std::vector<OptionSpec>& exploration_options();
/// A rule for machines of `fabrics` and of shipped names. Throws UserError at the place of what is
/// wrong.
[[nodiscard]] ExplorationRule read_exploration_rule(const YamlValue& mapping,
                                                    std::vector<std::string> fabrics);

/// The weight of the first rule that fits the next call of an environment; `otherwise` if none
/// does, or the environment is not CollectiveTuning-v0.
[[nodiscard]] double exploration_weight(std::span<const ExplorationRule> rules,
                                        const Environment& environment, double otherwise);

}  // namespace cclgym
