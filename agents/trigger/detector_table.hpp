// The detectors of a training run side by side.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "agents/trigger/trigger.hpp"

namespace cclgym {

struct SeedTrigger {
  std::uint64_t seed = 0;
  TrainedTrigger trained;
};

/// A table of the held-out results, with one line per seed, environment and detector. Empty if all
/// detectors have the same form.
[[nodiscard]] std::string detector_table(std::span<const SeedTrigger> triggers);

}  // namespace cclgym
