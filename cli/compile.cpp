// cclgym compile: writes a shipped algorithm or a program in MSCCL XML as XML of either dialect.
#include <fmt/core.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/output/json_output.hpp"
#include "cli/programs/executor_notes.hpp"
#include "cli/programs/program_request.hpp"
#include "cli/support/command.hpp"
#include "cli/support/print.hpp"
#include "collectives/library/algorithm_library.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "core/files/text_file.hpp"
#include "core/units.hpp"

namespace cclgym {

namespace {

const OptionSpec kSlots{
    .name = "slots",
    .kind = OptionKind::Integer,
    .description = "number of messages that fit on a connection; with 1, nothing is fused",
    .min = 1,
    .max = 8,
    .default_text = "2"};

// Program from a file, with the settings that it has.
std::shared_ptr<const ThreadBlockProgram> program_of_file(const Arguments& arguments,
                                                          XmlSettings& settings) {
  refuse_program_request(arguments);
  if (arguments.has("slots")) {
    throw UserError(argument_location("slots"), "comes with the program; leave it out");
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
  if (!arguments.has("max-bytes")) return;
  bytes("max-bytes", settings.end_bytes);
  settings.end_bytes = settings.end_bytes == 0 ? XmlSettings::kNoEnd : settings.end_bytes + 1;
}

// Largest size of the calls that use the program; null: no limit.
nlohmann::ordered_json max_bytes_json(const XmlSettings& settings) {
  if (settings.end_bytes == XmlSettings::kNoEnd) return nullptr;
  return settings.end_bytes - 1;
}

// Sizes are in bytes; those of `calls` limit the calls that use the program.
nlohmann::ordered_json compiled_json(const ThreadBlockProgram& program, const XmlSettings& settings,
                                     const std::string& path, std::size_t bytes) {
  return {{"path", path},
          {"bytes", bytes},
          {"program", program.name},
          {"collective", program.contract.name()},
          {"ranks", program.contract.ranks()},
          {"channels", program.channels},
          {"thread_blocks", program.thread_blocks()},
          {"steps", msccl_steps(program)},
          {"dialect", settings.dialect == XmlDialect::Azure ? "azure" : "microsoft"},
          {"protocol", settings.protocol},
          {"calls", {{"min_bytes", settings.min_bytes}, {"max_bytes", max_bytes_json(settings)}}}};
}

int compile_algorithm(const std::vector<std::string>& args) {
  ArgumentReader reader(compile_command());
  reader.positional("ALGORITHM",
                    "name of an algorithm (cclgym list algorithms), or a program in MSCCL XML "
                    "(FILE.xml) to write again in the other dialect or with other settings");
  add_program_request(reader);
  const auto arguments =
      reader.option(kSlots, "S")
          .option("protocol", "P",
                  "protocol: Simple, LL or LL128 [default: Simple, or that of the file]")
          .option(
              "dialect", "D",
              "dialect of the XML: microsoft or azure [default: microsoft, or that of the file]")
          .option("min-bytes", "SIZE", "min size of the calls that use the program [default: 0B]")
          .option("max-bytes", "SIZE",
                  "max size of the calls that use the program, included, whatever the dialect's "
                  "maxBytes means; 0B is no limit [default: below 128MiB]")
          .output("out", "FILE", "XML file to write")
          .flag("json", kJsonHelp)
          .read(args);
  if (!arguments) return 0;
  const std::string& algorithm = arguments->text("ALGORITHM");
  const std::string& path = arguments->required("out");
  XmlSettings settings;
  const bool from_file = algorithm.ends_with(".xml");
  const auto program = from_file ? program_of_file(*arguments, settings)
                                 : requested_program(*arguments, "ALGORITHM",
                                                     static_cast<int>(arguments->integer(kSlots)));
  read_settings(*arguments, settings);
  const std::string xml = to_msccl_xml(*program, settings);
  write_text_file(path, xml);
  print_warning(hang_warning(*program, settings.protocol));
  if (wants_json(*arguments)) {
    print_json(compiled_json(*program, settings, path, xml.size()));
    return 0;
  }
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
