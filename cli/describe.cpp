// cclgym describe: prints the nodes, links and metrics of a fabric.
#include "topology_models/describe/describe.hpp"

#include "cli/support/command.hpp"
#include "cli/support/fabric_options.hpp"
#include "cli/support/print.hpp"
#include "core/files/text_file.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {

namespace {

int run_describe(const std::vector<std::string>& args) {
  ArgumentReader reader(describe_command());
  reader.positional("WHAT", "kind of thing to describe: fabric")
      .positional("NAME", "name of a fabric (cclgym list fabrics), or a .yaml file");
  add_fabric_options(reader);
  const auto arguments =
      reader.output("dot", "FILE", "drawing to write in Graphviz's format, for dot -Tsvg FILE")
          .read(args);
  if (!arguments) return 0;
  if (const std::string& what = arguments->text("WHAT"); what != "fabric") {
    throw UserError(unknown_name_message("thing to describe", what, {"fabric"}));
  }
  const auto fabric = fabric_of(arguments->text("NAME"), *arguments);
  print_out("{}", describe_fabric(*fabric));
  if (const FabricInfo* info = find_fabric_info(arguments->text("NAME"))) {
    print_out("{}", describe_facts(info->facts));
  }
  if (arguments->has("dot")) {
    const std::string& path = arguments->text("dot");
    write_text_file(path, to_dot(*fabric));
    print_out("\ndrawing in {}: render it with dot -Tsvg {} -o fabric.svg\n", path, path);
  }
  return 0;
}

}  // namespace

const Command& describe_command() {
  static const Command command{
      .name = "describe",
      .summary = "Describe a fabric: nodes, links, metrics, sources and a drawing",
      .usage = "fabric NAME [options]",
      .examples =
          "  cclgym describe fabric dgx1\n"
          "  cclgym describe fabric ndv4 --nodes 2 --dot ndv4.dot\n"
          "      two nodes, with a drawing for Graphviz\n"
          "  cclgym describe fabric frontier --nodes 256 --nic-binding "
          "single_nic\n"
          "  cclgym describe fabric my-fabric.yaml\n",
      .run = run_describe};
  return command;
}

}  // namespace cclgym
