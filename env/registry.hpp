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

/// An environment that can be made by name: one row of the table in registry.cpp.
struct EnvironmentEntry {
  std::string name;  ///< name, such as "Counter-v0"
  std::string description;
  std::vector<OptionSpec> options;
  /// Reads the options (null or a mapping of the records above) once and returns a maker of bare
  /// environments; these may share constant data. Throws UserError.
  EnvironmentMaker (*prepare)(const YamlValue& options);
};

[[nodiscard]] const std::vector<EnvironmentEntry>& environment_entries();

/// Maker of the environment, wrapped in OrderEnforcing. `options` is null or a mapping of the
/// entry's records. Throws UserError for an unknown name (suggesting the nearest one, at `where`)
/// or wrong options. Vector environments use it because it reads options and makes constant data
/// only once.
[[nodiscard]] EnvironmentMaker environment_maker(std::string_view name,
                                                 const YamlValue& options = {},
                                                 const SourceLocation& where = {});

/// Makes one environment; see environment_maker.
[[nodiscard]] std::unique_ptr<Environment> make_environment(std::string_view name,
                                                            const YamlValue& options = {},
                                                            const SourceLocation& where = {});

}  // namespace cclgym
