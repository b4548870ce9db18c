#include "topology_models/metrics/nics.hpp"

namespace cclgym {

std::optional<NodeId> nic_towards(const Fabric& fabric, int source, int target, int channel) {
  for (const LinkId id : fabric.route(source, target, channel)) {
    const Link& link = fabric.links()[static_cast<std::size_t>(id)];
    if (link.kind == LinkKind::Network) return link.source;
  }
  return std::nullopt;
}

}  // namespace cclgym
