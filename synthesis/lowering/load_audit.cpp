#include "synthesis/lowering/load_audit.hpp"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "collectives/expand_parallel.hpp"
#include "core/error.hpp"
#include "core/index.hpp"

namespace cclgym::synthesis {

namespace {

class LoadSum {
 public:
  LoadSum(const Fabric& fabric, int ranks) : fabric_(fabric), loads_(fabric.links().size(), 0) {
    if (ranks == fabric.ranks()) return;
    throw UserError(fmt::format("a program of {} ranks on fabric '{}', which has {}", ranks,
                                fabric.name(), fabric.ranks()));
  }

  void add(int source, int target, int channel, std::int64_t count, std::int32_t group) {
    const auto [known, is_new] = routes_.try_emplace(std::make_tuple(source, target, channel));
    if (is_new) known->second = fabric_.route(source, target, channel);
    for (const LinkId link : known->second) {
      if (group != kNoGroup && !grouped_.insert({group, link}).second) continue;
      loads_[at(link)] += count;
    }
  }

  [[nodiscard]] std::vector<std::int64_t> loads() && { return std::move(loads_); }

 private:
  const Fabric& fabric_;
  std::vector<std::int64_t> loads_;
  std::map<std::tuple<int, int, int>, std::vector<LinkId>> routes_;
  std::set<std::pair<std::int32_t, LinkId>> grouped_;  ///< links that a group has loaded
};

}  // namespace

std::vector<std::int64_t> link_loads(const Program& program, const Fabric& fabric) {
  assert(!has_partial_operations(program));
  LoadSum sum(fabric, program.contract.ranks());
  for (const Operation& operation : program.operations) {
    if (!operation.remote()) continue;
    sum.add(operation.source.rank, operation.target.rank, std::max(operation.channel, 0),
            operation.count, operation.group);
  }
  return std::move(sum).loads();
}

std::vector<std::int64_t> link_loads(const ThreadBlockProgram& program, const Fabric& fabric) {
  LoadSum sum(fabric, static_cast<int>(program.gpus.size()));
  for (std::size_t rank = 0; rank < program.gpus.size(); ++rank) {
    for (const ThreadBlock& block : program.gpus[rank].thread_blocks) {
      for (const Instruction& step : block.steps) {
        if (!sends(step.opcode)) continue;
        sum.add(static_cast<int>(rank), block.send_peer, block.channel, step.count, step.group);
      }
    }
  }
  return std::move(sum).loads();
}

std::vector<std::int64_t> planned_link_loads(const FlowGraph& graph, const Fabric& fabric,
                                             const TreePacking& packing, bool inward,
                                             bool multicast) {
  if (std::ssize(graph.devices) != graph.nodes) {
    throw UserError(fmt::format("graph '{}' was not made from a fabric", graph.name));
  }
  std::map<std::pair<NodeId, NodeId>, LinkId> links;
  for (std::size_t k = 0; k < fabric.links().size(); ++k) {
    links.try_emplace({fabric.links()[k].source, fabric.links()[k].target}, static_cast<LinkId>(k));
  }
  std::vector<std::int64_t> loads(fabric.links().size(), 0);
  for (const Tree& tree : packing.trees) {
    std::map<std::pair<int, int>, int> stars;  // by rank and switch: edges
    if (multicast) {
      for (const TreeEdge& edge : tree.edges) {
        if (edge.through.size() == 1 && graph.computes[at(edge.through.front())]) {
          ++stars[{edge.source, edge.through.front()}];
        }
      }
    }
    std::set<std::pair<int, LinkId>> grouped;  // by source
    for (const TreeEdge& edge : tree.edges) {
      std::vector<int> path{edge.source};
      path.insert(path.end(), edge.through.begin(), edge.through.end());
      path.push_back(edge.target);
      if (inward) std::reverse(path.begin(), path.end());
      const bool is_group = edge.through.size() == 1 &&
                            stars.contains({edge.source, edge.through.front()}) &&
                            stars.at({edge.source, edge.through.front()}) > 1;
      for (std::size_t k = 0; k + 1 < path.size(); ++k) {
        const auto known = links.find({graph.devices[at(path[k])], graph.devices[at(path[k + 1])]});
        if (known == links.end()) {
          throw UserError(
              fmt::format("fabric '{}' has no link from node {} to node {} of the graph",
                          fabric.name(), path[k], path[k + 1]));
        }
        if (is_group && !grouped.insert({edge.source, known->second}).second) continue;
        loads[at(known->second)] += tree.count;
      }
    }
  }
  return loads;
}

std::string audit_loads(const std::vector<std::int64_t>& loads,
                        const std::vector<std::int64_t>& planned, const Fabric& fabric) {
  // Parallel links from one device to another are one edge of a flow graph.
  std::map<std::pair<NodeId, NodeId>, std::pair<std::int64_t, std::int64_t>> sums;
  for (std::size_t k = 0; k < loads.size(); ++k) {
    const Link& link = fabric.links()[k];
    auto& sum = sums[{link.source, link.target}];
    sum.first += loads[k];
    sum.second += planned.at(k);
  }
  for (const auto& [ends, sum] : sums) {
    if (sum.first == sum.second) continue;
    return fmt::format("{} chunks from {} to {}, but {} in the plan", sum.first,
                       fabric.nodes()[at(ends.first)].name, fabric.nodes()[at(ends.second)].name,
                       sum.second);
  }
  return {};
}

std::string audit_limits(const std::vector<std::int64_t>& loads, const Instance& instance,
                         std::int64_t rounds) {
  for (const Limit& limit : instance.limits) {
    for (const LinkId link : limit.links) {
      if (loads.at(at(link)) <= limit.units * rounds) continue;
      return fmt::format("{} chunks through {}, which carries {} in {} rounds", loads[at(link)],
                         limit.name, limit.units * rounds, rounds);
    }
  }
  return {};
}

double bottleneck_s(const std::vector<std::int64_t>& loads, const Fabric& fabric,
                    double chunk_bytes) {
  double time_s = 0;
  for (std::size_t k = 0; k < loads.size(); ++k) {
    time_s = std::max(
        time_s, static_cast<double>(loads[k]) * chunk_bytes / fabric.links()[k].capacity_Bps());
  }
  return time_s;
}

}  // namespace cclgym::synthesis
