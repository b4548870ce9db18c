#include "synthesis/certificates/check_reached.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/certificates/node_names.hpp"
#include "synthesis/certificates/subject.hpp"
#include "synthesis/sccl/inversion.hpp"
#include "synthesis/step_schedule.hpp"
#include "synthesis/throughput/bound.hpp"
#include "synthesis/tree_packing.hpp"

namespace cclgym::synthesis {

namespace {

constexpr int kMaxChunks = 1'000'000;
constexpr int kMaxRounds = 1'000'000;
constexpr std::int64_t kMaxTrees = std::int64_t{1} << 32;
constexpr std::int64_t kMaxLoad = std::int64_t{1} << 62;

// The capacity is enough for any load: the maximum load is compared afterwards.
TreePacking packing_of(const std::vector<NamedTree>& trees, const NodeNames& names) {
  TreePacking packing{.trees = {}, .capacity_numerator = kMaxLoad, .capacity_denominator = 1};
  std::int64_t total = 0;
  for (const NamedTree& named : trees) {
    if (named.count < 1 || named.count > kMaxTrees || (total += named.count) > kMaxTrees) {
      throw UserError(fmt::format("a tree of root {} is there {} times", named.root, named.count));
    }
    Tree& tree = packing.trees.emplace_back();
    tree.root = named.root;
    tree.count = named.count;
    for (const NamedTreeEdge& edge : named.edges) {
      TreeEdge& added = tree.edges.emplace_back();
      added.source = edge.source;
      added.target = edge.target;
      for (const std::string& device : edge.through) added.through.push_back(names.node(device));
    }
  }
  return packing;
}

// Parts of every rank's data, by rank; the chunks of the claim.
struct Parts {
  std::vector<std::int64_t> of_rank;
  std::int64_t chunks = 0;
};

Parts parts_of(const TreePacking& packing, const CertificateSubject& subject,
               const FlowGraph& graph) {
  Parts parts;
  const std::vector<int> members = members_of(graph, subject.group);
  parts.of_rank.assign(at(graph.ranks), 0);
  for (const Tree& tree : packing.trees) {
    if (!std::binary_search(members.begin(), members.end(), tree.root)) {
      throw UserError(fmt::format("a tree has the root {}, which takes no part", tree.root));
    }
    parts.of_rank[at(tree.root)] += tree.count;
    parts.chunks += tree.count;
  }
  if (is_rooted(subject.collective)) {
    if (parts.of_rank[at(subject.root)] != parts.chunks) {
      throw UserError(fmt::format("a tree has another root than rank {}", subject.root));
    }
  } else if (subject.collective != CollectiveKind::AllReduce) {
    parts.chunks = parts.of_rank[at(members.front())];
    for (const int member : members) {
      if (parts.of_rank[at(member)] == parts.chunks) continue;
      throw UserError(fmt::format("rank {} has {} trees, but rank {} has {}", members.front(),
                                  parts.chunks, member, parts.of_rank[at(member)]));
    }
  }
  return parts;
}

}  // namespace

std::string check_schedule_evidence(const Fabric& fabric, const CertificateSubject& subject,
                                    const Claim& claim, const ScheduleEvidence& evidence) {
  const Instance instance = make_instance(fabric);
  const int factor = chunk_factor(subject, fabric.ranks());
  if (claim.chunks < 1 || claim.chunks > kMaxChunks || claim.chunks % factor != 0) {
    return fmt::format("there are {} chunks; expected a multiple of {}", claim.chunks, factor);
  }
  if (claim.unit_Bps != whole_Bps(instance.unit_Bps)) {
    return fmt::format("rounds are counted in a link unit of {} B/s; expected {} B/s",
                       claim.unit_Bps, whole_Bps(instance.unit_Bps));
  }
  const Demand demand = demand_of(subject, fabric.ranks(), claim.chunks / factor);
  std::map<std::pair<int, int>, int> hop_between;
  for (std::size_t k = 0; k < instance.hops.size(); ++k) {
    hop_between[{instance.hops[k].source, instance.hops[k].target}] = static_cast<int>(k);
  }
  StepSchedule schedule{.rounds = evidence.rounds};
  for (const int rounds : evidence.rounds) {
    if (rounds < 1 || rounds > kMaxRounds) return fmt::format("a step has {} rounds", rounds);
  }
  for (const RankSend& send : evidence.sends) {
    const auto hop = hop_between.find({send.source, send.target});
    if (hop == hop_between.end()) {
      return fmt::format("step {}: there is no hop from rank {} to rank {}", send.step, send.source,
                         send.target);
    }
    schedule.sends.push_back({send.step, send.chunk, hop->second});
  }
  std::sort(schedule.sends.begin(), schedule.sends.end());
  std::string problem = is_reduction(subject) ? check_reduction(instance, demand, schedule)
                                              : check_schedule(instance, demand, schedule);
  if (!problem.empty()) return problem;
  std::int64_t rounds = 0;
  for (const int of_step : evidence.rounds) rounds += of_step;
  if (schedule.steps() == claim.steps && Rational(rounds) == claim.rounds) return {};
  return fmt::format("the schedule has {} steps and {} rounds; claimed are {} and {}",
                     schedule.steps(), rounds, claim.steps, text_of(claim.rounds));
}

std::string check_trees_evidence(const Fabric& fabric, const CertificateSubject& subject,
                                 const Claim& claim, const TreesEvidence& evidence) {
  const FlowGraph graph = make_flow_graph(fabric);
  const FlowGraph reversed = graph.reversed();
  const NodeNames names(fabric, graph);
  const bool both = subject.collective == CollectiveKind::AllReduce;
  const CollectiveKind copied =
      both ? CollectiveKind::AllGather : inverse_collective(subject.collective);
  if (copied != CollectiveKind::AllGather && copied != CollectiveKind::Broadcast) {
    return fmt::format("{} has no trees", to_string(subject.collective));
  }
  (void)make_demand(copied, fabric.ranks(), 1, subject.root, subject.group);
  if (evidence.inward.empty() == (both || is_reduction(subject)) ||
      evidence.outward.empty() == (both || !is_reduction(subject))) {
    return fmt::format("{} has trees for reductions if it reduces, and for copies if it copies",
                       to_string(subject.collective));
  }
  if (claim.unit_Bps < 1 || claim.rounds <= Rational(0)) return "the claim is out of range";
  // In the link units of the graph.
  const std::int64_t unit_Bps = whole_Bps(graph.unit_Bps);
  if (claim.unit_Bps % unit_Bps != 0) {
    return fmt::format("the link unit of the claim is no multiple of {} B/s", unit_Bps);
  }
  std::vector<std::int64_t> loads(graph.edges.size(), 0);
  std::int64_t chunks = 0;
  int depth = 0;
  std::vector<std::int64_t> parts_inward;
  for (const bool inward : {true, false}) {
    const std::vector<NamedTree>& trees = inward ? evidence.inward : evidence.outward;
    if (trees.empty()) continue;
    const FlowGraph& directed = inward ? reversed : graph;
    const TreePacking packing = packing_of(trees, names);
    if (std::string problem = check_packing(directed, packing, subject.group); !problem.empty()) {
      return problem;
    }
    const std::vector<std::int64_t> added = edge_loads(directed, packing);
    for (std::size_t k = 0; k < loads.size(); ++k) loads[k] += added[k];
    const Parts parts = parts_of(packing, subject, graph);
    chunks = parts.chunks;
    depth += packing.depth();
    if (inward) {
      parts_inward = parts.of_rank;
    } else if (!parts_inward.empty() && parts_inward != parts.of_rank) {
      return "the trees for reductions and for copies have different parts";
    }
  }
  Rational rounds(0);
  for (std::size_t k = 0; k < loads.size(); ++k) {
    rounds = std::max(rounds, Rational(loads[k], graph.edges[k].units));
  }
  rounds *= Rational(claim.unit_Bps / unit_Bps);
  if (chunks == claim.chunks && depth == claim.steps && rounds == claim.rounds) return {};
  return fmt::format("the trees have {} chunks, {} steps and {} rounds; claimed are {}, {} and {}",
                     chunks, depth, text_of(rounds), claim.chunks, claim.steps,
                     text_of(claim.rounds));
}

}  // namespace cclgym::synthesis
