#include "topology_models/servers/infiniband_cluster.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>

namespace cclgym {

namespace {

// NVIDIA Quantum QM8700 (HDR) data sheet: below 130 ns from port to port.
constexpr double kSwitchLatency_s = 0.13e-6;

NodeId add_switch(FabricBuilder& builder, const std::string& name, bool sharp) {
  return builder.add_node(
      {.name = name, .kind = NodeKind::NetworkSwitch, .server = -1, .computes = sharp});
}

// Switches to which the NICs of each leaf's nodes are linked.
std::vector<NodeId> add_tree(FabricBuilder& builder, const ServerDesign& design,
                             const FabricParameters& parameters) {
  const int leaves =
      (parameters.servers + parameters.servers_per_leaf - 1) / parameters.servers_per_leaf;
  if (parameters.oversubscription == 1 || leaves == 1)
    return {add_switch(builder, "network", parameters.sharp)};
  const int nics = parameters.servers_per_leaf * design.nics;
  const int uplinks =
      std::max(1, static_cast<int>(std::lround(nics / parameters.oversubscription)));
  std::vector<NodeId> all;
  const NodeId spine = add_switch(builder, "spine", parameters.sharp);
  for (int leaf = 0; leaf < leaves; ++leaf) {
    all.push_back(add_switch(builder, fmt::format("leaf{}", leaf), parameters.sharp));
    builder.add_duplex_link({.source = all.back(),
                             .target = spine,
                             .kind = LinkKind::Network,
                             .latency_s = kSwitchLatency_s,
                             .unit_bandwidth_Bps = design.nic_Bps,
                             .multiplicity = uplinks,
                             .latency_stated = true});
  }
  return all;
}

}  // namespace

std::shared_ptr<const Fabric> build_infiniband_cluster(const std::string& name,
                                                       const ServerDesign& design,
                                                       const FabricParameters& parameters) {
  FabricBuilder builder(name);
  builder.set_gpu_model(design.gpu_model);
  std::vector<std::vector<NodeId>> nics;
  for (int server = 0; server < parameters.servers; ++server) {
    const std::string prefix = parameters.servers > 1 ? fmt::format("server{}/", server) : "";
    nics.push_back(add_server(builder, design, parameters, server, prefix));
  }
  const std::vector<NodeId> leaves = add_tree(builder, design, parameters);
  for (std::size_t server = 0; server < nics.size(); ++server) {
    const std::size_t leaf =
        leaves.size() == 1 ? 0 : server / static_cast<std::size_t>(parameters.servers_per_leaf);
    for (const NodeId nic : nics[server]) {
      link_to_network(builder, nic, leaves[leaf], design.nic_Bps);
    }
  }
  return builder.build();
}

}  // namespace cclgym
