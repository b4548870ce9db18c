#include "cli/support/fabric_options.hpp"

#include <algorithm>

#include "cost_models/parameters/shipped_sets.hpp"
#include "topology_models/machines/registry.hpp"
#include "topology_models/servers/fabric_fields.hpp"

namespace cclgym {

namespace {

// Name on the command line: "nodes-per-leaf".
std::string argument_name(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return key;
}

// The record of an option of fabrics under its name on the command line.
OptionSpec record_of(const FabricField& field) {
  OptionSpec spec = find_option(fabric_spec_options(), field.key());
  spec.name = argument_name(spec.name);
  spec.aliases.clear();  // older keys of YAML files, which were never options
  return spec;
}

}  // namespace

FabricSpec fabric_spec_of(const std::string& name, const Arguments& arguments) {
  FabricSpec spec;
  spec.name = name;
  for (const FabricField& field : fabric_fields()) {
    if (field.argument.empty()) continue;
    const OptionSpec record = record_of(field);
    if (!arguments.has(record.name)) continue;
    field.given.set(
        spec, read_option(arguments.text(record.name), record, argument_location(record.name)));
  }
  return spec;
}

void add_fabric_options(ArgumentReader& reader) {
  for (const FabricField& field : fabric_fields()) {
    if (!field.argument.empty()) reader.option(record_of(field), field.argument);
  }
}

std::shared_ptr<const Fabric> fabric_of(const std::string& name, const Arguments& arguments) {
  const FabricSpec spec = fabric_spec_of(name, arguments);
  // `describe` takes the name as a positional argument.
  const SourceLocation place{.file = arguments.has("fabric") ? "--fabric" : "NAME"};
  try {
    std::shared_ptr<const Fabric> fabric = make_fabric(spec);
    for (const std::string& warning : fabric->warnings()) print_warning(name + ": " + warning);
    return fabric;
  } catch (const FabricOptionError& error) {
    const bool of_name = error.key() == fabric_spec_options().front().name;
    throw UserError(of_name ? place : argument_location(argument_name(error.key())), error.what());
  } catch (const UserError& error) {
    throw_at(place, name, error);
  }
}

ParameterSet parameter_set_of(const Arguments& arguments, const std::string& option,
                              const Fabric& fabric) {
  const std::string name = arguments.has(option) ? arguments.text(option) : "auto";
  return at_option(option, name, [&] { return parameter_set_for(name, fabric); });
}

std::string fabric_label_of(const std::string& name, const Arguments& arguments,
                            const Fabric& fabric) {
  return fabric_label(fabric_spec_of(name, arguments), fabric);
}

}  // namespace cclgym
