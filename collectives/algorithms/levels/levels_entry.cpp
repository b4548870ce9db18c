// Collectives over levels of ranks, as in PCCL (Singh et al., "The Big Send-off", arXiv
// 2504.18658): AllGather runs concurrent groups across nodes, one for each rank of a node, then
// groups in each node, and then puts the slices in order; ReduceScatter is the reverse, and
// AllReduce is a ReduceScatter and an AllGather.
//
// Every level and the shuffle are kernels of their own, as in PCCL, where each is a library call.
// They run in place with one chunk per slice; in each kernel, `channels` instances have an equal
// part of the data (parallelize).
#include <fmt/format.h>
#include <string>
#include <utility>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/levels/level_phases.hpp"
#include "collectives/algorithms/levels/level_plan.hpp"
#include "core/error.hpp"

namespace cclgym::algorithms {

namespace {

AlgorithmEntry levels_entry(std::string name, std::string description, const LevelPlan& plan) {
  AlgorithmEntry entry;
  entry.name = name;
  entry.description = std::move(description);
  entry.collectives = {CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
                       CollectiveKind::AllReduce};
  entry.traits = plan.traits;
  entry.across_servers = name;
  if (!plan.factors.empty()) {
    int ranks = 1;
    for (const int factor : plan.factors) ranks *= factor;
    entry.ranks = RankRule::exactly(ranks);
    entry.ranks.text +=
        fmt::format(", the product of its factors {}", fmt::join(plan.factors, "x"));
  }
  entry.check = [plan](const AlgorithmRequest& request) { return check_levels(plan, request); };
  entry.trace = [plan, name](const AlgorithmRequest& request) {
    const LevelLayout layout(plan, request);
    const bool whole = request.collective == CollectiveKind::AllReduce;
    ProgramBuilder p(
        name, Contract::make(request.collective, request.ranks, whole ? request.ranks : 1, true));
    trace_phases(p, layout, level_phases(layout, plan.shuffle, request.collective),
                 request.channels);
    return p.finish();
  };
  entry.different_channels = [plan](const AlgorithmRequest& request) {
    const int period = LevelLayout(plan, request).different_channels();
    return DifferentChannels{.count = period, .period = period};
  };
  entry.outline = [plan, name](const AlgorithmRequest& request) {
    return levels_outline(plan, request, name);
  };
  return entry;
}

}  // namespace

const std::string& levels_form() {
  static const std::string form = "hierarchical:FACTORS:ALGORITHMS[:OPTION...]";
  return form;
}

bool spells_levels(std::string_view name) { return name.starts_with("hierarchical:"); }

AlgorithmEntry spelled_levels_entry(std::string_view name) {
  try {
    const LevelPlan plan = parse_level_plan(name.substr(name.find(':') + 1));
    AlgorithmEntry entry =
        levels_entry(std::string(name), "a collective over levels of ranks", plan);
    entry.spelled = true;
    return entry;
  } catch (const UserError& error) {
    throw UserError(fmt::format("algorithm {}: {}", quoted(name, 200), error.what()));
  }
}

AlgorithmEntry pccl_ring_entry() {
  return levels_entry("pccl-ring", "PCCL: rings across nodes, rings in nodes, and a local shuffle",
                      {.algorithms = {LevelAlgorithm::Ring}});
}

AlgorithmEntry pccl_rec_entry() {
  return levels_entry(
      "pccl-rec",
      "PCCL: recursive doubling or halving across nodes, rings in nodes, and a local shuffle",
      {.algorithms = {LevelAlgorithm::Ring, LevelAlgorithm::Recursive}});
}

}  // namespace cclgym::algorithms
