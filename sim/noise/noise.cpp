#include "sim/noise/noise.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/index.hpp"
#include "sim/noise/noise_background.hpp"
#include "sim/noise/noise_load.hpp"

namespace cclgym {

namespace {

// What of a graph's nodes and links noise changes.
struct Costs {
  std::vector<double> latency_s;     // by node
  std::vector<double> rate_cap_Bps;  // by node
  std::vector<double> capacity_Bps;  // by link
};

Costs costs_of(const TransferGraph& graph) {
  Costs costs;
  for (TransferId node = 0; node < graph.size(); ++node) {
    costs.latency_s.push_back(graph.latency_s(node));
    costs.rate_cap_Bps.push_back(graph.rate_cap_Bps(node));
  }
  const auto capacities = graph.link_capacities_Bps();
  costs.capacity_Bps.assign(capacities.begin(), capacities.end());
  return costs;
}

void copy_routes(const TransferGraph& from, TransferGraph& to) { to.copy_routes(from); }

TransferId copy_node(const TransferGraph& from, TransferId node, double latency_s,
                     double rate_cap_Bps, std::int32_t repeat, TransferGraph& to) {
  return from.route_of(node) < 0
             ? to.add_delay(latency_s, repeat, from.overlapping(node))
             : to.add_flow(from.route_of(node), from.bytes(node), latency_s, rate_cap_Bps, repeat);
}

// Dependencies that are no edges can never be satisfied.
void copy_unsatisfiable(const TransferGraph& from, const std::vector<std::int32_t>& edges_into,
                        const std::vector<TransferId>& first, TransferGraph& to) {
  for (TransferId node = 0; node < from.size(); ++node) {
    for (std::int32_t i = edges_into[at(node)]; i < from.dependencies(node); ++i) {
      to.add_unsatisfiable_dependency(first[at(node)]);
    }
  }
}

std::vector<std::int32_t> count_edges_into(const TransferGraph& graph) {
  std::vector<std::int32_t> edges_into(at(graph.size()), 0);
  for (TransferId node = 0; node < graph.size(); ++node) {
    for (const TransferGraph::Edge& edge : graph.successors(node)) ++edges_into[at(edge.target)];
  }
  return edges_into;
}

std::shared_ptr<const TransferGraph> with_costs(const TransferGraph& graph, const Costs& costs) {
  auto copy = std::make_shared<TransferGraph>();
  copy->set_link_capacities(costs.capacity_Bps);
  copy_routes(graph, *copy);
  std::vector<TransferId> same;
  for (TransferId node = 0; node < graph.size(); ++node) {
    same.push_back(copy_node(graph, node, costs.latency_s[at(node)], costs.rate_cap_Bps[at(node)],
                             graph.repeat(node), *copy));
  }
  for (TransferId node = 0; node < graph.size(); ++node) {
    for (const TransferGraph::Edge& edge : graph.successors(node)) {
      copy->add_edge(node, edge.target, edge.lag);
    }
  }
  copy_unsatisfiable(graph, count_edges_into(graph), same, *copy);
  copy->finish();
  return copy;
}

void degrade_links(Costs& costs, const Fabric& fabric, const NoiseProfile& profile,
                   const NoiseSeed& seed) {
  for (std::size_t id = 0; id < fabric.links().size(); ++id) {
    const Link& link = fabric.links()[id];
    const DegradedLinks& degraded = profile.degraded[static_cast<std::size_t>(link.kind)];
    if (!degraded.any()) continue;
    const auto [low, high] = std::minmax(link.source, link.target);
    Random random = machine_stream(seed, NoiseDraw::DegradedLink, static_cast<std::uint64_t>(low),
                                   static_cast<std::uint64_t>(high));
    if (random.uniform() < degraded.probability) costs.capacity_Bps[id] *= degraded.capacity;
  }
}

// What is left of the rates of each rank's thread blocks.
std::vector<double> rates_of(const Fabric& fabric, const SlowGpus& slow, const NoiseSeed& seed) {
  std::vector<double> rates;
  for (int rank = 0; rank < fabric.ranks(); ++rank) {
    Random random = machine_stream(seed, NoiseDraw::SlowGpu, static_cast<std::uint64_t>(rank));
    const bool named = std::find(slow.ranks.begin(), slow.ranks.end(), rank) != slow.ranks.end();
    rates.push_back(random.uniform() < slow.probability || named ? slow.rate : 1.0);
  }
  return rates;
}

void slow_down(Costs& costs, const LoweredProgram& lowered, const CostModel& model,
               const std::vector<double>& rates) {
  const double instruction_s =
      model.instruction_overhead_s +
      (lowered.outline->runtime == Runtime::Interpreter ? model.interpreter_step_s : 0.0);
  for (TransferId node = 0; node < lowered.graph->size(); ++node) {
    const NodeOrigin& origin = lowered.origins[at(node)];
    if (origin.role != NodeRole::Step) continue;
    double rate = rates[at(origin.rank)];
    if (origin.peer_rank >= 0) rate = std::min(rate, rates[at(origin.peer_rank)]);
    if (rate == 1) continue;
    if (lowered.graph->route_of(node) >= 0) {
      costs.rate_cap_Bps[at(node)] *= rate;
    } else {
      double& latency_s = costs.latency_s[at(node)];
      const double work_s = latency_s - instruction_s;
      if (work_s > 0) latency_s = instruction_s + work_s / rate;
    }
  }
}

// The kind of links that a message's jitter is that of.
LinkKind jitter_kind(const Fabric& fabric, std::span<const std::int32_t> route) {
  bool pcie = false;
  bool nvlink = false;
  for (const std::int32_t id : route) {
    if (at(id) >= fabric.links().size()) continue;  // of the model, not of the fabric
    const LinkKind kind = fabric.links()[at(id)].kind;
    if (kind == LinkKind::Network) return kind;
    pcie = pcie || kind == LinkKind::Pcie;
    nvlink = nvlink || kind == LinkKind::NvLink;
  }
  return pcie ? LinkKind::Pcie : nvlink ? LinkKind::NvLink : LinkKind::Generic;
}

double draw_jitter_s(const MessageJitter& jitter, Random& random) {
  double late_s = lognormal(random, jitter.median_s, jitter.sigma);
  if (random.uniform() < jitter.tail_probability) {
    late_s += pareto(random, jitter.tail_least_s, jitter.tail_shape);
  }
  return late_s;
}

// A message is late where it arrives; if the model has it arrive with its flow, that is late.
void add_jitter(Costs& costs, const LoweredProgram& lowered, const Fabric& fabric,
                const NoiseProfile& profile, const NoiseSeed& seed) {
  const TransferGraph& graph = *lowered.graph;
  std::vector<LinkKind> kinds;
  for (std::int32_t route = 0; route < graph.routes(); ++route) {
    kinds.push_back(jitter_kind(fabric, graph.route_links(route)));
  }
  for (TransferId node = 0; node < graph.size(); ++node) {
    if (graph.route_of(node) < 0) continue;
    const MessageJitter& jitter =
        profile.jitter[static_cast<std::size_t>(kinds[at(graph.route_of(node))])];
    if (!jitter.any()) continue;
    TransferId late = node;
    for (const TransferGraph::Edge& edge : graph.successors(node)) {
      if (lowered.origins[at(edge.target)].role == NodeRole::Arrival) late = edge.target;
    }
    Random random = call_stream(seed, NoiseDraw::MessageJitter, static_cast<std::uint64_t>(node));
    costs.latency_s[at(late)] += draw_jitter_s(jitter, random);
  }
}

std::vector<bool> used_links(const TransferGraph& graph, std::size_t links) {
  std::vector<bool> used(links, false);
  for (std::int32_t route = 0; route < graph.routes(); ++route) {
    for (const std::int32_t link : graph.route_links(route)) used[at(link)] = true;
  }
  return used;
}

bool any_degraded(const NoiseProfile& profile) {
  return std::any_of(profile.degraded.begin(), profile.degraded.end(),
                     [](const DegradedLinks& one) { return one.any(); });
}

// What stays as it is during a call.
void add_stragglers(LoweredProgram& lowered, const Fabric& fabric, const CostModel& model,
                    const NoiseProfile& profile, const NoiseSeed& seed) {
  if (!any_degraded(profile) && !profile.slow_gpus.any()) return;
  Costs costs = costs_of(*lowered.graph);
  degrade_links(costs, fabric, profile, seed);
  if (profile.slow_gpus.any()) {
    slow_down(costs, lowered, model, rates_of(fabric, profile.slow_gpus, seed));
  }
  lowered.graph = with_costs(*lowered.graph, costs);
}

}  // namespace

LoweredProgram unfolded(const LoweredProgram& lowered) {
  const TransferGraph& graph = *lowered.graph;
  if (graph.firings() > kMostUnfolded) {
    throw UserError(fmt::format(
        "noise with jitter simulates each message by itself: {} of them are more than {}; expected "
        "larger tiles, or a profile without jitter",
        graph.firings(), kMostUnfolded));
  }
  auto copy = std::make_shared<TransferGraph>();
  LoweredProgram result = lowered;
  result.origins.clear();
  const auto capacities = graph.link_capacities_Bps();
  copy->set_link_capacities({capacities.begin(), capacities.end()});
  copy_routes(graph, *copy);
  std::vector<TransferId> base;
  for (TransferId node = 0; node < graph.size(); ++node) {
    base.push_back(copy->size());
    for (std::int32_t i = 0; i < graph.repeat(node); ++i) {
      const TransferId firing =
          copy_node(graph, node, graph.latency_s(node), graph.rate_cap_Bps(node), 1, *copy);
      // Firings of a node follow each other.
      if (i > 0 && !graph.overlapping(node)) copy->add_edge(firing - 1, firing);
      result.origins.push_back(lowered.origins[at(node)]);
    }
  }
  for (TransferId node = 0; node < graph.size(); ++node) {
    for (const auto& [target, lag] : graph.successors(node)) {
      if (lag == TransferGraph::kFirstOnly) {
        copy->add_edge(base[at(node)], base[at(target)]);
      } else if (lag == TransferGraph::kAfterLast) {
        copy->add_edge(base[at(node)] + graph.repeat(node) - 1, base[at(target)]);
      } else {
        for (std::int32_t i = lag; i < graph.repeat(target); ++i) {
          if (i - lag < graph.repeat(node)) {
            copy->add_edge(base[at(node)] + i - lag, base[at(target)] + i);
          } else {
            copy->add_unsatisfiable_dependency(base[at(target)] + i);
          }
        }
      }
    }
  }
  copy_unsatisfiable(graph, count_edges_into(graph), base, *copy);
  copy->finish();
  result.graph = std::move(copy);
  for (TransferId& node : result.rank_last) node = base[at(node)] + graph.repeat(node) - 1;
  return result;
}

NoisyProgram apply_noise(LoweredProgram lowered, const Fabric& fabric, const CostModel& model,
                         const NoiseProfile& profile, const NoiseSeed& seed) {
  NoisyProgram noisy;
  noisy.lowered = std::move(lowered);
  add_stragglers(noisy.lowered, fabric, model, profile, seed);
  noisy.graph = noisy.lowered.graph;
  noisy.rank_last = noisy.lowered.rank_last;
  if (profile.any_jitter()) {
    noisy.unfolded = noisy.lowered.graph->folded();
    const LoweredProgram each = noisy.unfolded ? unfolded(noisy.lowered) : noisy.lowered;
    Costs costs = costs_of(*each.graph);
    add_jitter(costs, each, fabric, profile, seed);
    noisy.graph = with_costs(*each.graph, costs);
    noisy.rank_last = each.rank_last;
    if (!noisy.unfolded) noisy.lowered.graph = noisy.graph;
  }
  if (profile.background.any()) {
    const TransferGraph others =
        background_graph(fabric, profile.background, noisy.graph->link_capacities_Bps(), seed);
    if (others.size() > 0) {
      noisy.graph = std::make_shared<TransferGraph>(noisy.graph->with_background(others));
    }
  }
  if (profile.any_load()) {
    const auto now_Bps = noisy.graph->link_capacities_Bps();
    auto load = std::make_unique<LoadProcess>(fabric, profile, now_Bps,
                                              used_links(*noisy.graph, now_Bps.size()), seed);
    if (load->any()) noisy.capacities = std::move(load);
  }
  return noisy;
}

}  // namespace cclgym
