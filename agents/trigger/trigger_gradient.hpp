// Loss of the learned trigger and its gradient, by back-propagation through time in plain loops:
// the network is so small that LibTorch would only cost time, and the bits are the same everywhere.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "deploy/trigger/learned_trigger.hpp"

namespace cclgym {

/// Calls from a start (or an alarm) to the next one.
struct TriggerSequence {
  std::vector<TriggerFeatureRow> inputs;
  std::vector<double> changed;  ///< 1 if the machine has changed since the start, else 0
};

/// Binary cross-entropy of the logits, nat, summed over the calls. Adds its gradient to `gradient`
/// [weights], unless that is empty.
[[nodiscard]] double trigger_loss(std::span<const double> weights, std::size_t units,
                                  const TriggerSequence& sequence, std::span<double> gradient);

}  // namespace cclgym
