// Releases of NCCL for which choices are deployed, and the tuner interface of each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agents/export/deployed_machine.hpp"
#include "core/options/option.hpp"

namespace cclgym {

struct DeployedRelease {
  std::string name;        ///< name, such as "nccl-2.28"
  int tuner = 0;           ///< version of the tuner plugin interface
  int profiler = 0;        ///< version of the profiler plugin interface; 0 if the plugin lacks it
  bool pat = false;        ///< true if the release has algorithm PAT
  bool constants = false;  ///< true if a tuner can set the constants of its model
  bool chunks = false;     ///< true if a tuner can also set the chunk size
};

/// Releases from 2.21 on, oldest first.
[[nodiscard]] const std::vector<DeployedRelease>& deployed_releases();
/// Record of the option that names a release.
[[nodiscard]] OptionSpec release_option();
/// The name under which a release is listed: "2.28", "2.28.9" and "nccl-2.28.9" are "nccl-2.28". A
/// text that is not the number of a release is returned as it is.
[[nodiscard]] std::string release_name(std::string_view text);
/// Finds a release by its name, or by a text that release_name() understands. Throws UserError at
/// `where` that says whether the release is too old or too new, or suggests the nearest name among
/// the choices of `known`, which begin with the releases.
[[nodiscard]] const DeployedRelease& deployed_release(std::string_view text,
                                                      const SourceLocation& where,
                                                      const OptionSpec& known = release_option());

/// Throws UserError "PLACE: MACHINE COLLECTIVE from SIZE: ..." if a choice of the policy needs a
/// capability that the release lacks.
void check_release(const DeployedChoices& choices, const TuningSetup& setup,
                   const DeployedRelease& release, const std::string& place);

/// Number of sizes at which the policy chooses an algorithm and protocol that NCCL, by its known
/// rules, does not offer on the machine (e.g. PAT with several ranks per node); the plugin then
/// takes the policy's next choice. 0 if NCCL does not run on the machine.
[[nodiscard]] int choices_not_offered(const DeployedChoices& choices, const TuningSetup& setup,
                                      const DeployedRelease& release);

}  // namespace cclgym
