#include "synthesis/certificates/certify.hpp"

#include <algorithm>
#include <numeric>

#include "core/hash.hpp"
#include "core/index.hpp"
#include "synthesis/certificates/node_names.hpp"
#include "synthesis/certificates/subject.hpp"
#include "synthesis/flows/step_relaxation.hpp"
#include "synthesis/sccl/solve_steps.hpp"

namespace cclgym::synthesis {

namespace {

DualEvidence dual_evidence(const DualCertificate& certificate) {
  DualEvidence evidence{
      .program_hash = program_hash(certificate.program), .bound = certificate.bound, .duals = {}};
  for (std::size_t row = 0; row < certificate.duals.size(); ++row) {
    if (certificate.duals[row] == Rational(0)) continue;
    evidence.duals.emplace_back(static_cast<int>(row), certificate.duals[row]);
  }
  return evidence;
}

std::vector<NamedTree> named_trees(const TreePacking& packing, const NodeNames& names,
                                   std::int64_t factor) {
  std::vector<NamedTree> trees;
  for (const Tree& tree : packing.trees) {
    NamedTree& named = trees.emplace_back();
    named.root = tree.root;
    named.count = tree.count * factor;
    for (const TreeEdge& edge : tree.edges) {
      NamedTreeEdge& added = named.edges.emplace_back();
      added.source = edge.source;
      added.target = edge.target;
      for (const int node : edge.through) added.through.push_back(names.of(node));
    }
  }
  return trees;
}

std::int64_t count_of(const TreePacking& packing) {
  std::int64_t count = 0;
  for (const Tree& tree : packing.trees) count += tree.count;
  return count;
}

}  // namespace

Certifier::Certifier(const Fabric& fabric, CertificateSubject subject)
    : fabric_(fabric), subject_(std::move(subject)) {
  if (!is_rooted(subject_.collective)) subject_.root = 0;
  if (subject_.collective != CollectiveKind::AllReduce) {
    (void)demand_of(subject_, fabric.ranks(), 1);
  }
}

Rational Certifier::per_chunk(const Rational& rounds) const {
  return rounds / static_cast<std::int64_t>(chunk_factor(subject_, fabric_.ranks()));
}

Certificate Certifier::steps(const Instance& instance) const {
  const std::vector<std::vector<int>> distance = copying(subject_, instance).distances();
  DistanceEvidence evidence;
  int steps = 0;
  for (const ChunkDemand& chunk : demand_of(subject_, fabric_.ranks(), 1).chunks) {
    for (const int target : chunk.targets) {
      const int hops = distance[at(chunk.source)][at(target)];
      if (hops <= steps) continue;
      steps = hops;
      evidence = {.source = chunk.source, .target = target};
    }
  }
  return {.subject = subject_,
          .claim = {.kind = ClaimKind::Steps, .steps = steps},
          .evidence = evidence};
}

Certificate Certifier::cut(const FlowGraph& graph, const CutBound& bound) const {
  CutEvidence evidence{.devices = NodeNames(fabric_, graph).of_set(bound.cut)};
  if (is_rooted(subject_.collective)) {
    evidence.members = 1;
  } else {
    for (const int member : members_of(graph, subject_.group)) {
      evidence.members += bound.cut[at(member)] != 0 ? 1 : 0;
    }
  }
  for (const FlowEdge& edge : graph.edges) {
    const int from = is_reduction(subject_) ? edge.target : edge.source;
    const int to = is_reduction(subject_) ? edge.source : edge.target;
    if (bound.cut[at(from)] && !bound.cut[at(to)]) evidence.units += edge.units;
  }
  return {.subject = subject_,
          .claim = {.kind = ClaimKind::Rounds,
                    .rounds = per_chunk(bound.value),
                    .unit_Bps = whole_Bps(graph.unit_Bps)},
          .evidence = evidence};
}

Certificate Certifier::rank_cut(const Instance& instance, const RoundsCut& cut) const {
  return {.subject = subject_,
          .claim = {.kind = ClaimKind::Rounds,
                    .rounds = per_chunk(cut.rounds),
                    .unit_Bps = whole_Bps(instance.unit_Bps)},
          .evidence = RankCutEvidence{.ranks = cut.ranks, .limits = cut.limits}};
}

Certificate Certifier::relaxation(const Instance& instance, int steps,
                                  const Deadline& deadline) const {
  const StepRelaxation relaxation =
      step_relaxation(copying(subject_, instance), demand_of(subject_, fabric_.ranks(), 1), steps,
                      {.deadline = deadline});
  return {.subject = subject_,
          .claim = {.kind = ClaimKind::RoundsInSteps,
                    .steps = steps,
                    .rounds = per_chunk(relaxation.rounds),
                    .unit_Bps = whole_Bps(instance.unit_Bps)},
          .evidence = RelaxationEvidence{.copying = Copying::PerChunk,
                                         .dual = dual_evidence(relaxation.certificate)}};
}

std::optional<Certificate> Certifier::lengths(const FlowGraph& graph,
                                              const AllToAllFlow& flow) const {
  if (flow.lengths.lengths.size() != graph.edges.size()) return std::nullopt;
  const NodeNames names(fabric_, graph);
  LengthsEvidence evidence;
  for (std::size_t k = 0; k < graph.edges.size(); ++k) {
    const FlowEdge& edge = graph.edges[k];
    if (flow.lengths.lengths[k] == 0) continue;
    evidence.lengths.push_back(
        {names.of(edge.source), names.of(edge.target), flow.lengths.lengths[k]});
  }
  return Certificate{.subject = subject_,
                     .claim = {.kind = ClaimKind::Rounds,
                               .rounds = per_chunk(flow.rounds),
                               .unit_Bps = whole_Bps(graph.unit_Bps)},
                     .evidence = std::move(evidence)};
}

Certificate Certifier::shares(const FlowGraph& graph, const AllReduceShares& shares) const {
  const NodeNames names(fabric_, graph);
  SharesEvidence evidence{.cuts = {}, .dual = dual_evidence(shares.certificate)};
  for (const ShareCut& cut : shares.cuts) {
    evidence.cuts.push_back({.reduce = cut.reduce, .devices = names.of_set(cut.side)});
  }
  return {.subject = subject_,
          .claim = {.kind = ClaimKind::Rounds,
                    .rounds = Rational(1) / shares.algbw,
                    .unit_Bps = whole_Bps(graph.unit_Bps)},
          .evidence = std::move(evidence)};
}

std::optional<Certificate> Certifier::infeasible(const Instance& instance, const StepTriple& triple,
                                                 const Deadline& deadline) const {
  UnsatCertificate proof;
  if (prove_infeasible(copying(subject_, instance),
                       demand_of(subject_, fabric_.ranks(), triple.chunks), triple.steps,
                       triple.rounds, proof, {.deadline = deadline}) != SatResult::Unsatisfiable ||
      proof.proof.size() > kMaxProofBytes) {
    return std::nullopt;
  }
  return Certificate{
      .subject = subject_,
      .claim = {.kind = ClaimKind::Infeasible,
                .chunks = triple.chunks * chunk_factor(subject_, fabric_.ranks()),
                .steps = triple.steps,
                .rounds = Rational(triple.rounds),
                .unit_Bps = whole_Bps(instance.unit_Bps)},
      .evidence = RefutationEvidence{.formula_hash = hex_digits(fnv1a(proof.formula)),
                                     .proof = std::move(proof.proof)}};
}

Certificate Certifier::schedule(const Instance& instance, int chunks,
                                const StepSchedule& schedule) const {
  ScheduleEvidence evidence{.rounds = schedule.rounds, .sends = {}};
  for (const StepSend& send : schedule.sends) {
    const Hop& hop = instance.hops[at(send.hop)];
    evidence.sends.push_back({send.step, send.chunk, hop.source, hop.target});
  }
  return {.subject = subject_,
          .claim = {.kind = ClaimKind::Reached,
                    .chunks = chunks * chunk_factor(subject_, fabric_.ranks()),
                    .steps = schedule.steps(),
                    .rounds = Rational(schedule.total_rounds()),
                    .unit_Bps = whole_Bps(instance.unit_Bps)},
          .evidence = std::move(evidence)};
}

std::optional<Certificate> Certifier::trees(const FlowGraph& graph,
                                            const std::optional<TreePacking>& inward,
                                            const std::optional<TreePacking>& outward) const {
  const NodeNames names(fabric_, graph);
  std::int64_t parts = 1;  // number for all roots, equal in both directions
  std::size_t edges = 0;
  for (const auto* packing : {&inward, &outward}) {
    if (!*packing) continue;
    parts = std::lcm(parts, count_of(**packing));
    for (const Tree& tree : (*packing)->trees) edges += tree.edges.size();
  }
  if (edges > kMaxTreeEdges) return std::nullopt;
  TreesEvidence evidence;
  Claim claim{.kind = ClaimKind::Reached, .unit_Bps = whole_Bps(graph.unit_Bps)};
  std::vector<std::int64_t> loads(graph.edges.size(), 0);
  for (const auto* packing : {&inward, &outward}) {
    if (!*packing) continue;
    const bool in = packing == &inward;
    const std::int64_t factor = parts / count_of(**packing);
    (in ? evidence.inward : evidence.outward) = named_trees(**packing, names, factor);
    const auto added = edge_loads(in ? graph.reversed() : graph, **packing);
    for (std::size_t k = 0; k < loads.size(); ++k) loads[k] += added[k] * factor;
    claim.steps += (*packing)->depth();
  }
  for (std::size_t k = 0; k < loads.size(); ++k) {
    claim.rounds = std::max(claim.rounds, Rational(loads[k], graph.edges[k].units));
  }
  const bool split =
      !is_rooted(subject_.collective) && subject_.collective != CollectiveKind::AllReduce;
  const auto roots = static_cast<std::int64_t>(members_of(graph, subject_.group).size());
  claim.chunks = static_cast<int>(split ? parts / roots : parts);
  return Certificate{.subject = subject_, .claim = claim, .evidence = std::move(evidence)};
}

}  // namespace cclgym::synthesis
