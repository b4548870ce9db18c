// Feeds arbitrary bytes to the reader of noise profiles. An accepted profile has numbers that a
// simulation can use.
#include <cmath>

#include "core/yaml/yaml.hpp"
#include "fuzz_support.hpp"
#include "sim/noise/noise_profile.hpp"

FUZZ_TARGET(noise) {
  using namespace cclgym;
  fuzz::guarded([&] {
    const YamlLimits limits{.bytes = 1 << 16, .nodes = 500, .depth = 16};
    const NoiseProfile profile =
        read_noise_profile(parse_yaml(fuzz::text_of(data, size), "fuzz.yaml", limits));
    for (const LinkLoad& load : profile.load) {
      if (load.any() && !(load.correlation_s > 0 && std::isfinite(load.correlation_s))) {
        std::abort();
      }
      for (const LinkLoad::State& state : load.states) {
        if (!(state.capacity > 0 && state.capacity <= 1 && state.share >= 0)) std::abort();
      }
    }
    for (const MessageJitter& jitter : profile.jitter) {
      if (!(jitter.median_s >= 0 && std::isfinite(jitter.median_s) && jitter.tail_shape > 0)) {
        std::abort();
      }
    }
    if (!(profile.slow_gpus.rate > 0) || !(profile.slow_gpus.all > 0)) std::abort();
    if (profile.background.pause_s < 0) std::abort();
    if (profile.canonical_text().empty()) std::abort();
  });
  return 0;
}
