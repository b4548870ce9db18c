// Releases of NCCL that choices are deployed for, and what a tuner can say to each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agents/export/deployed_machine.hpp"
#include "core/options/option.hpp"

namespace cclgym {

struct DeployedRelease {
  std::string name;        ///< "nccl-2.28"
  int tuner = 0;           ///< version of the table of functions that it takes from our plugin
  int profiler = 0;        ///< the same of the profiler; 0: none that the plugin has
  bool pat = false;        ///< does it have algorithm PAT?
  bool constants = false;  ///< can a tuner set the constants of its model?
  bool chunks = false;     ///< and the chunk size?
};

/// From 2.21 on, oldest first.
[[nodiscard]] const std::vector<DeployedRelease>& deployed_releases();
/// The record of an option that names one.
[[nodiscard]] OptionSpec release_option();
/// Throws UserError at `where`, naming the nearest.
[[nodiscard]] const DeployedRelease& deployed_release(std::string_view name,
                                                      const SourceLocation& where);

/// Throws UserError "PLACE: MACHINE COLLECTIVE from SIZE: …" where the policy chooses what the
/// release cannot do.
void check_release(const DeployedChoices& choices, const TuningSetup& setup,
                   const DeployedRelease& release, const std::string& place);

/// At how many sizes the policy chooses a combination of algorithm and protocol that NCCL, by what
/// is known of its rules, does not offer on the machine (PAT with several ranks a node, say): the
/// plugin then takes the policy's next one. 0 where NCCL does not run on the machine.
[[nodiscard]] int choices_not_offered(const DeployedChoices& choices, const TuningSetup& setup,
                                      const DeployedRelease& release);

}  // namespace cclgym
