#include "synthesis/certificates/certificate.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/counted.hpp"
namespace cclgym::synthesis {

namespace {

std::string plural_rounds(const Rational& rounds) {
  return fmt::format("{} round{}", text_of(rounds), rounds == Rational(1) ? "" : "s");
}

std::string triple(const Claim& claim) {
  return fmt::format("{}, {} and {}", counted(claim.chunks, "chunk"), counted(claim.steps, "step"),
                     plural_rounds(claim.rounds));
}

std::string predicate(const Certificate& certificate) {
  const Claim& claim = certificate.claim;
  switch (claim.kind) {
    case ClaimKind::Steps:
      return fmt::format("takes at least {}", counted(claim.steps, "step"));
    case ClaimKind::Rounds:
      return fmt::format("takes at least {} per chunk{}", plural_rounds(claim.rounds),
                         std::holds_alternative<SharesEvidence>(certificate.evidence)
                             ? " by in-trees and out-trees"
                             : "");
    case ClaimKind::RoundsInSteps:
      return fmt::format("takes at least {} per chunk in {}", plural_rounds(claim.rounds),
                         counted(claim.steps, "step"));
    case ClaimKind::Infeasible:
      return fmt::format("has no schedule with {}", triple(claim));
    case ClaimKind::Reached:
      break;
  }
  return fmt::format(
      "has {} with {}",
      std::holds_alternative<TreesEvidence>(certificate.evidence) ? "trees" : "a schedule",
      triple(claim));
}

}  // namespace

std::string evidence_name(const Evidence& evidence) {
  static const std::array<std::string, std::variant_size_v<Evidence>> names{
      "distance", "cut", "rank cut", "relaxation", "lengths", "shares", "rup", "schedule", "trees"};
  return names.at(evidence.index());
}

std::string statement(const Certificate& certificate, const std::string& fabric) {
  const CertificateSubject& subject = certificate.subject;
  std::string who;
  if (is_rooted(subject.collective)) who += fmt::format(" with root {}", subject.root);
  if (!subject.group.empty()) who += fmt::format(" of ranks {}", fmt::join(subject.group, ", "));
  return fmt::format("{}{} on {} {} ({})", to_string(subject.collective), who, fabric,
                     predicate(certificate), evidence_name(certificate.evidence));
}

std::string file_stem(const Certificate& certificate) {
  const Claim& claim = certificate.claim;
  std::string stem = fmt::format("{}-{}", to_string(certificate.subject.collective),
                                 evidence_name(certificate.evidence));
  std::replace(stem.begin(), stem.end(), ' ', '-');
  if (claim.kind == ClaimKind::RoundsInSteps) return fmt::format("{}-{}", stem, claim.steps);
  if (std::holds_alternative<TreesEvidence>(certificate.evidence)) {
    return fmt::format("{}-{}", stem, claim.chunks);
  }
  if (claim.chunks == 0) return stem;
  return fmt::format("{}-{}-{}-{}", stem, claim.chunks, claim.steps, claim.rounds.numerator());
}

void change_unit(Certificate& certificate, std::int64_t unit_Bps) {
  Claim& claim = certificate.claim;
  if (claim.unit_Bps == 0 || claim.kind == ClaimKind::Infeasible ||
      std::holds_alternative<ScheduleEvidence>(certificate.evidence)) {
    return;
  }
  claim.rounds *= Rational(unit_Bps, claim.unit_Bps);
  claim.unit_Bps = unit_Bps;
}

}  // namespace cclgym::synthesis
