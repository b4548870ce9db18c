// Baselines by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agents/policy.hpp"
#include "env/tuning/actions/tuning_action.hpp"

namespace cclgym {

struct BaselineInfo {
  std::string name;         ///< name, such as "oracle" or "nccl-default:VERSION"
  std::string description;  ///< one line
};
[[nodiscard]] const std::vector<BaselineInfo>& baseline_infos();

/// Makes the baseline of this name: one of baseline_infos(), or any tuner. Throws UserError for an
/// unknown name, suggesting the nearest.
[[nodiscard]] std::unique_ptr<Policy> make_baseline(const std::string& name);

/// Baselines of a comparison if none are named: the default choices that the profile allows, and
/// all others except tables.
[[nodiscard]] std::vector<std::string> default_baselines(ActionProfile profile);

}  // namespace cclgym
