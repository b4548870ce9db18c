// Feeds arbitrary bytes to the reader of checkpoints, unchanged and, since the checksum would hide
// the rest from a fuzzer, with length and checksum corrected. An accepted checkpoint is written and
// read back as the same bytes.
#include "agents/training/checkpoint.hpp"
#include "core/hash.hpp"
#include "fuzz_support.hpp"

namespace {

void try_checkpoint(std::string_view bytes) {
  using namespace cclgym;
  fuzz::guarded([&] {
    const std::string written = write_checkpoint(read_checkpoint(bytes, "fuzz"));
    if (write_checkpoint(read_checkpoint(written, "again")) != written) std::abort();
  });
}

}  // namespace

FUZZ_TARGET(checkpoint) {
  using namespace cclgym;
  std::string bytes(fuzz::text_of(data, size));
  try_checkpoint(bytes);
  constexpr std::size_t kHead = 8 + 4 + 8;
  if (size < kHead + 8) return 0;
  const auto put = [&](std::size_t at, std::uint64_t value) {
    for (std::size_t i = 0; i < 8; ++i) {
      bytes[at + i] = static_cast<char>((value >> (8 * i)) & 0xffU);
    }
  };
  put(12, size - kHead - 8);
  put(size - 8, fnv1a(std::string_view(bytes).substr(kHead, size - kHead - 8)));
  try_checkpoint(bytes);
  return 0;
}
