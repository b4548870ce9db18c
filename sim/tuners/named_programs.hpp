// Programs that a document names: `{file: ap.xml, name: ap}` may replace an algorithm's name.
#pragma once

#include <string>
#include <vector>

#include "collectives/ir.hpp"
#include "collectives/library/algorithm_library.hpp"
#include "core/error.hpp"
#include "core/options/option.hpp"
#include "core/yaml/yaml.hpp"

namespace cclgym {

/// A program in MSCCL XML and the name under which a document uses it.
struct NamedProgram {
  std::string file{};  ///< path relative to the working directory
  std::string name{};
  /// Content that the file must have (program_hash); empty: any.
  std::string hash{};
  CostTraits traits{};  ///< the software that carries out the program
  SourceLocation where{};
  SourceLocation hash_where{};
  friend bool operator==(const NamedProgram& one, const NamedProgram& other) {
    return one.file == other.file && one.name == other.name && one.traits == other.traits;
  }
};

/// Keys of a program: file, name, hash, and the traits runtime, initiator, copy and direct.
[[nodiscard]] const std::vector<OptionSpec>& program_options();

/// Reads `{file:, name:, hash:, runtime:, initiator:, copy:, direct:}`; a relative path is relative
/// to the folder of the document. Throws UserError at the place of a wrong key, and if the file
/// does not exist or is a folder.
[[nodiscard]] NamedProgram read_named_program(const YamlValue& item);
/// Reads the programs of a list, which may be null.
[[nodiscard]] std::vector<NamedProgram> read_named_programs(const YamlValue& list);

/// Reads the file, verifies the program and adds it to the library. Throws UserError at the place
/// of an error in the XML file, at program.hash_where if the content of the file does not have the
/// hash, and at program.where if the name is taken (also by a tuner) or not valid, if the file
/// cannot be read, or if the program is wrong or reduces although DMA engines move its messages.
void add_program(AlgorithmLibrary& library, const NamedProgram& program);

/// The keys of traits that differ from the default, to go inside a flow mapping after another key:
/// ", runtime: sccl, direct: true"; empty if none does.
[[nodiscard]] std::string traits_yaml(const CostTraits& traits);

}  // namespace cclgym
