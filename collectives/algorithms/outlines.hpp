// Outlines of programs that are too large to trace. Internal to the library.
#pragma once

#include <optional>

#include "collectives/algorithms/algorithm_request.hpp"
#include "collectives/outline.hpp"

namespace cclgym::algorithms {

// Outlines that equal the result of outline_of for the compiled program. The request has been
// checked as for the tracing functions (algorithms.hpp). nullopt for the cases not covered: rings
// of fewer than three ranks or nodes, and blocks that neither fuse nor join the chunks they pass
// on. The caller sets the traits.
[[nodiscard]] std::optional<ProgramOutline> ring_outline(const AlgorithmRequest& request);
[[nodiscard]] std::optional<ProgramOutline> hierarchical_outline(const AlgorithmRequest& request);

/// Least divisor of `whole` such that all channels whose numbers differ by a multiple of it are
/// alike; `whole` if there is none below. `alike(k, other)` compares two of the `channels`.
template <typename Alike>
int least_period(int channels, int whole, const Alike& alike) {
  for (int period = 1; period < whole; ++period) {
    if (whole % period != 0) continue;
    int channel = period;
    while (channel < channels && alike(channel, channel % period)) ++channel;
    if (channel == channels) return period;
  }
  return whole;
}

}  // namespace cclgym::algorithms
