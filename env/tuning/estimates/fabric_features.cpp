#include "env/tuning/estimates/fabric_features.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "collectives/library/algorithm_library.hpp"
#include "collectives/library/logical_rings.hpp"
#include "core/index.hpp"
#include "sim/prices/transfer_cost.hpp"
#include "topology_models/metrics/metrics.hpp"

namespace cclgym {

namespace {

const Node& node_of(const Fabric& fabric, NodeId id) {
  return fabric.nodes()[static_cast<std::size_t>(id)];
}
const Link& link_of(const Fabric& fabric, LinkId id) {
  return fabric.links()[static_cast<std::size_t>(id)];
}

ServerShape server_shape(const Fabric& fabric) {
  std::map<NodeId, std::set<NodeId>> gpus_of_switch;
  std::set<NodeId> gpus;
  for (int rank = 0; rank < fabric.ranks(); ++rank) {
    if (fabric.server_of(rank) == fabric.server_of(0)) gpus.insert(fabric.gpu(rank));
  }
  for (const Link& link : fabric.links()) {
    if (gpus.contains(link.source) && node_of(fabric, link.target).kind == NodeKind::NvSwitch) {
      gpus_of_switch[link.target].insert(link.source);
    }
  }
  if (!gpus_of_switch.empty()) {
    const bool all = std::ranges::all_of(
        gpus_of_switch, [&](const auto& one) { return one.second.size() == gpus.size(); });
    return all ? ServerShape::Flat : ServerShape::TwoBoard;
  }
  // Without switches, each GPU must be linked to every other one.
  for (const NodeId gpu : gpus) {
    std::set<NodeId> next{gpu};
    for (const Link& link : fabric.links()) {
      if (link.source == gpu && gpus.contains(link.target)) next.insert(link.target);
    }
    if (next.size() != gpus.size()) return ServerShape::Mesh;
  }
  return ServerShape::Flat;
}

struct Step {
  double alpha_s = 0;
  double rate_Bps = 0;
};

TransferCost cost_between(const Fabric& fabric, const CostModel& model, int source, int target,
                          Protocol protocol, double bytes) {
  const std::vector<LinkId> route = fabric.route(source, target, 0);
  const Config config{.protocol = protocol};
  return transfer_cost(model, fabric, route, config, {.runtime = Runtime::Nccl}, bytes, false);
}

Step step_between(const Fabric& fabric, const CostModel& model, int source, int target) {
  const std::vector<LinkId> route = fabric.route(source, target, 0);
  const TransferCost cost = cost_between(fabric, model, source, target, Protocol::LL, 1);
  const std::vector<double> capacities = link_capacities(fabric, model);
  Step step{cost.latency_s + cost.arrival_s, std::numeric_limits<double>::infinity()};
  for (const LinkId link : route) {
    step.rate_Bps = std::min(step.rate_Bps, capacities[static_cast<std::size_t>(link)]);
  }
  return step;
}

ProtocolFeatures protocol_features(const Fabric& fabric, const CostModel& model,
                                   Protocol protocol) {
  const auto alpha_s = [&](int target) {
    const TransferCost cost = cost_between(fabric, model, 0, target, protocol, 1);
    return cost.latency_s + cost.arrival_s;
  };
  constexpr double kLarge = 1 << 20;
  return {.alpha_s = alpha_s(1),
          .network_alpha_s = alpha_s(fabric.servers() > 1 ? fabric.ranks() - 1 : 1),
          .wire_share = cost_between(fabric, model, 0, 1, protocol, kLarge).wire_bytes / kLarge};
}

// Seconds per byte on the busiest link if every pair of neighbours on the logical rings passes on
// its ring's share of the bytes. With `both_ways`, data flows in both directions, but not between
// the last and the first GPU of a ring.
double busiest_s_per_B(const Fabric& fabric, const CostModel& model, bool both_ways) {
  const std::vector<double> capacities = link_capacities(fabric, model);
  const std::vector<std::vector<int>> rings = logical_rings(fabric);
  std::vector<double> load(fabric.links().size(), 0);
  for (std::size_t channel = 0; channel < rings.size(); ++channel) {
    const std::vector<int>& ring = rings[channel];
    const auto pass = [&](int source, int target) {
      for (const LinkId link : fabric.route(source, target, static_cast<int>(channel))) {
        load[static_cast<std::size_t>(link)] += 1.0 / static_cast<double>(rings.size());
      }
    };
    for (std::size_t i = 0; i + (both_ways ? 1 : 0) < ring.size(); ++i) {
      pass(ring[i], ring[(i + 1) % ring.size()]);
      if (both_ways) pass(ring[i + 1], ring[i]);
    }
  }
  double most = 0;
  for (std::size_t link = 0; link < load.size(); ++link) {
    if (load[link] > 0) most = std::max(most, load[link] / capacities[link]);
  }
  return most;
}

// Rate of a GPU's own links in the slower direction.
double gpu_rate_Bps(const Fabric& fabric, const CostModel& model) {
  const std::vector<double> capacities = link_capacities(fabric, model);
  double out = 0;
  double in = 0;
  for (std::size_t id = 0; id < fabric.links().size(); ++id) {
    if (fabric.links()[id].kind == LinkKind::Pcie) continue;
    if (fabric.links()[id].source == fabric.gpu(0)) out += capacities[id];
    if (fabric.links()[id].target == fabric.gpu(0)) in += capacities[id];
  }
  return std::min(out, in);
}

}  // namespace

FabricFeatures fabric_features(const Fabric& fabric, const CostModel& cost_model) {
  FabricFeatures features;
  features.server = server_shape(fabric);
  features.ranks = fabric.ranks();
  features.servers = fabric.servers();
  features.sharp = std::ranges::any_of(fabric.nodes(), &Node::computes);
  if (fabric.servers() > 1) {
    features.network = fabric.dragonfly() ? NetworkShape::Dragonfly : NetworkShape::Switched;
    for (const Node& node : fabric.nodes()) {
      features.nics += node.kind == NodeKind::Nic && node.server == 0 ? 1 : 0;
    }
    int gpus = 0;
    for (int rank = 0; rank < fabric.ranks(); ++rank) gpus += fabric.server_of(rank) == 0 ? 1 : 0;
    features.nics_per_pair = gpus > 0 ? 2.0 * features.nics / gpus : 0;
  }
  features.diameter = diameter(fabric).value.value_or(0);
  const auto unit = link_unit_Bps(fabric).value;
  const auto rounds = inverse_bisection(fabric).value;
  if (unit && rounds && *unit > 0) {
    features.inverse_bisection_s_per_B = boost::rational_cast<double>(*rounds) / *unit;
  }
  if (fabric.ranks() < 2) return features;
  const Step near = step_between(fabric, cost_model, 0, 1);
  features.alpha_s = near.alpha_s;
  features.rank_rate_Bps = gpu_rate_Bps(fabric, cost_model);
  if (features.rank_rate_Bps <= 0) features.rank_rate_Bps = near.rate_Bps;
  for (const Protocol protocol : all_protocols()) {
    features.protocols[static_cast<std::size_t>(protocol)] =
        protocol_features(fabric, cost_model, protocol);
  }
  Step slower = near;
  if (fabric.servers() > 1) {
    slower = step_between(fabric, cost_model, 0, fabric.ranks() - 1);
    features.network_alpha_s = slower.alpha_s;
  }
  features.ring_s_per_B = busiest_s_per_B(fabric, cost_model, false);
  // In double binary trees, a node sends its data to another node once if there are two nodes, else
  // twice.
  features.tree_s_per_B = fabric.servers() == 1
                              ? busiest_s_per_B(fabric, cost_model, true)
                              : features.ring_s_per_B * std::min(fabric.servers() - 1, 2);
  features.crossover_bytes = slower.alpha_s * slower.rate_Bps;
  return features;
}

double direct_sends_s_per_B(const Fabric& fabric, const CostModel& model) {
  const std::vector<double> capacities = link_capacities(fabric, model);
  std::vector<double> load(fabric.links().size(), 0);
  const double share = 1.0 / fabric.ranks();
  for (int source = 0; source < fabric.ranks(); ++source) {
    for (int target = 0; target < fabric.ranks(); ++target) {
      if (source == target) continue;
      for (const LinkId link : fabric.route(source, target, 0)) load[at(link)] += share;
    }
  }
  double most = 0;
  for (std::size_t link = 0; link < load.size(); ++link) {
    if (load[link] > 0) most = std::max(most, load[link] / capacities[link]);
  }
  return most;
}

CollectiveBounds collective_bounds(const FabricFeatures& fabric, CollectiveKind collective,
                                   double bytes) {
  const double rank_s = fabric.rank_rate_Bps > 0 ? bytes / fabric.rank_rate_Bps : 0;
  const double others = static_cast<double>(fabric.ranks - 1) / fabric.ranks;
  const double gathered_s = fabric.inverse_bisection_s_per_B * bytes / fabric.ranks;
  switch (collective) {
    case CollectiveKind::AllReduce:
      return {2 * fabric.diameter, 2 * gathered_s};
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
      return {fabric.diameter, gathered_s};
    case CollectiveKind::AllToNext:
      return {1, rank_s};
    case CollectiveKind::Broadcast:
    case CollectiveKind::Reduce:
      return {fabric.diameter, rank_s};
    default:
      return {fabric.diameter, others * rank_s};
  }
}

double alpha_beta_time_s(const FabricFeatures& fabric, CollectiveKind collective, double bytes,
                         PlanShape shape, Protocol protocol) {
  const ProtocolFeatures& p = fabric.protocols[static_cast<std::size_t>(protocol)];
  const double ranks = fabric.ranks;
  const double servers = fabric.servers;
  const double near_steps = ranks - servers;
  const double wire_bytes = bytes * p.wire_share;
  const double share_s = (ranks - 1) / ranks * wire_bytes * fabric.ring_s_per_B;
  const auto doublings = [](double n) {
    return static_cast<double>(std::bit_width(static_cast<std::uint64_t>(std::max(n - 1, 0.0))));
  };
  const double lap_s =
      servers > 1 ? near_steps * p.alpha_s + servers * p.network_alpha_s : near_steps * p.alpha_s;
  const bool reduces_and_gathers = collective == CollectiveKind::AllReduce;
  if (reduces_and_gathers || collective == CollectiveKind::AllGather ||
      collective == CollectiveKind::ReduceScatter) {
    if (shape == PlanShape::Ring) return (reduces_and_gathers ? 2 : 1) * (lap_s + share_s);
    if (!reduces_and_gathers) return doublings(ranks) * p.network_alpha_s + share_s;
    const double chain_s = (ranks / servers - 1) * p.alpha_s;
    return 2 * (chain_s + doublings(servers) * p.network_alpha_s) +
           wire_bytes * fabric.tree_s_per_B;
  }
  return p.network_alpha_s + share_s;
}

double nic_imbalance(const Fabric& fabric, int channels) {
  if (fabric.servers() < 2) return 1;
  const std::vector<std::vector<int>> rings = logical_rings(fabric);
  std::map<NodeId, int> load;
  int crossings = 0;
  for (int channel = 0; channel < channels; ++channel) {
    const std::vector<int>& ring = rings[static_cast<std::size_t>(channel) % rings.size()];
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const int source = ring[i];
      const int target = ring[(i + 1) % ring.size()];
      if (fabric.server_of(source) != 0 || fabric.server_of(target) == 0) continue;
      ++crossings;
      for (const LinkId link : fabric.route(source, target, channel)) {
        const Link& passed = link_of(fabric, link);
        if (node_of(fabric, passed.source).kind == NodeKind::Nic &&
            node_of(fabric, passed.source).server == 0) {
          ++load[passed.source];
        }
      }
    }
  }
  int nics = 0;
  for (const Node& node : fabric.nodes()) {
    nics += node.kind == NodeKind::Nic && node.server == 0 ? 1 : 0;
  }
  int most = 0;
  for (const auto& [nic, count] : load) most = std::max(most, count);
  // With fewer crossings than NICs, one crossing per NIC is the most even split.
  const double even = static_cast<double>(crossings) / std::max(1, std::min(nics, crossings));
  return even > 0 ? most / even : 1;
}

}  // namespace cclgym
