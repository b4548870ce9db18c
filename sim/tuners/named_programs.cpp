#include "sim/tuners/named_programs.hpp"

#include <filesystem>
#include <fmt/core.h>

#include "collectives/library/program_entry.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

const std::vector<OptionSpec>& program_options() {
  static const std::vector<OptionSpec> options{
      {.name = "file",
       .description = "file with the program in MSCCL XML, relative to the folder of this file",
       .required = true},
      {.name = "name",
       .description =
           "name of the program, which no algorithm has, to use like the name of an algorithm",
       .required = true},
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
  const std::filesystem::path path(program.file);
  if (!path.is_absolute()) {
    program.file = (std::filesystem::path(file.location().file).parent_path() / path).string();
  }
  std::error_code error;
  if (!std::filesystem::exists(program.file, error)) {
    throw UserError(file.location(),
                    fmt::format("program {} does not exist", quoted(program.file, 200)));
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
    throw UserError(program.where, fmt::format("a tuner is called {}; expected another name",
                                               quoted(program.name)));
  }
  AlgorithmEntry entry = read_program_entry(program.name, program.file, program.where);
  try {
    library.add(std::move(entry));
  } catch (const UserError& error) {
    throw UserError(program.where, error.what());
  }
}

}  // namespace cclgym
