// cclgym verify: is an MSCCL XML program legal, and does it compute its collective?
#include "collectives/verify.hpp"

#include <fmt/core.h>

#include "cli/command.hpp"
#include "collectives/interpreter.hpp"
#include "collectives/msccl_xml.hpp"

namespace cclgym {

namespace {

constexpr int kWrong = 1;

const OptionSpec kInterleavings{.name = "interleavings",
                                .kind = OptionKind::Integer,
                                .description = "with --execute: orders of execution to try",
                                .min = 1,
                                .max = 1000000,
                                .default_text = "16"};
const OptionSpec kSeed{.name = "seed",
                       .kind = OptionKind::Integer,
                       .description = "with --execute: of the orders and the data",
                       .min = 0,
                       .default_text = "0"};
const OptionSpec kSlots{.name = "slots",
                        .kind = OptionKind::Integer,
                        .description = "messages that fit on a connection",
                        .min = 1,
                        .max = 8,
                        .default_text = "2"};

std::int64_t integer_of(const Arguments& arguments, const OptionSpec& spec) {
  const std::string& text =
      arguments.has(spec.name) ? arguments.text(spec.name) : spec.default_text;
  return read_integer(text, spec, argument_location(spec.name));
}

int verify_file(const std::vector<std::string>& args) {
  const auto arguments =
      ArgumentReader(verify_command())
          .positional("FILE", "an MSCCL XML file, of either dialect")
          .flag("execute", "also execute it on numbers, thread blocks interleaved at random")
          .option(kInterleavings, "N")
          .option(kSeed, "S")
          .option(kSlots, "K")
          .read(args);
  if (!arguments) return 0;
  const std::string& path = arguments->text("FILE");
  ExecuteOptions execution{
      .interleavings = static_cast<int>(integer_of(*arguments, kInterleavings)),
      .seed = static_cast<std::uint64_t>(integer_of(*arguments, kSeed)),
      .slots = static_cast<std::int32_t>(integer_of(*arguments, kSlots))};

  const XmlProgram read = read_msccl_xml_file(path);
  const ThreadBlockProgram& program = read.program;
  fmt::print("{}: {} {} for {} GPUs, {} channel{}, {} thread blocks, {} steps\n", path,
             program.name, program.contract.name(), program.contract.ranks(), program.channels,
             program.channels == 1 ? "" : "s", program.thread_blocks(), program.instructions());
  const VerifyReport report = verify(program, {.slots = execution.slots});
  if (!report.ok) {
    fmt::print("wrong:\n{}", report.to_string());
    return kWrong;
  }
  if (program.contract.kind() == CollectiveKind::Custom) {
    fmt::print(
        "right: no races, deadlocks or unmatched messages (custom: it requires no result)\n");
  } else {
    fmt::print("right: computes {} in every order of execution\n", program.contract.name());
  }
  if (!arguments->has("execute")) return 0;
  const ExecuteReport executed = execute(program, execution);
  if (!executed.ok) {
    fmt::print("wrong when executed, interleaving {}:\n{}", executed.interleavings,
               executed.to_string());
    return kWrong;
  }
  fmt::print("executed {} interleaving{} with {} slot{}: right\n", executed.interleavings,
             executed.interleavings == 1 ? "" : "s", execution.slots,
             execution.slots == 1 ? "" : "s");
  return 0;
}

}  // namespace

const Command& verify_command() {
  static const Command command{
      .name = "verify",
      .summary = "check that an MSCCL XML program is legal and computes its collective",
      .usage = "FILE [options]",
      .examples =
          "  cclgym verify allreduce.xml\n"
          "      exit code 0: right; 1: wrong, with the reasons; 2: no legal file\n"
          "  cclgym verify allreduce.xml --execute --interleavings 100 --slots 8\n"
          "      also executes it on numbers, 100 times\n",
      .run = verify_file};
  return command;
}

}  // namespace cclgym
