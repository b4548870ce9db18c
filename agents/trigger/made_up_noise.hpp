// Noise and counts that streams of the gym lack in comparison with real machines. All numbers are
// set by hand.
#pragma once

#include "agents/trigger/trigger.hpp"
#include "core/random.hpp"

namespace cclgym {

/// A stream with made-up counts of bytes, since the gym counts none that tell more than a call's
/// time. In half of the streams there are none. In the others, each regime moves ln(bytes) by
/// nothing or by 3 to 12 of the bytes' sigmas (0.01 to 0.1, drawn for the stream); in a quarter of
/// all, each regime moves it, and times are replaced by noise that shows no change.
[[nodiscard]] TriggerStream with_made_up_bytes(const TriggerStream& stream, double sigma,
                                               Random& random);

/// A stream with noise as on real networks, none of which is fitted to a measurement:
///   * more jitter: sigmas of ln(time) of 0.02 to 0.2, drawn for the stream, times 0.5 to 2, drawn
///     for each class;
///   * late calls: a share of 0.001 to 0.05 of all, by an exponential number with mean 0.5;
///   * alternating times: a quarter of the kinds have two levels, 0.1 to 0.5 apart, and change
///     between them with a probability of 0.05 to 0.5 per call.
[[nodiscard]] TriggerStream with_rough_noise(const TriggerStream& stream, Random& random);

}  // namespace cclgym
