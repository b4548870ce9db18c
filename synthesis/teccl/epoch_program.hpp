// TE-CCL's mixed-integer program (section 3.1): flows F, buffers B and deliveries R per epoch.
#pragma once

#include <vector>

#include "synthesis/demand.hpp"
#include "synthesis/solvers/mixed_integer_program.hpp"
#include "synthesis/teccl/epochs.hpp"

namespace cclgym::synthesis {

/// A chunk on its way to a rank, which it reaches at an epoch of the next round.
struct LateArrival {
  int chunk = 0;
  int rank = 0;
  int epoch = 0;
};

/// State at the start of a round; by default only the sources hold their chunks.
struct EpochState {
  std::vector<std::vector<char>> held{};  ///< by chunk and rank
  std::vector<LateArrival> late{};        ///< Q of TE-CCL, section 4.2
  /// By limit: epochs for which an earlier send still occupies it.
  std::vector<int> busy{};

  [[nodiscard]] static EpochState initial(const EpochGrid& grid, const Demand& demand);
};

struct EpochOptions {
  Deadline deadline{};
  /// Stops at a schedule whose reward is at most this fraction below the bound (TE-CCL's early
  /// stop: 0.3).
  double relative_gap = 0;
  /// True: any schedule. False: the objective, sum of weight x R / (k + 1).
  bool feasibility = false;
  std::vector<double> weights{};  ///< by chunk; empty: 1 each (priorities of tenants)
};

struct EpochResult {
  MipStatus status = MipStatus::Unknown;
  /// Sends by epoch (TimedSend::start), ascending. Several may start over one limit in an epoch.
  TimedSchedule schedule{};
  double objective = 0;  ///< greatest reward that was found
  int columns = 0;
  int rows = 0;
};

/// Schedules all deliveries within `epochs` epochs:
/// - F[c,h,k] in {0, 1}: chunk c starts over hop h in epoch k; B[c,n,k]: rank n holds chunk c at
/// the
///   start of epoch k; R[c,d,k] <= B[c,d,k+1]: chunk c has reached d by the end of epoch k.
/// - B[c,n,0] = 1 at the source only; B[c,n,k] = B[c,n,k-1] + all F that arrive at k.
/// - F[c,h,k] <= B[c,source of h,k]: each hop can take a copy. At a switch, the arrivals at k take
///   the place of B.
/// - F over a limit within its window <= its capacity; R[c,d,K-1] = 1.
/// Variables that distances exclude are left out. A printed index k - delta - 1 is the epoch in
/// which a send must start to be held at k.
///
/// Throws UserError for epochs < 1, other numbers of ranks, or weights of a wrong number or <= 0.
[[nodiscard]] EpochResult solve_epochs(const EpochGrid& grid, const Demand& demand, int epochs,
                                       const EpochOptions& options = {});

/// Minimum number of epochs with a schedule, by feasibility from `first` epochs up, or from the
/// distances if they need more. `epochs` is 0 if the deadline comes first or `max_epochs` do
/// not suffice.
struct MinimumEpochs {
  int epochs = 0;
  int refuted = 0;  ///< proven infeasible up to this number
  EpochResult result{};
};
[[nodiscard]] MinimumEpochs minimum_epochs(const EpochGrid& grid, const Demand& demand,
                                           const EpochOptions& options = {}, int first = 0,
                                           int max_epochs = 1000);

/// A round of TE-CCL's A* (section 4.2): `epochs` epochs from a state, in which demands need not be
/// met. The reward of a delivery is as in solve_epochs; for each demand, a logical edge from the
/// nearest rank that holds the chunk at the end, or will soon, rewards the share of the distance
/// that the round covered, and counts less than a delivery in the last epoch.
[[nodiscard]] EpochResult solve_round(const EpochGrid& grid, const Demand& demand,
                                      const EpochState& state, int epochs,
                                      const EpochOptions& options = {});

}  // namespace cclgym::synthesis
