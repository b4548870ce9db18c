// Certificates of bounds, schedules and trees. Every function names the evidence that it writes.
#pragma once

#include <optional>

#include "synthesis/certificates/certificate.hpp"
#include "synthesis/flow_graph.hpp"
#include "synthesis/flows/allreduce_shares.hpp"
#include "synthesis/flows/alltoall.hpp"
#include "synthesis/instance.hpp"
#include "synthesis/sccl/bounds.hpp"
#include "synthesis/sccl/pareto.hpp"
#include "synthesis/solvers/deadline.hpp"
#include "synthesis/step_schedule.hpp"
#include "synthesis/throughput/bound.hpp"
#include "synthesis/tree_packing.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym::synthesis {

/// Makes certificates about a fabric. `instance` and `graph` are those of make_instance and
/// make_flow_graph, not reversed; bounds of reductions are about the reversed ones, as check_* say.
/// Rounds are counted in the link unit of what they are about.
class Certifier {
 public:
  /// Throws UserError like make_demand if the collective has no such group or root.
  Certifier(const Fabric& fabric, CertificateSubject subject);

  /// Minimum number of steps: two ranks at that distance.
  [[nodiscard]] Certificate steps(const Instance& instance) const;
  /// AllGather, Broadcast and their inverses.
  [[nodiscard]] Certificate cut(const FlowGraph& graph, const CutBound& bound) const;
  [[nodiscard]] Certificate rank_cut(const Instance& instance, const RoundsCut& cut) const;
  /// Bound on the rounds of schedules with so many steps, by step_relaxation. Throws UserError if
  /// there is none before the deadline.
  [[nodiscard]] Certificate relaxation(const Instance& instance, int steps,
                                       const Deadline& deadline = {}) const;
  /// AllToAll. None if the flow has no lengths.
  [[nodiscard]] std::optional<Certificate> lengths(const FlowGraph& graph,
                                                   const AllToAllFlow& flow) const;
  /// AllReduce.
  [[nodiscard]] Certificate shares(const FlowGraph& graph, const AllReduceShares& shares) const;
  /// Proof that there is no schedule with so many chunks (of make_demand), steps and rounds. None
  /// if there is a schedule, no proof before the deadline, or one of more than kMaxProofBytes.
  [[nodiscard]] std::optional<Certificate> infeasible(const Instance& instance,
                                                      const StepTriple& triple,
                                                      const Deadline& deadline = {}) const;
  static constexpr std::size_t kMaxProofBytes = std::size_t{16} << 20U;
  /// A schedule with so many chunks (of make_demand): of reductions, if the collective reduces.
  [[nodiscard]] Certificate schedule(const Instance& instance, int chunks,
                                     const StepSchedule& schedule) const;
  /// Trees: `inward` for reductions, `outward` for copies; AllReduce has both. None for more than
  /// kMaxTreeEdges edges.
  [[nodiscard]] std::optional<Certificate> trees(const FlowGraph& graph,
                                                 const std::optional<TreePacking>& inward,
                                                 const std::optional<TreePacking>& outward) const;
  static constexpr std::size_t kMaxTreeEdges = 100'000;

 private:
  [[nodiscard]] Rational per_chunk(const Rational& rounds) const;

  const Fabric& fabric_;
  CertificateSubject subject_;
};

}  // namespace cclgym::synthesis
