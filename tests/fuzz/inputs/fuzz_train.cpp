// Feeds arbitrary bytes to the reader of training files.
#include "agents/training/train_config.hpp"
#include "fuzz_support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cclgym;
  fuzz::guarded([&] {
    const TrainConfig config = read_train_config(std::string(fuzz::text_of(data, size)), "t.yaml");
    if (config.name.empty()) std::abort();
  });
  return 0;
}
