#include "cli/programs/executor_notes.hpp"

#include <fmt/format.h>

#include "cli/support/print.hpp"
#include "collectives/library/program_entry.hpp"
#include "core/error.hpp"
#include "core/units.hpp"

namespace cclgym {

std::string hang_warning(const ThreadBlockProgram& program, std::string_view protocol) {
  const int slots = executor_slots(protocol);
  const std::optional<int> needed = min_slots_of(program);
  if (needed && *needed <= slots) return {};
  return fmt::format(
      "program '{}' hangs in the executor: with protocol {} a connection holds {} messages, and "
      "the "
      "program needs {}{}",
      program.name, protocol, slots, needed ? std::to_string(*needed) : "more than 8",
      needed ? "; protocol LL or LL128 has 8" : "");
}

void note_unused_size(const std::string& path, const XmlSettings& settings, std::uint64_t bytes) {
  if (settings.used_for(bytes)) return;
  print_error(
      "note: the executor does not use {} for calls of {}: minBytes is {} and maxBytes {}{}\n",
      quoted(path, 200), format_bytes(bytes), settings.min_bytes, max_bytes_attribute(settings),
      settings.dialect == XmlDialect::Microsoft ? ", below which microsoft/msccl uses a program"
                                                : "");
}

}  // namespace cclgym
