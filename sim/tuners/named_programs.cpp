#include "sim/tuners/named_programs.hpp"

#include <filesystem>
#include <fmt/core.h>
#include <memory>
#include <utility>

#include "collectives/library/program_entry.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

namespace {

std::string read_hash(const YamlValue& value, const OptionSpec& spec) {
  constexpr std::size_t kDigits = 16;
  std::string hash = read_text(value, spec);
  if (hash.size() == kDigits && hash.find_first_not_of("0123456789abcdef") == std::string::npos) {
    return hash;
  }
  throw UserError(value.location(), fmt::format("hash is {}; expected {} lower-case hex digits",
                                                quoted(hash), kDigits));
}

// Values of the keys, in the order of the enumerations.
const std::vector<std::string> kInitiators{"push", "pull"};
const std::vector<std::string> kEngines{"kernel", "dma"};
const std::vector<std::string> kRuntimes{"interpreter", "sccl"};  // from Runtime::Interpreter on

// Refuses a file whose program is no longer the one that the document means.
void check_hash(const NamedProgram& program, const std::string& found) {
  if (program.hash.empty() || program.hash == found) return;
  throw UserError(program.hash_where,
                  fmt::format("program '{}' has changed: {} has hash {}, and this file was written "
                              "for {}; run the sweep and tune-dispatch again, or set hash to {} to "
                              "use the changed program as it is",
                              program.name, quoted(program.file, 200), found, program.hash, found));
}

bool reduces_data(const ThreadBlockProgram& program) {
  for (const GpuProgram& gpu : program.gpus) {
    for (const ThreadBlock& block : gpu.thread_blocks) {
      for (const Instruction& step : block.steps) {
        if (reduces(step.opcode)) return true;
      }
    }
  }
  return false;
}

}  // namespace

const std::vector<OptionSpec>& program_options() {
  static const std::vector<OptionSpec> options{
      {.name = "file",
       .description = "file with the program in MSCCL XML, relative to the folder of this file",
       .required = true},
      {.name = "name",
       .description =
           "name of the program, which no algorithm has, to use like the name of an algorithm",
       .required = true},
      {.name = "hash",
       .description = "hash of the program's steps, 16 hex digits, which tune-dispatch writes: a "
                      "file with other steps is refused; default: any steps"},
      {.name = "runtime",
       .kind = OptionKind::Choice,
       .description = "software that runs the program: MSCCL's interpreter, or a kernel that SCCL "
                      "generates for it",
       .default_text = kRuntimes.front(),
       .choices = kRuntimes},
      {.name = "initiator",
       .kind = OptionKind::Choice,
       .description =
           "side that moves data inside a node: the sender (push) or the receiver (pull)",
       .default_text = kInitiators.front(),
       .choices = kInitiators},
      {.name = "copy",
       .kind = OptionKind::Choice,
       .description = "hardware that moves data inside a node: threads of the kernel, or DMA "
                      "engines, to which the host gives each message",
       .default_text = kEngines.front(),
       .choices = kEngines},
      {.name = "direct",
       .kind = OptionKind::Flag,
       .description = "true if messages go to their place in the receiver's buffers, not through "
                      "slots of a FIFO",
       .default_text = "false"},
  };
  return options;
}

NamedProgram read_named_program(const YamlValue& item) {
  const std::vector<OptionSpec>& specs = program_options();
  check_keys(item, specs, "program");
  const YamlValue file = option_value(item, specs[0]);
  const YamlValue name = option_value(item, specs[1]);
  NamedProgram program{.file = read_text(file, specs[0]),
                       .name = read_text(name, specs[1]),
                       .where = item.location()};
  if (const YamlValue hash = option_value(item, specs[2]); !hash.is_null()) {
    program.hash = read_hash(hash, specs[2]);
    program.hash_where = hash.location();
  }
  const auto choice = [&](std::string_view key) {
    const OptionSpec& spec = find_option(specs, key);
    return read_choice(option_value(item, spec), spec);
  };
  program.traits = {
      .runtime = choice("runtime") == 0 ? Runtime::Interpreter : Runtime::Sccl,
      .initiator = choice("initiator") == 0 ? Initiator::Push : Initiator::Pull,
      .copy = choice("copy") == 0 ? CopyEngine::Kernel : CopyEngine::Dma,
      .direct = read_flag(option_value(item, specs.back()), specs.back()),
  };
  const std::filesystem::path path(program.file);
  if (!path.is_absolute()) {
    program.file = (std::filesystem::path(file.location().file).parent_path() / path).string();
  }
  std::error_code error;
  if (!std::filesystem::exists(program.file, error)) {
    throw UserError(file.location(),
                    fmt::format("program {} does not exist", quoted(program.file, 200)));
  }
  if (std::filesystem::is_directory(program.file, error)) {
    throw UserError(file.location(), fmt::format("program {} is a folder; expected a file in MSCCL "
                                                 "XML",
                                                 quoted(program.file, 200)));
  }
  return program;
}

std::vector<NamedProgram> read_named_programs(const YamlValue& list) {
  std::vector<NamedProgram> programs;
  if (list.is_null()) return programs;
  if (list.is_mapping()) return {read_named_program(list)};
  for (const YamlValue& item : list.items()) programs.push_back(read_named_program(item));
  return programs;
}

void add_program(AlgorithmLibrary& library, const NamedProgram& program) {
  if (is_tuner(program.name)) {
    throw UserError(program.where, fmt::format("{} is the name of a tuner; expected another name "
                                               "for the program",
                                               quoted(program.name)));
  }
  AlgorithmEntry entry = read_program_entry(program.name, program.file, program.where);
  if (program.traits != CostTraits{}) {
    ThreadBlockProgram with_traits = *entry.program;
    with_traits.traits = entry.traits = program.traits;
    if (program.traits.copy == CopyEngine::Dma && reduces_data(with_traits)) {
      throw UserError(program.where,
                      fmt::format("program {} reduces data, which DMA engines cannot; expected "
                                  "copy: kernel",
                                  quoted(program.name)));
    }
    entry.program = std::make_shared<const ThreadBlockProgram>(std::move(with_traits));
  }
  check_hash(program, program_hash(*entry.program));
  try {
    library.add(std::move(entry));
  } catch (const UserError& error) {
    throw UserError(program.where, error.what());
  }
}

std::string traits_yaml(const CostTraits& traits) {
  std::string text;
  if (traits.runtime == Runtime::Sccl) text += ", runtime: sccl";
  if (traits.initiator == Initiator::Pull) text += ", initiator: pull";
  if (traits.copy == CopyEngine::Dma) text += ", copy: dma";
  if (traits.direct) text += ", direct: true";
  return text;
}

}  // namespace cclgym
