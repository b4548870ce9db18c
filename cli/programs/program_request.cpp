#include "cli/programs/program_request.hpp"

#include <fmt/core.h>

#include "collectives/library/algorithm_library.hpp"

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
const OptionSpec kRoot{.name = "root",
                       .kind = OptionKind::Integer,
                       .description = "root rank of a rooted collective",
                       .min = 0,
                       .max = 999'999,
                       .default_text = "0"};

int integer_of(const Arguments& arguments, const OptionSpec& spec) {
  return static_cast<int>(arguments.integer(spec));
}

AlgorithmRequest request_of(const Arguments& arguments, const AlgorithmEntry& algorithm,
                            int slots) {
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
  request.compile = deployed_compile_options(algorithm);
  request.compile.slots = slots;
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

}  // namespace

void add_program_request(ArgumentReader& reader) {
  reader.option("collective", "C", "name of the collective (cclgym list collectives)")
      .option(kGpus, "N")
      .option(kNodes, "M")
      .option(kChannels, "K")
      .option(kInstances, "R")
      .option("policy", "P",
              "assignment of chunks to instances: interleaved or batched [default: interleaved]")
      .option(kRoot, "R");
}

void refuse_program_request(const Arguments& arguments) {
  for (const char* option :
       {"collective", "gpus", "nodes", "channels", "instances", "policy", "root"}) {
    if (arguments.has(option)) {
      throw UserError(argument_location(option), "comes with the program; leave it out");
    }
  }
}

std::shared_ptr<const ThreadBlockProgram> requested_program(const Arguments& arguments,
                                                            const std::string& name, int slots) {
  AlgorithmLibrary library = AlgorithmLibrary::shipped();
  library.add_spelled(arguments.text(name));
  const AlgorithmEntry& algorithm = library.at(arguments.text(name));
  return build_algorithm(algorithm, request_of(arguments, algorithm, slots));
}

}  // namespace cclgym
