// Environments by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/options/option.hpp"
#include "core/yaml/yaml.hpp"
#include "env/gym/environment.hpp"

namespace cclgym {

/// What can be made: an entry a row of the table in registry.cpp.
struct EnvironmentEntry {
  std::string name;  ///< "Counter-v0"
  std::string description;
  std::vector<OptionSpec> options;
  /// Reads the options, null or a mapping of the records above, once, and returns what makes bare
  /// environments by them; these may share what does not change. Throws UserError.
  EnvironmentMaker (*prepare)(const YamlValue& options);
};

[[nodiscard]] const std::vector<EnvironmentEntry>& environment_entries();

/// What makes the environment, in OrderEnforcing. `options` is null or a mapping of the entry's
/// records. Throws UserError for an unknown name (naming the nearest one, at `where`) or wrong
/// options. For vector environments: the options are read once, and all that does not change is
/// there once.
[[nodiscard]] EnvironmentMaker environment_maker(std::string_view name,
                                                 const YamlValue& options = {},
                                                 const SourceLocation& where = {});

/// One such environment.
[[nodiscard]] std::unique_ptr<Environment> make_environment(std::string_view name,
                                                            const YamlValue& options = {},
                                                            const SourceLocation& where = {});

}  // namespace cclgym
