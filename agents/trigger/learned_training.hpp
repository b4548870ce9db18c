// Training of the learned trigger on streams whose regimes are known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "agents/trigger/trigger.hpp"
#include "agents/trigger/trigger_gradient.hpp"
#include "core/random.hpp"

namespace cclgym {

struct LearnedTriggerTraining {
  std::size_t units = 8;
  std::size_t epochs = 60;  ///< passes over the streams, each with other alarms and made-up bytes
};

/// Cuts a stream into sequences. An alarm comes 1 to 32 calls after each change, and about every
/// 400 calls without one, as false alarms do; all are drawn.
[[nodiscard]] std::vector<TriggerSequence> trigger_sequences(const TriggerStream& stream,
                                                             double sigma, Random& random);

/// Weights by Adam on the binary cross-entropy of "has changed since the last alarm", one step per
/// stream and epoch. In half of the steps, the spread that is assumed at first is wrong by up to a
/// factor of 4.5. The threshold is not chosen. Deterministic. Throws std::runtime_error if a
/// gradient is not finite.
[[nodiscard]] LearnedTriggerParameters fit_trigger_weights(std::span<const TriggerStream> streams,
                                                           double sigma,
                                                           const LearnedTriggerTraining& training,
                                                           std::uint64_t seed);

/// The threshold, the number of calls that confirm, and the pause after an alarm with which most
/// changes are found soonest, with fewer than `false_alarms_per_1000`; by grid search with the
/// score of train_trigger. Of equal scores, the one with the lower 90th percentile of delays, then
/// with the higher threshold.
[[nodiscard]] LearnedTriggerParameters choose_threshold(LearnedTriggerParameters parameters,
                                                        std::span<const TriggerStream> streams,
                                                        double false_alarms_per_1000);

}  // namespace cclgym
