// Parts of a fabric: without failed links, NICs, switches or GPUs, or its first nodes only.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "topology_models/fabric.hpp"

namespace cclgym {

/// Copy of a fabric without some of its parts. `parts` is a list with commas between its items: a
/// device ("server0/nic1", "gpu3"), which goes with all its links, or the links between two devices
/// in both directions ("gpu0:gpu4"); blanks around an item do not count. If GPUs are left out, the
/// others keep their order, so that ranks are numbered anew. The copy is called "NAME
/// without=LABEL", with the label of label_of_parts().
///
/// Throws UserError, with the nearest device, if a part does not exist; if the rest is not
/// connected; and for a dragonfly, whose minimal routes are assigned to links that must exist.
[[nodiscard]] std::shared_ptr<const Fabric> fabric_without(const Fabric& fabric,
                                                           std::string_view parts);

/// Copy of a fabric with only the devices of its first `servers` cluster nodes, fewer than it has,
/// and the switches between them. It keeps the name.
[[nodiscard]] std::shared_ptr<const Fabric> first_servers(const Fabric& fabric, int servers);

/// "gpu0:gpu4+gpu1:gpu5" for "gpu0:gpu4, gpu1:gpu5": labels in results have neither commas nor
/// blanks in a value.
[[nodiscard]] std::string label_of_parts(std::string_view parts);

}  // namespace cclgym
