// Feeds arbitrary bytes to the reader of trained triggers (detectors of changes). Accepted triggers
// are written and read back as the same text.
#include "agents/trigger/trigger_file.hpp"
#include "fuzz_support.hpp"

FUZZ_TARGET(trigger) {
  using namespace cclgym;
  const std::string text(fuzz::text_of(data, size));
  fuzz::guarded([&] {
    const std::string written = triggers_text(read_trained_triggers(text, "fuzz.yaml"));
    if (triggers_text(read_trained_triggers(written, "written.yaml")) != written) std::abort();
  });
  fuzz::guarded([&] { (void)read_triggers(text, "fuzz.yaml"); });
  return 0;
}
