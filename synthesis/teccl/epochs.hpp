// Epochs of TE-CCL: a time grid coarser than the times of the links.
#pragma once

#include <cstdint>
#include <vector>

#include "synthesis/timed_schedule.hpp"

namespace cclgym::synthesis {

/// Link whose time for one chunk is the length of an epoch (TE-CCL, section 5.1).
enum class EpochChoice : std::uint8_t { FastestLink, SlowestLink };

/// Length of an epoch, s. Throws UserError if the instance has no limit or chunk_bytes <= 0.
[[nodiscard]] double epoch_length_s(const Instance& instance, double chunk_bytes,
                                    EpochChoice choice);

/// An instance on a grid of epochs: `timed` counts in epochs. A limit slower than a chunk per epoch
/// is occupied for a window of `timed.occupancy` epochs; a faster one carries `capacity` chunks per
/// epoch.
struct EpochGrid {
  TimedInstance timed{};
  std::vector<int> capacity{};  ///< chunks per window, by limit

  /// True if no limit carries more than one chunk per epoch: `timed` then says everything.
  [[nodiscard]] bool is_timed() const;
};

/// Rounds the times of an instance up to epochs of `epoch_s`. A latency below `latency_threshold`
/// epochs counts as none (TE-CCL's default: 0.1). Throws UserError if a length is not positive or a
/// time exceeds a million epochs.
[[nodiscard]] EpochGrid make_epoch_grid(const Instance& instance, double chunk_bytes,
                                        double epoch_s, double latency_threshold = 0.1);

}  // namespace cclgym::synthesis
