// Feeds arbitrary bytes to the MSCCL XML importer. It may only throw UserError with a short
// printable line. An accepted input must be written and read again to the same bytes, and be
// accepted by the verifier.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "collectives/msccl/msccl_xml.hpp"
#include "collectives/verifier/interpreter.hpp"
#include "collectives/verifier/verify.hpp"
#include "core/error.hpp"
#include "fuzz_support.hpp"

namespace {

using namespace cclgym;

// Runs `call`, which may only return or throw a well-formed UserError.
template <typename Call>
void guarded_xml(Call call) {
  try {
    call();
  } catch (const UserError& error) {
    const std::string_view message = error.what();
    if (message.empty() || message.size() > 1000) std::abort();
    for (const char c : message) {
      if (static_cast<unsigned char>(c) < 0x20) std::abort();
    }
  }
}

std::int64_t chunks_of(const ThreadBlockProgram& program) {
  std::int64_t total = 0;
  for (const GpuProgram& gpu : program.gpus) {
    total += gpu.input_chunks + gpu.output_chunks + gpu.scratch_chunks;
  }
  return total;
}

}  // namespace

FUZZ_TARGET(msccl_xml) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  guarded_xml([&] {
    const XmlProgram read = parse_msccl_xml(text, "fuzz.xml");
    std::string written;
    try {
      written = to_msccl_xml(read.program, read.settings);
    } catch (const UserError&) {
      return;  // e.g. a name that needs escapes
    }
    const XmlProgram again = parse_msccl_xml(written, "again.xml");
    if (to_msccl_xml(again.program, again.settings) != written) std::abort();
    if (chunks_of(read.program) > 4096) return;  // keeps each input cheap
    const bool right = verify(read.program, {.slots = 8}).ok;
    if (right && !execute(read.program, {.interleavings = 2, .slots = 8}).ok) std::abort();
  });
  return 0;
}
