#include "synthesis/strategies/evidence_record.hpp"

#include <chrono>
#include <cmath>
#include <fmt/format.h>

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

void EvidenceRecord::front(const Instance& instance, CollectiveKind collective,
                           const ParetoFront& front, double time_limit_s) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const auto left_s = [&] {
    return time_limit_s - std::chrono::duration<double>(Clock::now() - start).count();
  };
  const Certifier make = certifier(collective);
  keep(make.steps(instance), "the steps");
  bool cut = false;
  for (const ParetoPoint& point : front.points) {
    const StepTriple& triple = point.triple;
    const Certificate schedule = make.schedule(instance, triple.chunks, point.schedule);
    keep(schedule, "a schedule");
    cut = cut || point.proof == RoundsProof::Cut;
    if (point.proof != RoundsProof::Relaxation) continue;
    const std::string what =
        fmt::format("the rounds of {} in {} steps", to_string(collective), triple.steps);
    try {
      Certificate bound = make.relaxation(instance, triple.steps, std::max(left_s(), 0.001));
      const bool reached =
          bound.claim.rounds == schedule.claim.rounds / std::int64_t{schedule.claim.chunks};
      keep(reached ? std::optional(std::move(bound)) : std::nullopt, what);
    } catch (const UserError& error) {
      notes_.push_back(fmt::format("There is no certificate of {}: {}", what, error.what()));
    }
  }
  if (cut) keep(make.rank_cut(instance, front.cut), "the cut");
  for (const StepTriple& triple : front.refuted) {
    keep(left_s() > 0 ? make.infeasible(instance, triple, left_s()) : std::nullopt,
         fmt::format("the refutation of {} chunks, {} steps and {} rounds of {}", triple.chunks,
                     triple.steps, triple.rounds, to_string(collective)));
  }
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
