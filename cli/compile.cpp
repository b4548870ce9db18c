// cclgym compile: writes a shipped algorithm or a program in MSCCL XML as XML of either dialect.
#include <fmt/core.h>
#include <memory>
#include <utility>

#include "cli/support/command.hpp"
#include "cli/support/print.hpp"
#include "collectives/library/algorithm_library.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "core/files/text_file.hpp"
#include "core/units.hpp"

namespace cclgym {

namespace {

OptionSpec number(const std::string& name, const std::string& description, double most,
                  const std::string& by_default) {
  return {.name = name,
          .kind = OptionKind::Integer,
          .description = description,
          .min = 1,
          .max = most,
          .default_text = by_default};
}

OptionSpec nodes_option() {
  OptionSpec option =
      number("nodes", "number of nodes, each with the same number of GPUs", 1024, "1");
  option.aliases = {"servers"};
  return option;
}

const OptionSpec kGpus = number("gpus", "total number of GPUs on all nodes", 1024, "");
const OptionSpec kNodes = nodes_option();
const OptionSpec kChannels = number("channels", "number of channels", 1024, "1");
const OptionSpec kInstances = number(
    "instances", "number of copies of the program, each with its part of the data", 1024, "1");
const OptionSpec kSlots = number(
    "slots", "number of messages that fit on a connection; with 1, nothing is fused", 8, "2");
const OptionSpec kRoot{.name = "root",
                       .kind = OptionKind::Integer,
                       .description = "root rank of a rooted collective",
                       .min = 0,
                       .max = 999'999,
                       .default_text = "0"};

int integer_of(const Arguments& arguments, const OptionSpec& spec) {
  return static_cast<int>(arguments.integer(spec));
}

AlgorithmRequest request_of(const Arguments& arguments) {
  AlgorithmRequest request;
  request.collective =
      collective_named(arguments.required("collective"), argument_location("collective"));
  static_cast<void>(arguments.required("gpus"));
  request.ranks = integer_of(arguments, kGpus);
  request.channels = integer_of(arguments, kChannels);
  request.root = integer_of(arguments, kRoot);
  if (arguments.has("root") && !is_rooted(request.collective)) {
    throw UserError(argument_location("root"),
                    fmt::format("{} has no root", to_string(request.collective)));
  }
  const int nodes = integer_of(arguments, kNodes);
  if (request.ranks % nodes != 0) {
    throw UserError(argument_location("nodes"),
                    fmt::format("found {} nodes for {} GPUs; expected a divisor of the number of "
                                "GPUs",
                                nodes, request.ranks));
  }
  request.ranks_per_server = request.ranks / nodes;
  request.compile =
      deployed_compile_options(AlgorithmLibrary::shipped().at(arguments.text("ALGORITHM")));
  request.compile.slots = integer_of(arguments, kSlots);
  request.compile.instances = integer_of(arguments, kInstances);
  if (arguments.has("policy")) {
    const std::string& policy = arguments.text("policy");
    if (policy != "interleaved" && policy != "batched") {
      throw UserError(argument_location("policy"),
                      unknown_name_message("policy", policy, {"interleaved", "batched"}));
    }
    if (policy == "batched") request.compile.policy = InstancePolicy::Batched;
  }
  return request;
}

// Program from a file, with the settings that it has.
std::shared_ptr<const ThreadBlockProgram> program_of_file(const Arguments& arguments,
                                                          XmlSettings& settings) {
  for (const char* option :
       {"collective", "gpus", "nodes", "channels", "instances", "policy", "slots", "root"}) {
    if (arguments.has(option)) {
      throw UserError(argument_location(option), "comes with the program; leave it out");
    }
  }
  XmlProgram file = read_msccl_xml_file(arguments.text("ALGORITHM"));
  settings = file.settings;
  return std::make_shared<const ThreadBlockProgram>(std::move(file.program));
}

// Overrides the settings of a file with those of the options.
void read_settings(const Arguments& arguments, XmlSettings& settings) {
  if (arguments.has("protocol")) settings.protocol = arguments.text("protocol");
  if (arguments.has("dialect")) {
    const auto dialect = parse_xml_dialect(arguments.text("dialect"));
    if (!dialect) {
      throw UserError(
          argument_location("dialect"),
          unknown_name_message("dialect", arguments.text("dialect"), {"microsoft", "azure"}));
    }
    settings.dialect = *dialect;
    // Clears the settings that the other dialect cannot express.
    if (*dialect == XmlDialect::Microsoft) settings.also_in_place = false;
    if (*dialect == XmlDialect::Azure) settings.threads = 0;
  }
  const auto bytes = [&](const char* name, std::uint64_t& value) {
    if (!arguments.has(name)) return;
    value = parse_bytes(arguments.text(name), name, argument_location(name));
  };
  bytes("min-bytes", settings.min_bytes);
  bytes("max-bytes", settings.max_bytes);
}

int compile_algorithm(const std::vector<std::string>& args) {
  const auto arguments =
      ArgumentReader(compile_command())
          .positional("ALGORITHM",
                      "name of an algorithm (cclgym list algorithms), or a program in MSCCL XML "
                      "(FILE.xml) to write again in the other dialect or with other settings")
          .option("collective", "C", "name of the collective (cclgym list collectives)")
          .option(kGpus, "N")
          .option(kNodes, "M")
          .option(kChannels, "K")
          .option(kInstances, "R")
          .option(
              "policy", "P",
              "assignment of chunks to instances: interleaved or batched [default: interleaved]")
          .option(kSlots, "S")
          .option(kRoot, "R")
          .option("protocol", "P",
                  "protocol: Simple, LL or LL128 [default: Simple, or that of the file]")
          .option(
              "dialect", "D",
              "dialect of the XML: microsoft or azure [default: microsoft, or that of the file]")
          .option("min-bytes", "SIZE", "min size of the calls that use the program [default: 0B]")
          .option("max-bytes", "SIZE",
                  "max size of the calls that use the program [default: 128MiB]")
          .output("out", "FILE", "XML file to write")
          .read(args);
  if (!arguments) return 0;
  const std::string& algorithm = arguments->text("ALGORITHM");
  const std::string& path = arguments->required("out");
  XmlSettings settings;
  const bool from_file = algorithm.ends_with(".xml");
  const auto program = from_file ? program_of_file(*arguments, settings)
                                 : build_algorithm(AlgorithmLibrary::shipped().at(algorithm),
                                                   request_of(*arguments));
  read_settings(*arguments, settings);
  write_text_file(path, to_msccl_xml(*program, settings));
  print_out("{}: {} {} for {} GPUs, {} channel{}, {} thread blocks, {} steps\n", path,
            program->name, program->contract.name(), program->contract.ranks(), program->channels,
            program->channels == 1 ? "" : "s", program->thread_blocks(), msccl_steps(*program));
  return 0;
}

}  // namespace

const Command& compile_command() {
  static const Command command{
      .name = "compile",
      .summary = "Compile an algorithm to MSCCL XML",
      .usage = "ALGORITHM --collective C --gpus N --out FILE | FILE.xml --out FILE [options]",
      .examples =
          "  cclgym compile spread-ring --collective allreduce --gpus 8 --channels 8 --instances 4 "
          "\\\n"
          "      --protocol LL128 --out ring.xml\n"
          "  cclgym compile two-step --collective alltoall --gpus 32 --nodes 4 --dialect azure "
          "\\\n"
          "      --out two-step.xml\n"
          "  cclgym compile two-step.xml --dialect microsoft --max-bytes 1GiB --out ms.xml\n"
          "      the same program for the other executor, for calls of up to 1 GiB\n",
      .run = compile_algorithm};
  return command;
}

}  // namespace cclgym
