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
  std::string name;         ///< "oracle", "nccl-default:VERSION"
  std::string description;  ///< one line
};
[[nodiscard]] const std::vector<BaselineInfo>& baseline_infos();

/// The baseline of this name: one of baseline_infos(), or any tuner. Throws UserError if there is
/// none such, naming the nearest.
[[nodiscard]] std::unique_ptr<Policy> make_baseline(const std::string& name);

/// The baselines that are compared with where none are named: default choices that the actions of
/// the profile could be, and all others but tables.
[[nodiscard]] std::vector<std::string> default_baselines(ActionProfile profile);

}  // namespace cclgym
