// State of a synthesis that step schedules and trees share.
#pragma once

#include <optional>
#include <string>

#include "synthesis/flow_graph.hpp"
#include "synthesis/flows/allreduce_shares.hpp"
#include "synthesis/flows/alltoall.hpp"
#include "synthesis/strategies/evidence_record.hpp"
#include "synthesis/strategies/make_programs.hpp"
#include "synthesis/strategies/synthesize.hpp"
#include "synthesis/throughput/bound.hpp"

namespace cclgym::synthesis {

struct SynthesisWork {
  SynthesisWork(const Fabric& on, CollectiveKind kind, const SynthesisOptions& wanted);
  SynthesisWork(const SynthesisWork&) = delete;
  SynthesisWork& operator=(const SynthesisWork&) = delete;

  const Fabric& fabric;
  CollectiveKind collective;
  const SynthesisOptions& options;
  Deadline deadline;  ///< limit of all searches
  FlowGraph graph;
  /// Rounds of a link unit of the graph, per chunk of make_demand; 0 if no bound is known.
  Rational copy_bound{0};
  Rational reduce_bound{0};
  std::optional<AllReduceShares> shares{};
  std::optional<AllToAllFlow> exchange{};  ///< with paths, for an AllToAll
  std::optional<EvidenceRecord> record{};  ///< if certificates are asked for
  bool unfinished = false;                 ///< a search for a front stopped before its end
  Synthesis made{};

  void say(const std::string& sentence) const;
  [[nodiscard]] int members() const;
  /// Bound of this collective per chunk of SCCL's C, in link units of the graph.
  [[nodiscard]] Rational bound() const;
  /// Link units of the graph in a link unit of this bandwidth.
  [[nodiscard]] std::int64_t units_in(double unit_Bps) const;
  [[nodiscard]] ProgramRequest request(const std::string& variant) const;
  void set_optimal(SynthesizedProgram& program) const;
};

/// Sets the bounds and the shares.
void find_bounds(SynthesisWork& work);
/// Adds programs of step schedules, or a note why there are none.
void add_step_programs(SynthesisWork& work);
/// Adds programs of the flow of an AllToAll (find_bounds), or a note why there are none.
void add_flow_programs(SynthesisWork& work);
/// Adds programs of trees, or a note why there are none.
void add_tree_programs(SynthesisWork& work);

}  // namespace cclgym::synthesis
