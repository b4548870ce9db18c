#include "env/registry.hpp"

#include "env/counter_env.hpp"
#include "env/wrapper.hpp"

namespace cclgym {

namespace {

template <class Kind>
std::unique_ptr<Environment> make(const YamlValue& options) {
  return std::make_unique<Kind>(options);
}

}  // namespace

const std::vector<EnvironmentEntry>& environment_entries() {
  static const std::vector<EnvironmentEntry> entries{
      {.name = "Counter-v0",
       .description = "count to a number exactly: an example, and an environment for tests",
       .options = CounterEnv::option_specs(),
       .make = make<CounterEnv>},
  };
  return entries;
}

std::unique_ptr<Environment> make_environment(std::string_view name, const YamlValue& options,
                                              const SourceLocation& where) {
  std::vector<std::string> names;
  for (const EnvironmentEntry& entry : environment_entries()) {
    if (entry.name == name) return std::make_unique<OrderEnforcing>(entry.make(options));
    names.push_back(entry.name);
  }
  throw UserError(where, unknown_name_message("environment", name, names));
}

}  // namespace cclgym
