// Feeds arbitrary bytes to the reader of loop files.
#include <cmath>

#include "calibration/loop/loop_config.hpp"
#include "fuzz_support.hpp"

FUZZ_TARGET(loop) {
  using namespace cclgym;
  fuzz::guarded([&] {
    const LoopConfig config = load_loop_config(fuzz::file_of(fuzz::text_of(data, size)));
    if (!(config.seconds > 0) || !std::isfinite(config.seconds) || config.compute_s < 0)
      std::abort();
    if (config.calls.empty()) std::abort();
  });
  return 0;
}
