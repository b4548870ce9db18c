// Tests of the check of certificates: false claims and wrong evidence are refused.
#include "synthesis/certificates/check_certificate.hpp"

#include <algorithm>
#include <string>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "synthesis/certificates/shipped_certificates.hpp"
#include "synthesis/strategies/synthesize.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

// First problem of a certificate about the DGX-1 after a change. Its file is well formed.
template <class Change>
std::string problem(const std::string& kind, Change change) {
  Certificate certificate = dgx1_certificate(kind);
  change(certificate);
  const FabricCertificate back = read_certificate(dgx1_text(certificate), "c.json");
  return check_certificate(*back.fabric, back.certificate);
}

template <class Kind, class Change>
std::string evidence_problem(const std::string& kind, Change change) {
  return problem(kind,
                 [&](Certificate& certificate) { change(std::get<Kind>(certificate.evidence)); });
}

TEST_CASE("certificates whose claim was changed are refused", "[synthesis][certificates]") {
  for (const std::string& kind : certificate_kinds()) {
    INFO(kind);
    REQUIRE(problem(kind, [](Certificate&) {}).empty());
    const auto refused = [&](auto change) {
      CHECK_FALSE(problem(kind, [&](Certificate& it) { change(it.claim); }).empty());
    };
    refused([](Claim& claim) { claim.steps += 1; });
    refused([](Claim& claim) { claim.steps -= 1; });
    refused([](Claim& claim) { claim.chunks += 1; });
    refused([](Claim& claim) { claim.chunks -= 1; });
    refused([](Claim& claim) { claim.rounds += Rational(1); });
    refused(
        [](Claim& claim) { claim.rounds = claim.rounds * Rational(999, 1000) - Rational(1, 999); });
    refused([](Claim& claim) { claim.rounds = -claim.rounds - Rational(1); });
    refused([](Claim& claim) { claim.unit_Bps += 1; });
    refused([](Claim& claim) { claim.unit_Bps = -1; });
    refused([](Claim& claim) {
      claim.kind = claim.kind == ClaimKind::Reached ? ClaimKind::Infeasible : ClaimKind::Reached;
    });
    refused([](Claim& claim) {
      claim.kind = claim.kind == ClaimKind::Rounds ? ClaimKind::Steps : ClaimKind::Rounds;
    });
  }
}

TEST_CASE("certificates of another collective, root or group are refused",
          "[synthesis][certificates]") {
  for (const std::string& kind : certificate_kinds()) {
    INFO(kind);
    const auto refused = [&](auto change) {
      CHECK_FALSE(problem(kind, [&](Certificate& it) { change(it.subject); }).empty());
    };
    refused([](CertificateSubject& subject) { subject.collective = CollectiveKind::AllToNext; });
    refused([](CertificateSubject& subject) { subject.collective = CollectiveKind::Custom; });
    refused([](CertificateSubject& subject) { subject.group = {3}; });
    refused([](CertificateSubject& subject) { subject.group = {3, 9}; });
    refused([](CertificateSubject& subject) { subject.group = {5, 4}; });
    if (kind == "distance") continue;
    refused([](CertificateSubject& subject) { subject.group = {0, 1, 2}; });
    refused([](CertificateSubject& subject) { subject.collective = CollectiveKind::Scatter; });
  }
}

TEST_CASE("certificates with wrong evidence are refused", "[synthesis][certificates]") {
  CHECK(contains(evidence_problem<DistanceEvidence>("distance", [](auto& it) { it.target = 1; }),
                 "rank 1 is 1 hops from rank 0, not 2"));
  CHECK(contains(evidence_problem<DistanceEvidence>("distance", [](auto& it) { it.target = 8; }),
                 "rank 8 needs no data"));
  CHECK(contains(evidence_problem<CutEvidence>("cut", [](auto& it) { it.devices.pop_back(); }),
                 "the cut has the value 6/"));
  CHECK(contains(evidence_problem<CutEvidence>("cut", [](auto& it) { it.devices[1] = "gpu9"; }),
                 "has no device 'gpu9'"));
  CHECK(
      contains(evidence_problem<CutEvidence>("cut", [](auto& it) { it.devices.push_back("gpu0"); }),
               "leaves out no member"));
  CHECK(contains(evidence_problem<CutEvidence>("cut", [](auto& it) { it.units = 0; }), "0 units"));
  CHECK(contains(
      evidence_problem<RankCutEvidence>("rank cut", [](auto& it) { it.limits.pop_back(); }),
      "crosses the cut without a limit"));
  CHECK(contains(evidence_problem<RankCutEvidence>(
                     "rank cut", [](auto& it) { it.limits.push_back(it.limits[0]); }),
                 "is there twice"));
  CHECK(contains(evidence_problem<RankCutEvidence>("rank cut", [](auto& it) { it.ranks = {8}; }),
                 "no rank 8"));
  CHECK(contains(evidence_problem<RankCutEvidence>("rank cut", [](auto& it) { it.ranks = {}; }),
                 "no chunk must cross"));
  CHECK(contains(evidence_problem<LengthsEvidence>(
                     "lengths", [](auto& it) { it.lengths.front().length += 1; }),
                 "rounds per chunk of a link unit"));
  CHECK(contains(evidence_problem<LengthsEvidence>(
                     "lengths", [](auto& it) { it.lengths.front().length = -1; }),
                 "negative"));
  CHECK(contains(evidence_problem<LengthsEvidence>("lengths", [](auto& it) { it.lengths = {}; }),
                 "all lengths are 0"));
  CHECK(contains(evidence_problem<SharesEvidence>("shares", [](auto& it) { it.cuts.pop_back(); }),
                 "another linear program"));
  CHECK_FALSE(evidence_problem<SharesEvidence>("shares", [](auto& it) {
                it.dual.duals.front().second *= Rational(2);
              }).empty());
  CHECK_FALSE(evidence_problem<ScheduleEvidence>("schedule", [](auto& it) {
                it.sends.pop_back();
              }).empty());
  CHECK_FALSE(evidence_problem<ScheduleEvidence>("schedule", [](auto& it) {
                it.rounds = {1, 1};
              }).empty());
  CHECK(contains(evidence_problem<ScheduleEvidence>("schedule",
                                                    [](auto& it) {
                                                      it.rounds = {2, 2};
                                                    }),
                 "the schedule has 2 steps and 4 rounds"));
  CHECK(contains(
      evidence_problem<ScheduleEvidence>("schedule", [](auto& it) { it.sends[0].target = 9; }),
      "there is no hop from rank"));
  CHECK(contains(evidence_problem<TreesEvidence>(
                     "trees", [](auto& it) { it.outward.front().edges.pop_back(); }),
                 "does not reach rank"));
  CHECK(contains(evidence_problem<TreesEvidence>("trees", [](auto& it) { it.outward.pop_back(); }),
                 "trees, but rank"));
  CHECK(contains(evidence_problem<TreesEvidence>("trees", [](auto& it) { it.inward = it.outward; }),
                 "if it reduces"));
  CHECK(contains(evidence_problem<TreesEvidence>(
                     "trees", [](auto& it) { it.outward.front().count = std::int64_t{1} << 50; }),
                 "times"));
}

TEST_CASE("certificates with wrong dual values or proofs are refused",
          "[synthesis][certificates]") {
  const std::size_t duals =
      std::get<RelaxationEvidence>(dgx1_certificate("relaxation").evidence).dual.duals.size();
  for (std::size_t k = 0; k < duals; ++k) {
    INFO(k);
    const auto refused = [&](auto change) {
      CHECK_FALSE(evidence_problem<RelaxationEvidence>("relaxation", [&](auto& it) {
                    change(it.dual.duals[k].second);
                  }).empty());
    };
    refused([](Rational& dual) { dual = -dual; });
    refused([](Rational& dual) { dual *= Rational(1, 2); });
    refused([](Rational& dual) { dual = Rational(0); });
  }
  for (const std::string kind : {"relaxation", "shares"}) {
    const auto refused = [&](const std::string& part, auto change) {
      CHECK(contains(problem(kind,
                             [&](Certificate& it) {
                               auto* relaxation = std::get_if<RelaxationEvidence>(&it.evidence);
                               change(relaxation != nullptr
                                          ? relaxation->dual
                                          : std::get<SharesEvidence>(it.evidence).dual);
                             }),
                     part));
    };
    refused("another linear program", [](DualEvidence& it) { it.program_hash[3] ^= 1; });
    refused("the certificate states", [](DualEvidence& it) { it.bound -= Rational(1, 100); });
    refused("out of order", [](DualEvidence& it) { it.duals[1].first = it.duals[0].first; });
    refused("out of order", [](DualEvidence& it) { it.duals.back().first = 1'000'000; });
    refused("out of order", [](DualEvidence& it) { it.duals.front().first = -1; });
  }
  const std::string proof = std::get<RefutationEvidence>(dgx1_certificate("rup").evidence).proof;
  REQUIRE(proof.size() > 4);
  for (std::size_t bytes = 0; bytes < proof.size(); bytes += bytes + 40 < proof.size() ? 17U : 1U) {
    const std::string found = evidence_problem<RefutationEvidence>(
        "rup", [&](auto& it) { it.proof = proof.substr(0, bytes); });
    if (found.empty()) FAIL("a proof of " << bytes << " bytes is enough");
  }
  CHECK(contains(
      evidence_problem<RefutationEvidence>("rup", [](auto& it) { it.formula_hash[0] ^= 1; }),
      "formula with the hash"));
}

TEST_CASE("synthesis certifies all that it claims, on fabrics of several kinds",
          "[synthesis][certificates]") {
  struct Case {
    FabricSpec spec;
    CollectiveKind collective;
    int root = 0;
    std::vector<int> group{};
  };
  const std::vector<Case> cases{
      {{.name = "dgx1"}, CollectiveKind::AllGather},
      {{.name = "dgx1"}, CollectiveKind::AllToAll},
      {{.name = "dgx1", .without = "gpu0:gpu4"}, CollectiveKind::AllReduce},
      {{.name = "dgx1"}, CollectiveKind::ReduceScatter, 0, {0, 1, 4, 6}},
      {{.name = "ring", .gpus = 5}, CollectiveKind::Broadcast, 2},
      {{.name = "ring", .gpus = 5}, CollectiveKind::Reduce, 3},
      {{.name = "ring", .gpus = 5}, CollectiveKind::Scatter, 1},
      {{.name = "ring", .gpus = 5}, CollectiveKind::Gather, 4},
      {{.name = "ring", .gpus = 4}, CollectiveKind::AllToAll, 0, {0, 2, 3}},
      {{.name = "ndv2", .servers = 2}, CollectiveKind::AllReduce},
      {{.name = "ndv4", .servers = 2}, CollectiveKind::AllGather},
      {{.name = "ndv4", .servers = 4}, CollectiveKind::ReduceScatter}};
  for (const Case& one : cases) {
    const CertifiedFabric fabric(one.spec);
    INFO(one.spec.name << ' ' << to_string(one.collective));
    const Synthesis made = synthesize(*fabric.fabric, one.collective,
                                      {.root = one.root,
                                       .group = one.group,
                                       .max_conflicts = 500,
                                       .max_points = 2,
                                       .certificates = true});
    bool bounded = false;
    // Programs along the paths of a flow have no certificate besides the bound that they reach.
    bool reached = std::ranges::all_of(made.programs, [](const SynthesizedProgram& program) {
      return program.name.find("-flows-") != std::string::npos;
    });
    for (const Certificate& certificate : made.certificates) {
      const std::string text = certificate_text(
          {.fabric_spec = one.spec, .fabric = fabric.fabric, .certificate = certificate});
      const FabricCertificate back = read_certificate(text, "c.json");
      INFO(statement(back.certificate, one.spec.name));
      CHECK(check_certificate(*back.fabric, back.certificate).empty());
      bounded = bounded || (certificate.claim.kind == ClaimKind::Rounds &&
                            certificate.subject.collective == one.collective &&
                            certificate.claim.rounds == made.min_rounds);
      reached = reached || certificate.claim.kind == ClaimKind::Reached;
    }
    // An AllReduce without shares per root has the bounds of its halves.
    CHECK(
        (bounded || made.min_rounds == Rational(0) || one.collective == CollectiveKind::AllReduce));
    CHECK(reached);
  }
}

}  // namespace
}  // namespace cclgym::test
