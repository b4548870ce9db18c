// Feeds arbitrary bytes to the reader of certificates of schedule synthesis, unchanged and, since
// the checksum would hide the rest from a fuzzer, with the checksum corrected. What is accepted is
// checked as `cclgym check-certificate` checks it.
#include "core/hash.hpp"
#include "fuzz_support.hpp"
#include "synthesis/certificates/certificate_file.hpp"
#include "synthesis/certificates/check_certificate.hpp"

namespace {

void try_certificate(std::string_view text) {
  using namespace cclgym;
  fuzz::guarded([&] {
    const auto read = synthesis::read_certificate(text, "fuzz.json");
    if (synthesis::certificate_text(read) != text) std::abort();
    (void)synthesis::check_certificate(*read.fabric, read.certificate);
  });
}

}  // namespace

FUZZ_TARGET(certificate) {
  using namespace cclgym;
  std::string text(fuzz::text_of(data, size));
  try_certificate(text);
  // The checksum is the last text in quotes.
  const std::size_t key = text.rfind("  \"checksum\"");
  const std::size_t digits = text.rfind('"');
  if (key == std::string::npos || digits < 16 || digits - 16 < key) return 0;
  const std::string sum = hex_digits(fnv1a(std::string_view(text).substr(0, key)));
  for (std::size_t i = 0; i < 16; ++i) text[digits - 16 + i] = sum[i];
  try_certificate(text);
  return 0;
}
