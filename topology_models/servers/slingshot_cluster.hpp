// Clusters of equal nodes on an HPE Slingshot dragonfly. Internal to this layer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "topology_models/servers/server_design.hpp"

namespace cclgym {

/// The dragonfly of a cluster. The switches of a group are divided into blocks (chassis, racks)
/// with one switch per NIC of a node; NIC k of every node in a block is on its switch k.
struct SlingshotDesign {
  int groups = 1;           ///< groups of the entire cluster
  int switches = 32;        ///< switches of a group; a multiple of the NICs of a node
  int servers_a_group = 1;  ///< nodes of a group; a multiple of its blocks
  int local_links = 1;      ///< parallel links between two switches of a group
  int links_a_pair = 1;     ///< links between two groups, at different switches where possible

  [[nodiscard]] int servers() const { return groups * servers_a_group; }
};

/// Builds `parameters.servers` nodes in `parameters.groups` groups, spread evenly; 0: in the fewest
/// groups that hold them, the first group filled first. If one group holds all nodes, the fabric
/// has that group alone, because their traffic does not leave it. Otherwise it has all groups of
/// the cluster, because traffic may pass through groups without nodes. Names are as in InfiniBand
/// clusters; switches are "switch<s>" or "group<g>/switch<s>".
[[nodiscard]] std::shared_ptr<const Fabric> build_slingshot_cluster(
    const std::string& name, const ServerDesign& design, const SlingshotDesign& network,
    const FabricParameters& parameters);

/// The facts of a fabric followed by the facts that all Slingshot fabrics share. `block` is the
/// word for a block of switches: "chassis".
[[nodiscard]] std::vector<FabricFact> with_slingshot_facts(std::vector<FabricFact> own,
                                                           const std::string& block);

}  // namespace cclgym
