// Certificates of what a synthesis finds, collected while it runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "synthesis/certificates/certify.hpp"
#include "synthesis/sccl/pareto.hpp"

namespace cclgym::synthesis {

/// Collects certificates of a collective on a fabric; an AllReduce has those of its ReduceScatter
/// and its AllGather too. A bound that has none gets a sentence in notes() instead.
class EvidenceRecord {
 public:
  EvidenceRecord(const Fabric& fabric, const FlowGraph& graph, CertificateSubject subject)
      : fabric_(fabric), graph_(graph), subject_(std::move(subject)) {}

  /// Cuts that bound the copies and the reductions; those that the collective has are kept.
  void cuts(const CutBound& copies, const CutBound& reductions);
  void lengths(const AllToAllFlow& flow);
  void shares(const AllReduceShares& shares);
  /// Bounds and schedules of a front, and what the search refuted, each proven again within the
  /// time limit for all proofs together.
  void front(const Instance& instance, CollectiveKind collective, const ParetoFront& front,
             double time_limit_s);
  void trees(const std::optional<TreePacking>& inward, const std::optional<TreePacking>& outward);

  /// The certificates, with rounds per chunk in this link unit, B/s.
  [[nodiscard]] std::vector<Certificate> take(double unit_Bps);
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  [[nodiscard]] Certifier certifier(CollectiveKind collective) const;
  void keep(std::optional<Certificate> certificate, const std::string& what);

  const Fabric& fabric_;
  const FlowGraph& graph_;
  CertificateSubject subject_;
  std::vector<Certificate> certificates_;
  std::vector<std::string> notes_;
};

}  // namespace cclgym::synthesis
