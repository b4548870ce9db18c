// Answers of searches for step schedules, kept so that a later run need not search again.
#pragma once

#include <functional>
#include <vector>

#include "collectives/contract.hpp"
#include "synthesis/sccl/pareto.hpp"

namespace cclgym::synthesis {

/// The answer for a triple (C, S, R) of a collective; chunks are counted as in make_demand.
struct DecidedTriple {
  CollectiveKind collective = CollectiveKind::AllGather;
  StepTriple triple{};
  bool found = false;       ///< false: there is no schedule
  StepSchedule schedule{};  ///< if found; hops are those of make_instance
};

/// Decided triples of one fabric and one root, in the order in which they were decided.
struct SearchMemory {
  std::vector<DecidedTriple> decided{};
  /// Called after a triple was added. May be empty.
  std::function<void()> on_added{};

  /// The kept answer; Unknown if there is none.
  [[nodiscard]] StepAnswer recall(CollectiveKind collective, const StepTriple& triple) const;
  void keep(CollectiveKind collective, const StepTriple& triple, const StepAnswer& answer);
};

}  // namespace cclgym::synthesis
