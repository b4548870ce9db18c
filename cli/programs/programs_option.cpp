#include "cli/programs/programs_option.hpp"

#include <algorithm>
#include <string_view>

#include "core/error.hpp"
#include "sim/tuners/named_programs.hpp"

namespace cclgym {

void add_programs_option(ArgumentReader& reader) {
  reader.option("programs", "NAME=FILE,…",
                "programs in MSCCL XML, with names to use like those of algorithms");
}

AlgorithmLibrary library_of(const Arguments& arguments) {
  AlgorithmLibrary library = AlgorithmLibrary::shipped();
  if (!arguments.has("programs")) return library;
  const SourceLocation where = argument_location("programs");
  std::string_view rest = arguments.text("programs");
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == item.size()) {
      throw UserError(where, "found " + quoted(item) + "; expected NAME=FILE, e.g. ap=ap.xml");
    }
    add_program(library, {.file = std::string(item.substr(equals + 1)),
                          .name = std::string(item.substr(0, equals)),
                          .where = where});
    rest.remove_prefix(std::min(item.size() + 1, rest.size()));
  }
  return library;
}

}  // namespace cclgym
