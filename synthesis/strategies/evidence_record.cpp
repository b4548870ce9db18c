#include "synthesis/strategies/evidence_record.hpp"

#include <cmath>
#include <fmt/format.h>

#include "core/counted.hpp"
#include "core/error.hpp"

namespace cclgym::synthesis {

Certifier EvidenceRecord::certifier(CollectiveKind collective) const {
  return {fabric_, {.collective = collective, .root = subject_.root, .group = subject_.group}};
}

void EvidenceRecord::keep(std::optional<Certificate> certificate, const std::string& what) {
  if (certificate) {
    certificates_.push_back(std::move(*certificate));
  } else {
    notes_.push_back(fmt::format("There is no certificate of {}.", what));
  }
}

void EvidenceRecord::cuts(const CutBound& copies, const CutBound& reductions) {
  if (subject_.collective == CollectiveKind::AllReduce) {
    keep(certifier(CollectiveKind::AllGather).cut(graph_, copies), "the bound");
    keep(certifier(CollectiveKind::ReduceScatter).cut(graph_, reductions), "the bound");
    return;
  }
  const bool copying = inverse_collective(subject_.collective) == subject_.collective;
  keep(certifier(subject_.collective).cut(graph_, copying ? copies : reductions), "the bound");
}

void EvidenceRecord::lengths(const AllToAllFlow& flow) {
  keep(certifier(subject_.collective).lengths(graph_, flow), "the bound");
}

void EvidenceRecord::shares(const AllReduceShares& shares) {
  keep(certifier(subject_.collective).shares(graph_, shares), "the shares");
}

void EvidenceRecord::rank_cut(const Instance& instance, CollectiveKind collective,
                              const RoundsCut& cut) {
  if (!rank_cuts_.insert(collective).second) return;
  keep(certifier(collective).rank_cut(instance, cut), "the cut");
}

std::optional<Certificate> EvidenceRecord::refutation(const Instance& instance,
                                                      CollectiveKind collective,
                                                      const StepTriple& triple,
                                                      const Deadline& deadline) const {
  const int chunks = triple.chunks * sccl_chunk_factor(collective, instance.ranks);
  for (const Certificate& one : known_) {
    const Claim& claim = one.claim;
    if (one.subject.collective == collective && claim.kind == ClaimKind::Infeasible &&
        claim.chunks == chunks && claim.steps == triple.steps &&
        claim.rounds == Rational(triple.rounds)) {
      return one;
    }
  }
  if (deadline.over()) return std::nullopt;
  return certifier(collective).infeasible(instance, triple, deadline);
}

void EvidenceRecord::front(const Instance& instance, CollectiveKind collective,
                           const ParetoFront& front, const Deadline& deadline) {
  const Certifier make = certifier(collective);
  keep(make.steps(instance), "the steps");
  for (const ParetoPoint& point : front.points) {
    const StepTriple& triple = point.triple;
    const Certificate schedule = make.schedule(instance, triple.chunks, point.schedule);
    keep(schedule, "a schedule");
    if (point.proof == RoundsProof::Cut) rank_cut(instance, collective, front.cut);
    if (point.proof != RoundsProof::Relaxation) continue;
    const std::string what =
        fmt::format("the rounds of {} in {}", to_string(collective), counted(triple.steps, "step"));
    try {
      Certificate bound =
          make.relaxation(instance, triple.steps, deadline.within(kMinSolverTime_s));
      const bool reached =
          bound.claim.rounds == schedule.claim.rounds / std::int64_t{schedule.claim.chunks};
      keep(reached ? std::optional(std::move(bound)) : std::nullopt, what);
    } catch (const UserError& error) {
      notes_.push_back(fmt::format("There is no certificate of {}: {}", what, error.what()));
    }
  }
  std::size_t unproven = 0;
  for (const StepTriple& triple : front.refuted) {
    std::optional<Certificate> proof = refutation(instance, collective, triple, deadline);
    if (proof) {
      certificates_.push_back(std::move(*proof));
    } else {
      ++unproven;
    }
  }
  if (unproven == 0) return;
  notes_.push_back(fmt::format("{} of {} of {} {} no certificate: {}.", unproven,
                               counted(front.refuted.size(), "refutation"), to_string(collective),
                               unproven == 1 ? "has" : "have",
                               deadline.over() ? "the time was over" : "the proofs are too large"));
}

void EvidenceRecord::trees(const std::optional<TreePacking>& inward,
                           const std::optional<TreePacking>& outward) {
  keep(certifier(subject_.collective).trees(graph_, inward, outward),
       fmt::format("trees with more than {} edges", Certifier::kMaxTreeEdges));
}

std::vector<Certificate> EvidenceRecord::take(double unit_Bps) {
  for (Certificate& certificate : certificates_) change_unit(certificate, std::llround(unit_Bps));
  return std::move(certificates_);
}

}  // namespace cclgym::synthesis
