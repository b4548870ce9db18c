// Checks of what a synthesis is asked for, before anything is searched.
#pragma once

#include "synthesis/strategies/synthesize.hpp"

namespace cclgym::synthesis {

/// Throws UserError for a collective that has no synthesis, a wrong group or root, a time limit
/// that is not positive, and a fabric without a link unit. Takes less than a second on every
/// fabric.
void check_request(const Fabric& fabric, CollectiveKind collective,
                   const SynthesisOptions& options);

/// True for AllReduce, whose schedules are those of a ReduceScatter and an AllGather.
[[nodiscard]] inline bool is_composed(CollectiveKind collective) {
  return collective == CollectiveKind::AllReduce;
}

/// True for collectives whose schedules are those of a copying one on the reversed fabric.
[[nodiscard]] inline bool is_inverted(CollectiveKind collective) {
  return collective == CollectiveKind::ReduceScatter || collective == CollectiveKind::Reduce;
}

/// The collective that copies: of AllReduce, AllGather.
[[nodiscard]] CollectiveKind copied(CollectiveKind collective);

}  // namespace cclgym::synthesis
