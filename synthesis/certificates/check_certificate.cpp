#include "synthesis/certificates/check_certificate.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <numeric>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/index.hpp"
#include "synthesis/certificates/check_reached.hpp"
#include "synthesis/certificates/node_names.hpp"
#include "synthesis/certificates/subject.hpp"
#include "synthesis/flows/allreduce_shares.hpp"
#include "synthesis/flows/alltoall.hpp"
#include "synthesis/proofs/rup_checker.hpp"
#include "synthesis/sccl/solve_steps.hpp"
#include "synthesis/throughput/bound.hpp"

namespace cclgym::synthesis {

namespace {

constexpr std::string_view kOtherProgram =
    "the certificate is about another linear program than that of the fabric";

// Linear programs and formulas grow with chunks, hops and steps; searches stay far below this.
constexpr std::int64_t kMaxSends = 20'000'000;

// True if two products are equal, of any size: factors that both have cancel.
bool equal_products(std::array<std::int64_t, 4> one, std::array<std::int64_t, 4> other) {
  const auto is_zero = [](std::int64_t factor) { return factor == 0; };
  const bool zero = std::any_of(one.begin(), one.end(), is_zero);
  if (zero || std::any_of(other.begin(), other.end(), is_zero)) {
    return zero && std::any_of(other.begin(), other.end(), is_zero);
  }
  for (std::int64_t& left : one) {
    for (std::int64_t& right : other) {
      const std::int64_t divisor = std::gcd(left, right);
      left /= divisor;
      right /= divisor;
    }
  }
  // Only 1 and -1 are left of equal products.
  const auto sign = [](const std::array<std::int64_t, 4>& factors) {
    std::int64_t product = 1;
    for (const std::int64_t factor : factors) {
      product = factor == 1 || factor == -1 ? product * factor : 0;
    }
    return product;
  };
  return sign(one) != 0 && sign(one) == sign(other);
}

class CertificateChecker {
 public:
  CertificateChecker(const Fabric& fabric, const Certificate& certificate)
      : fabric_(fabric), subject_(certificate.subject), claim_(certificate.claim) {}

  std::string operator()(const DistanceEvidence& evidence) const {
    if (claim_.kind != ClaimKind::Steps) return wrong_kind();
    const Demand demand = demand_of(subject_, fabric_.ranks(), 1);
    const bool wanted =
        std::any_of(demand.chunks.begin(), demand.chunks.end(), [&](const ChunkDemand& chunk) {
          return chunk.source == evidence.source &&
                 std::binary_search(chunk.targets.begin(), chunk.targets.end(), evidence.target);
        });
    if (!wanted) {
      return fmt::format("rank {} needs no data of rank {}", evidence.target, evidence.source);
    }
    const Instance instance = copying(subject_, make_instance(fabric_));
    const int hops = instance.distances()[at(evidence.source)][at(evidence.target)];
    if (hops == claim_.steps) return {};
    return fmt::format("rank {} is {} hops from rank {}, not {}", evidence.target, hops,
                       evidence.source, claim_.steps);
  }

  std::string operator()(const CutEvidence& evidence) const {
    const CollectiveKind copied = inverse_collective(subject_.collective);
    const bool broadcast = copied == CollectiveKind::Broadcast;
    if (claim_.kind != ClaimKind::Rounds || (!broadcast && copied != CollectiveKind::AllGather)) {
      return wrong_kind();
    }
    if (evidence.members < 1 || evidence.units < 1) {
      return fmt::format("the cut has {} members and {} units; expected at least 1 of each",
                         evidence.members, evidence.units);
    }
    (void)demand_of(subject_, fabric_.ranks(), 1);  // checks the root and the group
    const FlowGraph graph = copying(subject_, make_flow_graph(fabric_));
    const CutBound bound{.value = {evidence.members, evidence.units},
                         .cut = NodeNames(fabric_, graph).set_of(evidence.devices)};
    const int root = broadcast ? subject_.root : -1;
    if (std::string problem = check_cut(graph, subject_.group, bound, root); !problem.empty()) {
      return problem;
    }
    return proves(bound.value, graph.unit_Bps);
  }

  std::string operator()(const RankCutEvidence& evidence) const {
    if (claim_.kind != ClaimKind::Rounds) return wrong_kind();
    const Instance instance = copying(subject_, make_instance(fabric_));
    std::vector<char> inside(at(instance.ranks), 0);
    for (const int rank : evidence.ranks) {
      if (rank < 0 || rank >= instance.ranks) return fmt::format("there is no rank {}", rank);
      inside[at(rank)] = 1;
    }
    std::vector<char> counted(instance.limits.size(), 0);
    std::int64_t units = 0;
    for (const int limit : evidence.limits) {
      if (limit < 0 || at(limit) >= counted.size() || counted[at(limit)]) {
        return fmt::format("limit {} does not exist or is there twice", limit);
      }
      counted[at(limit)] = 1;
      units += instance.limits[at(limit)].units;
    }
    for (const Hop& hop : instance.hops) {
      if (inside[at(hop.source)] || !inside[at(hop.target)]) continue;
      if (std::any_of(hop.limits.begin(), hop.limits.end(),
                      [&](int limit) { return counted[at(limit)] != 0; })) {
        continue;
      }
      return fmt::format("the hop from rank {} to rank {} crosses the cut without a limit of it",
                         hop.source, hop.target);
    }
    std::int64_t chunks = 0;
    for (const ChunkDemand& chunk : demand_of(subject_, fabric_.ranks(), 1).chunks) {
      if (inside[at(chunk.source)]) continue;
      if (std::any_of(chunk.targets.begin(), chunk.targets.end(),
                      [&](int target) { return inside[at(target)] != 0; })) {
        ++chunks;
      }
    }
    if (chunks == 0 || units == 0) return "no chunk must cross the cut";
    return proves(Rational(chunks, units), instance.unit_Bps);
  }

  std::string operator()(const RelaxationEvidence& evidence) const {
    if (claim_.kind != ClaimKind::RoundsInSteps) return wrong_kind();
    const Instance instance = copying(subject_, make_instance(fabric_));
    const Demand demand = demand_of(subject_, fabric_.ranks(), 1);
    require_size(demand, instance);
    const ExactProgram program =
        step_relaxation_program(instance, demand, claim_.steps, {.copying = evidence.copying});
    if (std::string problem = dual_problem(program, evidence.dual); !problem.empty()) {
      return problem;
    }
    return proves(evidence.dual.bound, instance.unit_Bps);
  }

  std::string operator()(const LengthsEvidence& evidence) const {
    if (claim_.kind != ClaimKind::Rounds || subject_.collective != CollectiveKind::AllToAll) {
      return wrong_kind();
    }
    const FlowGraph graph = make_flow_graph(fabric_);
    const NodeNames names(fabric_, graph);
    EdgeLengths lengths;
    lengths.lengths.assign(graph.edges.size(), 0);
    for (const NamedLength& named : evidence.lengths) {
      const int source = names.node(named.source);
      const int target = names.node(named.target);
      const auto edge = std::find_if(
          graph.edges.begin(), graph.edges.end(),
          [&](const FlowEdge& one) { return one.source == source && one.target == target; });
      if (edge == graph.edges.end()) {
        return fmt::format("no route goes from '{}' straight to '{}'", named.source, named.target);
      }
      lengths.lengths[static_cast<std::size_t>(edge - graph.edges.begin())] = named.length;
    }
    return proves(bound_of_lengths(graph, subject_.group, lengths), graph.unit_Bps);
  }

  std::string operator()(const SharesEvidence& evidence) const {
    if (claim_.kind != ClaimKind::Rounds || subject_.collective != CollectiveKind::AllReduce) {
      return wrong_kind();
    }
    const FlowGraph graph = make_flow_graph(fabric_);
    const NodeNames names(fabric_, graph);
    std::vector<ShareCut> cuts;
    for (const NamedShareCut& cut : evidence.cuts) {
      cuts.push_back({.reduce = cut.reduce, .side = names.set_of(cut.devices)});
    }
    const ExactProgram program = allreduce_program(graph, {.group = subject_.group}, cuts);
    if (std::string problem = dual_problem(program, evidence.dual); !problem.empty()) {
      return problem;
    }
    if (evidence.dual.bound >= Rational(0)) return "the dual values bound no bandwidth";
    // The linear program bounds the chunks per round from above, by the negated bound.
    return equals_claim(-evidence.dual.bound.denominator(), evidence.dual.bound.numerator(), 1,
                        graph.unit_Bps);
  }

  std::string operator()(const RefutationEvidence& evidence) const {
    std::string formula;
    if (std::string problem = make_formula(formula); !problem.empty()) return problem;
    if (const std::string hash = hex_digits(fnv1a(formula)); hash != evidence.formula_hash) {
      return fmt::format("the proof is about a formula with the hash {}; that of the claim has {}",
                         quoted(evidence.formula_hash), hash);
    }
    return check_rup(formula, evidence.proof);
  }

  // Makes the formula, in DIMACS, that is satisfied by a schedule as the claim denies it. Returns
  // the problem if the claim is none of this kind.
  std::string make_formula(std::string& formula) const {
    if (claim_.kind != ClaimKind::Infeasible) return wrong_kind();
    const Instance instance = copying(subject_, make_instance(fabric_));
    const int factor = chunk_factor(subject_, fabric_.ranks());
    if (claim_.rounds.denominator() != 1 || claim_.rounds.numerator() > kMaxSends ||
        claim_.unit_Bps != whole_Bps(instance.unit_Bps)) {
      return fmt::format("the rounds of a schedule are whole, of a link unit of {} B/s",
                         whole_Bps(instance.unit_Bps));
    }
    if (claim_.chunks < 1 || claim_.chunks > kMaxSends || claim_.chunks % factor != 0) {
      return fmt::format("there are {} chunks; expected a multiple of {}", claim_.chunks, factor);
    }
    const Demand demand = demand_of(subject_, fabric_.ranks(), claim_.chunks / factor);
    require_size(demand, instance);
    formula =
        step_formula(instance, demand, claim_.steps, static_cast<int>(claim_.rounds.numerator()));
    return {};
  }

  std::string operator()(const ScheduleEvidence& evidence) const {
    if (claim_.kind != ClaimKind::Reached) return wrong_kind();
    return check_schedule_evidence(fabric_, subject_, claim_, evidence);
  }

  std::string operator()(const TreesEvidence& evidence) const {
    if (claim_.kind != ClaimKind::Reached) return wrong_kind();
    return check_trees_evidence(fabric_, subject_, claim_, evidence);
  }

 private:
  static std::string wrong_kind() { return "evidence of this kind does not prove such a claim"; }

  void require_size(const Demand& demand, const Instance& instance) const {
    const std::int64_t sends =
        static_cast<std::int64_t>(demand.chunks.size()) *
        static_cast<std::int64_t>(std::max<std::size_t>(instance.hops.size(), 1));
    if (claim_.steps >= 1 && claim_.steps <= kMaxSends / std::max<std::int64_t>(sends, 1)) return;
    throw UserError(
        fmt::format("{} steps of {} chunks are out of range", claim_.steps, demand.chunks.size()));
  }

  static std::string dual_problem(const ExactProgram& program, const DualEvidence& evidence) {
    if (program_hash(program) != evidence.program_hash) return std::string(kOtherProgram);
    DualCertificate certificate{.program = program, .duals = {}, .bound = evidence.bound};
    certificate.duals.assign(program.rows.size(), Rational(0));
    int last = -1;
    for (const auto& [row, value] : evidence.duals) {
      if (row <= last || at(row) >= certificate.duals.size()) {
        return fmt::format("the dual value of row {} is out of order or range", row);
      }
      last = row;
      certificate.duals[at(row)] = value;
    }
    return check_dual(certificate);
  }

  // The claim must be what a bound per chunk of make_demand proves.
  [[nodiscard]] std::string proves(const Rational& rounds, double unit_Bps) const {
    return equals_claim(rounds.numerator(), rounds.denominator(),
                        chunk_factor(subject_, fabric_.ranks()), unit_Bps);
  }

  [[nodiscard]] std::string equals_claim(std::int64_t numerator, std::int64_t denominator,
                                         int factor, double unit_Bps) const {
    if (claim_.unit_Bps < 1) return fmt::format("the link unit is {} B/s", claim_.unit_Bps);
    if (equal_products({claim_.rounds.numerator(), denominator, factor, whole_Bps(unit_Bps)},
                       {numerator, claim_.rounds.denominator(), claim_.unit_Bps, 1})) {
      return {};
    }
    return fmt::format(
        "the evidence proves {}/{} rounds per chunk of a link unit of {} B/s, not {}", numerator,
        std::int64_t{factor} * denominator, whole_Bps(unit_Bps), text_of(claim_.rounds));
  }

  const Fabric& fabric_;
  const CertificateSubject& subject_;
  const Claim& claim_;
};

// Reason why members that the kind of claim does not use are not 0.
std::string superfluous(const Claim& claim) {
  const bool reached = claim.kind == ClaimKind::Reached || claim.kind == ClaimKind::Infeasible;
  const bool steps = claim.kind != ClaimKind::Rounds;
  const bool rounds = claim.kind != ClaimKind::Steps;
  if ((claim.chunks != 0) != reached || (claim.steps != 0) != steps ||
      (claim.rounds != Rational(0)) != rounds || (claim.unit_Bps != 0) != rounds) {
    return "the claim has numbers that its kind does not use, or lacks some that it needs";
  }
  return {};
}

}  // namespace

std::string check_certificate(const Fabric& fabric, const Certificate& certificate) {
  try {
    if (std::string problem = superfluous(certificate.claim); !problem.empty()) return problem;
    return std::visit(CertificateChecker(fabric, certificate), certificate.evidence);
  } catch (const UserError& error) {
    return error.what();
  }
}

std::optional<std::string> refuted_formula(const Fabric& fabric, const Certificate& certificate) {
  if (!std::holds_alternative<RefutationEvidence>(certificate.evidence)) return std::nullopt;
  std::string formula;
  const std::string problem = CertificateChecker(fabric, certificate).make_formula(formula);
  if (!problem.empty()) throw UserError(problem);
  return formula;
}

}  // namespace cclgym::synthesis
