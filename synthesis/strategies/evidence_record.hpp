// Certificates of what a synthesis finds, collected while it runs.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "synthesis/certificates/certify.hpp"
#include "synthesis/sccl/pareto.hpp"

namespace cclgym::synthesis {

/// Collects certificates of a collective on a fabric; an AllReduce has those of its ReduceScatter
/// and its AllGather too. A bound that has none gets a sentence in notes() instead.
class EvidenceRecord {
 public:
  /// `known`: certificates of an earlier record about the same subject.
  EvidenceRecord(const Fabric& fabric, const FlowGraph& graph, CertificateSubject subject,
                 const std::vector<Certificate>& known)
      : fabric_(fabric), graph_(graph), subject_(std::move(subject)), known_(known) {}

  /// Cuts that bound the copies and the reductions; those that the collective has are kept.
  void cuts(const CutBound& copies, const CutBound& reductions);
  void lengths(const AllToAllFlow& flow);
  void shares(const AllReduceShares& shares);
  /// A cut between ranks; a second one of the same collective is left out.
  void rank_cut(const Instance& instance, CollectiveKind collective, const RoundsCut& cut);
  /// Bounds and schedules of a front, and what the search refuted, each proven again before
  /// the deadline, unless the proof is known.
  void front(const Instance& instance, CollectiveKind collective, const ParetoFront& front,
             const Deadline& deadline);
  void trees(const std::optional<TreePacking>& inward, const std::optional<TreePacking>& outward);

  /// The certificates, with rounds per chunk in this link unit, B/s.
  [[nodiscard]] std::vector<Certificate> take(double unit_Bps);
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  [[nodiscard]] Certifier certifier(CollectiveKind collective) const;
  void keep(std::optional<Certificate> certificate, const std::string& what);
  [[nodiscard]] std::optional<Certificate> refutation(const Instance& instance,
                                                      CollectiveKind collective,
                                                      const StepTriple& triple,
                                                      const Deadline& deadline) const;

  const Fabric& fabric_;
  const FlowGraph& graph_;
  CertificateSubject subject_;
  const std::vector<Certificate>& known_;
  std::set<CollectiveKind> rank_cuts_;
  std::vector<Certificate> certificates_;
  std::vector<std::string> notes_;
};

}  // namespace cclgym::synthesis
