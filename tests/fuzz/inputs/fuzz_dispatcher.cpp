// Feeds arbitrary bytes to the reader of PCCL's dispatchers (support vector machines). An accepted
// one is written and read back as the same text, and chooses one of its backends.
#include "fuzz_support.hpp"
#include "sim/dispatchers/dispatcher.hpp"

FUZZ_TARGET(dispatcher) {
  using namespace cclgym;
  fuzz::guarded([&] {
    const Dispatcher read = parse_dispatcher(fuzz::text_of(data, size), "fuzz.yaml");
    const std::string written = to_yaml(read);
    if (to_yaml(parse_dispatcher(written, "written.yaml")) != written) std::abort();
    for (const CollectiveDispatcher& part : read.collectives) {
      if (part.choose(1 << 20, 8) >= read.backends.size()) std::abort();
    }
  });
  return 0;
}
