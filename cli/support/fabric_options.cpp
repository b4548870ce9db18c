#include "cli/support/fabric_options.hpp"

#include <algorithm>

#include "topology_models/machines/registry.hpp"
#include "topology_models/servers/fabric_fields.hpp"

namespace cclgym {

namespace {

// The record of an option of fabrics under its name on the command line: "nodes-per-leaf".
OptionSpec record_of(const FabricField& field) {
  OptionSpec spec = find_option(fabric_spec_options(), field.key());
  std::replace(spec.name.begin(), spec.name.end(), '_', '-');
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
  return make_fabric(fabric_spec_of(name, arguments));
}

std::string fabric_label_of(const std::string& name, const Arguments& arguments,
                            const Fabric& fabric) {
  return fabric_label(fabric_spec_of(name, arguments), fabric);
}

}  // namespace cclgym
