// Lower bounds on the steps and rounds of synchronous schedules.
#pragma once

#include <optional>
#include <vector>

#include "synthesis/demand.hpp"
#include "synthesis/instance.hpp"
#include "synthesis/solvers/deadline.hpp"
#include "topology_models/rational.hpp"

namespace cclgym::synthesis {

/// Steps that every schedule needs: the maximum distance from a chunk's source to a target (a_l in
/// SCCL, section 3.6). Throws UserError if a target cannot be reached.
[[nodiscard]] int min_steps(const Instance& instance, const Demand& demand);

/// A set of ranks that must receive more chunks than may enter it in one round.
struct RoundsCut {
  Rational rounds{0};        ///< chunks that must enter / chunks that may enter per round
  std::vector<int> ranks{};  ///< the receiving side, ascending
  /// Limits that together cover all hops into the set, ascending: what may enter per round.
  std::vector<int> limits{};
};

/// Largest cut bound on the rounds (b_l in SCCL, section 3.6): of all sets of ranks up to 16 ranks,
/// otherwise of single ranks and their complements. The capacity of a cut is bounded from above by
/// limits that together cover all hops into the set. For a demand with one chunk per rank or pair,
/// it bounds R/C for every C.
[[nodiscard]] RoundsCut rounds_cut(const Instance& instance, const Demand& demand);

/// Lower bound on R/C of all schedules of `steps` steps, for every number of copies C of the
/// demand's chunks: step_relaxation. Nothing if the demand cannot be met in so many steps, if the
/// linear program would be too large (more than 20,000 chunks x hops x steps), or if it was not
/// solved and proved before the deadline.
[[nodiscard]] std::optional<Rational> relaxed_rounds(const Instance& instance, const Demand& demand,
                                                     int steps, const Deadline& deadline = {});

}  // namespace cclgym::synthesis
