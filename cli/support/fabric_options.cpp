#include "cli/support/fabric_options.hpp"

#include <algorithm>
#include <optional>

#include "topology_models/machines/registry.hpp"

namespace cclgym {

namespace {

// The record of a fabric option, under its name on the command line.
OptionSpec record(std::string_view key, std::string name) {
  const std::vector<OptionSpec>& all = fabric_spec_options();
  OptionSpec spec = *std::find_if(all.begin(), all.end(),
                                  [&](const OptionSpec& option) { return option.name == key; });
  spec.name = std::move(name);
  return spec;
}

struct Records {
  OptionSpec nodes = record("servers", "nodes");
  OptionSpec gpus = record("gpus", "gpus");
  OptionSpec gpus_per_node = record("gpus_per_server", "gpus-per-node");
  OptionSpec nic_binding = record("nic_binding", "nic-binding");
  OptionSpec oversubscription = record("oversubscription", "oversubscription");
  OptionSpec nodes_per_leaf = record("servers_per_leaf", "nodes-per-leaf");
  OptionSpec groups = record("groups", "groups");
  OptionSpec routing = record("routing", "routing");
  OptionSpec nvls = record("nvls", "nvls");
  OptionSpec sharp = record("sharp", "sharp");
};

const Records& records() {
  static const Records all;
  return all;
}

std::optional<int> number(const Arguments& arguments, const OptionSpec& spec) {
  if (!arguments.has(spec.name)) return std::nullopt;
  return static_cast<int>(
      read_integer(arguments.text(spec.name), spec, argument_location(spec.name)));
}

std::optional<bool> flag(const Arguments& arguments, const OptionSpec& spec) {
  if (!arguments.has(spec.name)) return std::nullopt;
  return read_flag(arguments.text(spec.name), spec, argument_location(spec.name));
}

FabricSpec spec_of(const std::string& name, const Arguments& arguments) {
  const Records& all = records();
  FabricSpec spec;
  spec.name = name;
  spec.servers = number(arguments, all.nodes);
  spec.gpus = number(arguments, all.gpus);
  spec.gpus_per_server = number(arguments, all.gpus_per_node);
  if (const std::string& key = all.nic_binding.name; arguments.has(key)) {
    spec.nic_binding = static_cast<NicBinding>(
        read_choice(arguments.text(key), all.nic_binding, argument_location(key)));
  }
  if (const std::string& key = all.oversubscription.name; arguments.has(key)) {
    spec.oversubscription =
        read_real(arguments.text(key), all.oversubscription, argument_location(key));
  }
  if (const std::string& key = all.routing.name; arguments.has(key)) {
    spec.routing =
        static_cast<Routing>(read_choice(arguments.text(key), all.routing, argument_location(key)));
  }
  spec.servers_per_leaf = number(arguments, all.nodes_per_leaf);
  spec.groups = number(arguments, all.groups);
  spec.nvls = flag(arguments, all.nvls);
  spec.sharp = flag(arguments, all.sharp);
  return spec;
}

}  // namespace

void add_fabric_options(ArgumentReader& reader) {
  reader.option(records().nodes, "N");
  reader.option(records().gpus, "N");
  reader.option(records().gpus_per_node, "N");
  reader.option(records().nic_binding, "NAME");
  reader.option(records().oversubscription, "RATIO");
  reader.option(records().nodes_per_leaf, "N");
  reader.option(records().groups, "N");
  reader.option(records().routing, "NAME");
  reader.option(records().nvls, "true|false");
  reader.option(records().sharp, "true|false");
}

std::shared_ptr<const Fabric> fabric_of(const std::string& name, const Arguments& arguments) {
  return make_fabric(spec_of(name, arguments));
}

std::string fabric_label_of(const std::string& name, const Arguments& arguments,
                            const Fabric& fabric) {
  return find_fabric_info(name) == nullptr ? fabric.name() : fabric_label(spec_of(name, arguments));
}

}  // namespace cclgym
