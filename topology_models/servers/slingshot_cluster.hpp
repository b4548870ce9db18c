// Clusters of equal servers on an HPE Slingshot dragonfly. Internal to this layer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "topology_models/servers/server_design.hpp"

namespace cclgym {

/// The dragonfly of a machine. The switches of a group fall into blocks (chassis, racks) of as many
/// switches as a server has NICs; NIC k of every server of a block sits on its switch k.
struct SlingshotDesign {
  int groups = 1;           ///< of the whole machine
  int switches = 32;        ///< of a group; a multiple of the NICs of a server
  int servers_a_group = 1;  ///< a multiple of the blocks of a group
  int local_links = 1;      ///< parallel links between two switches of a group
  int links_a_pair = 1;     ///< links between two groups, at different switches where possible

  [[nodiscard]] int servers() const { return groups * servers_a_group; }
};

/// `parameters.servers` such servers in `parameters.groups` groups (0: as few as hold them), the
/// first group filled first if that is 0, else evenly. Servers that fit in one group get that group
/// alone: their traffic does not leave it. Otherwise all groups of the machine are there, for
/// traffic may lead through those that hold none of the servers. Names as in InfiniBand clusters;
/// switches are "switch<s>", or "group<g>/switch<s>".
[[nodiscard]] std::shared_ptr<const Fabric> build_slingshot_cluster(
    const std::string& name, const ServerDesign& design, const SlingshotDesign& network,
    const FabricParameters& parameters);

/// The facts of a fabric followed by those that all Slingshot fabrics share. `block` is what a
/// block of switches is called: "chassis".
[[nodiscard]] std::vector<FabricFact> with_slingshot_facts(std::vector<FabricFact> own,
                                                           const std::string& block);

}  // namespace cclgym
