#include "experiments/schedules/library_points.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "collectives/expand_parallel.hpp"
#include "collectives/library/algorithm_library.hpp"
#include "collectives/library/logical_rings.hpp"
#include "core/error.hpp"
#include "core/index.hpp"
#include "cost_models/nccl/nccl_tree_pattern.hpp"
#include "sim/simulator.hpp"
#include "synthesis/lowering/load_audit.hpp"

namespace cclgym {

namespace {

constexpr int kMaxTracedRanks = 64;  // beyond, traced programs take seconds

using ChunkPlace = std::tuple<int, Buffer, int>;

// Hops from GPU to GPU on the route of a message: more than one if GPUs relay it.
int hops_of(const Fabric& fabric, int source, int target) {
  int hops = 0;
  for (const LinkId id : fabric.route(source, target, 0)) {
    const Link& link = fabric.links()[at(id)];
    hops += fabric.nodes()[at(link.target)].kind == NodeKind::Gpu ? 1 : 0;
  }
  return hops;
}

int steps_of(const Program& program, const Fabric& fabric) {
  if (has_partial_operations(program)) return steps_of(expand_parallel(program), fabric);
  std::map<std::pair<int, int>, int> hops;
  std::map<ChunkPlace, int> depth;
  int longest = 0;
  for (const Operation& one : program.operations) {
    int added = 0;
    if (one.remote()) {
      const auto [known, is_new] = hops.try_emplace({one.source.rank, one.target.rank}, 0);
      if (is_new) known->second = hops_of(fabric, one.source.rank, one.target.rank);
      added = known->second;
    }
    for (int k = 0; k < one.count; ++k) {
      const auto source = depth.find({one.source.rank, one.source.buffer, one.source.index + k});
      const int sent = (source == depth.end() ? 0 : source->second) + added;
      int& target = depth[{one.target.rank, one.target.buffer, one.target.index + k}];
      target = one.kind == OperationKind::Reduce ? std::max(target, sent) : sent;
      longest = std::max(longest, target);
    }
  }
  return longest;
}

// Chunks of a call per chunk of C.
int slices_of(CollectiveKind collective, int ranks) {
  switch (collective) {
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::Gather:
      return ranks;
    default:
      return 1;
  }
}

}  // namespace

std::vector<FrontPoint> library_points(const Fabric& fabric, CollectiveKind collective, int root,
                                       double unit_Bps) {
  std::vector<FrontPoint> points;
  if (fabric.ranks() > kMaxTracedRanks) return points;
  const std::vector<std::vector<int>> rings = logical_rings(fabric);
  for (const std::string name : {"ring", "tree", "naive", "all-pairs"}) {
    const AlgorithmEntry& entry = AlgorithmLibrary::shipped().at(name);
    if (!supports(entry, collective) || check_ranks(entry, fabric.ranks()) ||
        !check_switches(entry, fabric).empty()) {
      continue;
    }
    const Program program =
        trace_algorithm(entry, {.collective = collective,
                                .ranks = fabric.ranks(),
                                .channels = std::max(static_cast<int>(rings.size()), 1),
                                .root = root,
                                .rings = rings,
                                .ranks_per_server = fabric.ranks_per_server().value_or(0),
                                .tree_children = child_places(tree_pattern(fabric)),
                                .tree_orders = tree_orders(fabric)});
    const std::vector<std::int64_t> loads = synthesis::link_loads(program, fabric);
    double rounds = 0;
    for (std::size_t k = 0; k < loads.size(); ++k) {
      rounds = std::max(
          rounds, static_cast<double>(loads[k]) * unit_Bps / fabric.links()[k].capacity_Bps());
    }
    const double chunks = static_cast<double>(program.contract.chunks_per_call()) /
                          slices_of(collective, fabric.ranks());
    FrontPoint point{.name = name,
                     .steps = static_cast<double>(steps_of(program, fabric)),
                     .rounds_per_chunk = rounds / chunks,
                     .synthesised = false};
    const auto same = std::find_if(points.begin(), points.end(), [&](const FrontPoint& other) {
      return other.steps == point.steps && other.rounds_per_chunk == point.rounds_per_chunk;
    });
    if (same == points.end()) {
      points.push_back(std::move(point));
    } else {
      same->name += ", " + name;
    }
  }
  return points;
}

}  // namespace cclgym
