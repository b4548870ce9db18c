// The number of epochs that suffices for TE-CCL's program (Algorithm 1, section 4.3).
#pragma once

#include <optional>
#include <vector>

#include "synthesis/teccl/epoch_program.hpp"

namespace cclgym::synthesis {

struct EpochBoundOptions {
  std::vector<int> epoch_counts{4, 8, 12};  ///< n_e, ascending
  double growth = 1.25;                     ///< factor between candidates, > 1
  int max_candidates = 40;
  Deadline deadline{};  ///< a test without an answer counts as infeasible
};

struct EpochBound {
  double completion_s = 0;  ///< first candidate C_tau with a schedule
  int epoch_count = 0;      ///< smallest n_e that found one in epochs of completion_s / n_e
  int estimate = 0;         ///< completion_s in epochs of the requested length, rounded up
  /// Epochs of the requested length in which the found schedule fits if its sends start one by one
  /// as early as possible: proven to suffice.
  int sufficient = 0;
  TimedSchedule schedule{};  ///< in epochs of the requested length
  int programs = 0;          ///< number of feasibility tests
};

/// Tests candidate completion times, ascending from the distances, each with few and therefore long
/// epochs: a program of 4 to 12 epochs is small. A binary search takes the smallest epoch count
/// that has a schedule. All times are rounded up, so that a schedule in long epochs is one in real
/// time. Nothing if no candidate has one. Throws UserError for settings out of range.
[[nodiscard]] std::optional<EpochBound> find_epoch_bound(const Instance& instance,
                                                         double chunk_bytes, const Demand& demand,
                                                         double epoch_s,
                                                         const EpochBoundOptions& options = {});

}  // namespace cclgym::synthesis
