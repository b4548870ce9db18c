#include "env/fabric_features.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "collectives/algorithm.hpp"
#include "sim/transfer_cost.hpp"
#include "topology_models/metrics.hpp"

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
  // Without switches: is each GPU linked to every other one?
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

Step step_between(const Fabric& fabric, const CostModel& model, int source, int target) {
  const std::vector<LinkId> route = fabric.route(source, target, 0);
  const Config config{.protocol = Protocol::LL};
  const TransferCost cost = transfer_cost(model, fabric, route, config, Runtime::Nccl, 1.0, false);
  const std::vector<double> capacities = link_capacities(fabric, model);
  Step step{cost.latency_s + cost.arrival_s, std::numeric_limits<double>::infinity()};
  for (const LinkId link : route) {
    step.rate_Bps = std::min(step.rate_Bps, capacities[static_cast<std::size_t>(link)]);
  }
  return step;
}

// What a GPU's own links carry, the direction that carries less.
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
  Step slower = near;
  if (fabric.servers() > 1) {
    slower = step_between(fabric, cost_model, 0, fabric.ranks() - 1);
    features.network_alpha_s = slower.alpha_s;
  }
  features.crossover_bytes = slower.alpha_s * slower.rate_Bps;
  return features;
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
  // With fewer crossings than NICs, one each is as even as it gets.
  const double even = static_cast<double>(crossings) / std::max(1, std::min(nics, crossings));
  return even > 0 ? most / even : 1;
}

}  // namespace cclgym
