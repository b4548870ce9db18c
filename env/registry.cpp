#include "env/registry.hpp"

#include "env/gym/counter_env.hpp"
#include "env/gym/wrapper.hpp"
#include "env/tuning/collective_tuning.hpp"
#include "env/tuning/tuning_options.hpp"

namespace cclgym {

namespace {

EnvironmentMaker prepare_counter(const YamlValue& options) {
  const CounterEnv checked(options);  // reports wrong options right away
  return [options] { return std::make_unique<CounterEnv>(options); };
}

EnvironmentMaker prepare_collective_tuning(const YamlValue& options) {
  return [setup = checked_tuning_setup(options)] {
    return std::make_unique<CollectiveTuningEnv>(setup);
  };
}

}  // namespace

const std::vector<EnvironmentEntry>& environment_entries() {
  static const std::vector<EnvironmentEntry> entries{
      {.name = "CollectiveTuning-v0",
       .description = "choose how each collective call of a job is carried out",
       .options = collective_tuning_options(),
       .prepare = prepare_collective_tuning},
      {.name = "Counter-v0",
       .description = "count to a number exactly: an example, and an environment for tests",
       .options = CounterEnv::option_specs(),
       .prepare = prepare_counter},
  };
  return entries;
}

EnvironmentMaker environment_maker(std::string_view name, const YamlValue& options,
                                   const SourceLocation& where) {
  std::vector<std::string> names;
  for (const EnvironmentEntry& entry : environment_entries()) {
    if (entry.name == name) {
      return [make = entry.prepare(options)] { return std::make_unique<OrderEnforcing>(make()); };
    }
    names.push_back(entry.name);
  }
  throw UserError(where, unknown_name_message("environment", name, names));
}

std::unique_ptr<Environment> make_environment(std::string_view name, const YamlValue& options,
                                              const SourceLocation& where) {
  return environment_maker(name, options, where)();
}

}  // namespace cclgym
