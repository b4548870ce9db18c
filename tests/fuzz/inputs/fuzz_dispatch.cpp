// Feeds arbitrary bytes to the reader of dispatch tables. It may only throw UserError with a
// printable line, or return a table that is written and read back as the same text.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "fuzz_support.hpp"
#include "sim/tuners/dispatch_table.hpp"

FUZZ_TARGET(dispatch) {
  using namespace cclgym;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  DispatchTable table;
  try {
    table = parse_dispatch_table(text, "fuzz.yaml");
  } catch (const UserError& error) {
    const std::string_view message = error.what();
    if (message.empty() || message.size() > 2000) std::abort();
    for (const char c : message) {
      if (static_cast<unsigned char>(c) < 0x20) std::abort();
    }
    return 0;
  }
  for (const DispatchBlock& block : table.blocks) {
    for (std::size_t i = 0; i < block.ranges.size(); ++i) {
      if (block.ranges[i].from_bytes >= block.ranges[i].to_bytes) std::abort();
      if (i > 0 && block.ranges[i - 1].to_bytes > block.ranges[i].from_bytes) std::abort();
    }
  }
  const std::string written = to_yaml(table);
  if (to_yaml(parse_dispatch_table(written, "written.yaml")) != written) std::abort();
  return 0;
}
