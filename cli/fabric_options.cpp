#include "cli/fabric_options.hpp"

#include <optional>

#include "topology_models/registry.hpp"

namespace cclgym {

namespace {

const OptionSpec kNodes{.name = "nodes",
                        .kind = OptionKind::Integer,
                        .description = "servers of the fabric",
                        .min = 1,
                        .max = 65536,
                        .default_text = "1"};
const OptionSpec kGpus{.name = "gpus",
                       .kind = OptionKind::Integer,
                       .description = "GPUs, for fabrics of any number",
                       .min = 1,
                       .max = 65536};

std::optional<int> number(const Arguments& arguments, const OptionSpec& spec) {
  if (!arguments.has(spec.name)) return std::nullopt;
  return static_cast<int>(
      read_integer(arguments.text(spec.name), spec, argument_location(spec.name)));
}

}  // namespace

void add_fabric_options(ArgumentReader& reader) {
  reader.option(kNodes, "N");
  reader.option(kGpus, "N");
}

std::shared_ptr<const Fabric> fabric_of(const std::string& name, const Arguments& arguments) {
  FabricSpec spec;
  spec.name = name;
  spec.servers = number(arguments, kNodes);
  spec.gpus = number(arguments, kGpus);
  return make_fabric(spec);
}

}  // namespace cclgym
