// cclgym describe: what a fabric looks like.
#include "topology_models/describe.hpp"

#include <fmt/core.h>

#include "cli/command.hpp"
#include "core/text_file.hpp"
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

int describe(const std::vector<std::string>& args) {
  const auto arguments =
      ArgumentReader(describe_command())
          .positional("WHAT", "what to describe: fabric")
          .positional("NAME", "a fabric's name (cclgym list fabrics) or a .yaml file")
          .option(kNodes, "N")
          .option(kGpus, "N")
          .option("dot", "FILE", "also write a drawing for Graphviz: dot -Tsvg FILE")
          .read(args);
  if (!arguments) return 0;
  if (const std::string& what = arguments->text("WHAT"); what != "fabric") {
    throw UserError(unknown_name_message("thing to describe", what, {"fabric"}));
  }
  FabricSpec spec;
  spec.name = arguments->text("NAME");
  const auto number = [&](const OptionSpec& option) -> std::optional<int> {
    if (!arguments->has(option.name)) return std::nullopt;
    return static_cast<int>(
        read_integer(arguments->text(option.name), option, argument_location(option.name)));
  };
  spec.servers = number(kNodes);
  spec.gpus = number(kGpus);
  const auto fabric = make_fabric(spec);
  fmt::print("{}", describe_fabric(*fabric));
  if (arguments->has("dot")) {
    const std::string& path = arguments->text("dot");
    write_text_file(path, to_dot(*fabric));
    fmt::print("\ndrawing in {}: render it with dot -Tsvg {} -o fabric.svg\n", path, path);
  }
  return 0;
}

}  // namespace

const Command& describe_command() {
  static const Command command{.name = "describe",
                               .summary = "describe a fabric: nodes, links, metrics, drawing",
                               .usage = "fabric NAME [options]",
                               .examples =
                                   "  cclgym describe fabric dgx1\n"
                                   "  cclgym describe fabric ndv4 --nodes 2 --dot ndv4.dot\n"
                                   "      two servers, with a drawing for Graphviz\n"
                                   "  cclgym describe fabric my-fabric.yaml\n",
                               .run = describe};
  return command;
}

}  // namespace cclgym
