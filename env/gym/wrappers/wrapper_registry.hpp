// Wrappers by name, for YAML and Python.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/options/option.hpp"
#include "core/yaml/yaml.hpp"
#include "env/gym/environment.hpp"

namespace cclgym {

/// A wrapper with a name: one row of the table in wrapper_registry.cpp.
struct WrapperEntry {
  std::string name;  ///< name, such as "TimeLimit"
  std::string description;
  std::vector<OptionSpec> options;
  /// `options` is a mapping whose keys are among the records above and "name".
  std::unique_ptr<Environment> (*wrap)(std::unique_ptr<Environment> inner,
                                       const YamlValue& options);
};

[[nodiscard]] const std::vector<WrapperEntry>& wrapper_entries();

/// Adds wrappers to an environment, the first one innermost. `wrappers` is null or a list whose
/// items are names or mappings with key `name`: [{name: TimeLimit, max_steps: 100},
/// RecordEpisodeStatistics]. Throws UserError.
[[nodiscard]] std::unique_ptr<Environment> wrap_environment(
    std::unique_ptr<Environment> environment, const YamlValue& wrappers);

}  // namespace cclgym
