// cclgym describe: prints the nodes, links and metrics of a fabric, the parameters of a cost model
// with their sources, or what NCCL printed about its communicators.
#include "topology_models/describe/describe.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calibration/debug_log/debug_log.hpp"
#include "cli/descriptions/cost_model_text.hpp"
#include "cli/descriptions/debug_log_text.hpp"
#include "cli/descriptions/fabric_json.hpp"
#include "cli/output/json_output.hpp"
#include "cli/support/command.hpp"
#include "cli/support/fabric_options.hpp"
#include "cli/support/print.hpp"
#include "core/files/text_file.hpp"
#include "topology_models/imported/fabric_source.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {

namespace {

void refuse_fabric_options(const Arguments& arguments, const std::vector<std::string>& options) {
  for (const std::string& option : options) {
    if (!arguments.has(option)) continue;
    throw UserError(argument_location(option), "is for `describe fabric`; leave it out");
  }
}

void describe_log(const Arguments& arguments) {
  const std::string& name = arguments.text("NAME");
  constexpr std::size_t kLargestLog = std::size_t{1} << 30U;
  const DebugLog log = read_debug_log(read_text_file(name, kLargestLog), name);
  if (wants_json(arguments)) {
    print_json(debug_log_json(log));
  } else {
    print_out("{}", debug_log_text(log, name));
  }
}

void describe_cost_model(const Arguments& arguments) {
  const ParameterSet set = named_parameter_set(arguments.text("NAME"));
  if (wants_json(arguments)) {
    print_json(cost_model_json(set));
  } else {
    print_out("{}", cost_model_text(set));
  }
}

void describe_one_fabric(const Arguments& arguments) {
  const std::string& name = arguments.text("NAME");
  const auto fabric = fabric_of(name, arguments);
  const FabricInfo* const info = find_fabric_info(name);
  if (info != nullptr && arguments.has("yaml")) {
    throw UserError(argument_location("yaml"),
                    fmt::format("is for a file that describes a node; '{}' is a shipped fabric, "
                                "which has no file",
                                name));
  }
  const bool json = wants_json(arguments);
  if (json) {
    print_json(fabric_json(*fabric, fabric_metrics(*fabric),
                           info != nullptr ? info->facts : std::vector<FabricFact>{}));
  } else {
    print_out("{}{}", describe_fabric(*fabric),
              info != nullptr ? describe_facts(info->facts) : std::string());
  }
  if (arguments.has("dot")) {
    const std::string& path = arguments.text("dot");
    write_text_file(path, to_dot(*fabric));
    if (!json) {
      print_out("\ndrawing in {}: render it with dot -Tsvg {} -o fabric.svg\n", path, path);
    }
  }
  if (arguments.has("yaml")) {
    const std::string& path = arguments.text("yaml");
    write_text_file(path,
                    fabric_file_text(name, fabric_spec_of(name, arguments).servers.value_or(1)));
    if (!json) print_out("\nfabric file in {}\n", path);
  }
}

int run_describe(const std::vector<std::string>& args) {
  ArgumentReader reader(describe_command());
  reader.positional("WHAT", "kind of thing to describe: fabric, cost-model or nccl-log")
      .positional("NAME",
                  "name of a fabric (cclgym list fabrics) or of a cost model (cclgym list "
                  "cost-models), or a file: a .yaml file, or for a fabric also NCCL's topology "
                  "(NCCL_TOPO_DUMP_FILE) or the output of nvidia-smi topo -m; for nccl-log, the "
                  "output of a run with NCCL_DEBUG=INFO");
  add_fabric_options(reader);
  reader.output("dot", "FILE", "drawing to write in Graphviz's format, for dot -Tsvg FILE")
      .output(
          "yaml", "FILE",
          "fabric file to write, for a NAME that is NCCL's topology or the output of nvidia-smi "
          "topo -m");
  const std::vector<std::string> of_fabrics = reader.names_besides({"WHAT", "NAME"});
  reader.flag("json", kJsonHelp);
  const auto arguments = reader.read(args);
  if (!arguments) return 0;
  const std::string& what = arguments->text("WHAT");
  if (what == "fabric") {
    describe_one_fabric(*arguments);
  } else if (what == "cost-model") {
    refuse_fabric_options(*arguments, of_fabrics);
    describe_cost_model(*arguments);
  } else if (what == "nccl-log") {
    refuse_fabric_options(*arguments, of_fabrics);
    describe_log(*arguments);
  } else {
    throw UserError(
        unknown_name_message("thing to describe", what, {"fabric", "cost-model", "nccl-log"}));
  }
  return 0;
}

}  // namespace

const Command& describe_command() {
  static const Command command{
      .name = "describe",
      .summary = "Describe a fabric, a cost model or the log of NCCL_DEBUG (rings, trees, choices)",
      .usage = "fabric|cost-model|nccl-log NAME [options]",
      .examples =
          "  cclgym describe fabric dgx1\n"
          "  cclgym describe fabric ndv4 --nodes 2 --dot ndv4.dot\n"
          "      two nodes, with a drawing for Graphviz\n"
          "  cclgym describe fabric frontier --nodes 256 --nic-binding "
          "single_nic\n"
          "  cclgym describe fabric my-fabric.yaml\n"
          "  cclgym describe fabric system.xml --nodes 4 --yaml my-fabric.yaml\n"
          "      four nodes as NCCL found one (NCCL_TOPO_DUMP_FILE=system.xml), and a fabric file\n"
          "  cclgym describe cost-model h100\n"
          "      every parameter with its value and where the value comes from\n"
          "  cclgym describe nccl-log job.log\n"
          "      rings, trees and channels of each communicator, what NCCL chose, and why: run "
          "the\n"
          "      job with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,GRAPH,TUNING\n",
      .run = run_describe};
  return command;
}

}  // namespace cclgym
