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

// The switches of a fat tree. NIC k of a node is linked to leaf(node, k).
class Tree {
 public:
  Tree(FabricBuilder& builder, const ServerDesign& design, const FabricParameters& parameters)
      : per_leaf_(parameters.servers_per_leaf), rails_(parameters.rails ? design.nics : 1) {
    const int units = (parameters.servers + per_leaf_ - 1) / per_leaf_;
    if (!parameters.rails && (parameters.oversubscription == 1 || units == 1)) {
      leaves_ = {add_switch(builder, "network", parameters.sharp)};
      return;
    }
    const int nics = per_leaf_ * design.nics / rails_;
    const int uplinks =
        std::max(1, static_cast<int>(std::lround(nics / parameters.oversubscription)));
    const NodeId spine = add_switch(builder, "spine", parameters.sharp);
    for (int unit = 0; unit < units; ++unit) {
      for (int rail = 0; rail < rails_; ++rail) {
        const std::string name = !parameters.rails ? fmt::format("leaf{}", unit)
                                 : units == 1      ? fmt::format("rail{}", rail)
                                                   : fmt::format("leaf{}/rail{}", unit, rail);
        leaves_.push_back(add_switch(builder, name, parameters.sharp));
        builder.add_duplex_link({.source = leaves_.back(),
                                 .target = spine,
                                 .kind = LinkKind::Network,
                                 .latency_s = kSwitchLatency_s,
                                 .unit_bandwidth_Bps = design.nic_Bps,
                                 .multiplicity = uplinks,
                                 .latency_stated = true});
      }
    }
  }

  [[nodiscard]] NodeId leaf(std::size_t server, std::size_t nic) const {
    if (leaves_.size() == 1) return leaves_.front();
    const auto rails = static_cast<std::size_t>(rails_);
    return leaves_[server / static_cast<std::size_t>(per_leaf_) * rails + nic % rails];
  }

 private:
  int per_leaf_;
  int rails_;  // leaves of the same nodes
  std::vector<NodeId> leaves_;
};

}  // namespace

std::shared_ptr<const Fabric> build_infiniband_cluster(const std::string& name,
                                                       const ServerDesign& design,
                                                       const FabricParameters& parameters) {
  FabricBuilder builder(name);
  builder.set_host(design.host);
  builder.set_gpu_model(design.gpu_model);
  builder.set_network(design.network);
  builder.set_cost_model(design.cost_model);
  std::vector<std::vector<NodeId>> nics;
  for (int server = 0; server < parameters.servers; ++server) {
    const std::string prefix = parameters.servers > 1 ? fmt::format("server{}/", server) : "";
    nics.push_back(add_server(builder, design, parameters, server, prefix));
  }
  const Tree tree(builder, design, parameters);
  for (std::size_t server = 0; server < nics.size(); ++server) {
    for (std::size_t nic = 0; nic < nics[server].size(); ++nic) {
      link_to_network(builder, nics[server][nic], tree.leaf(server, nic), design.nic_Bps);
    }
  }
  return builder.build();
}

}  // namespace cclgym
