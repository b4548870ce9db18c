// Directed links joined to duplex links, as people count and draw them. Internal to this layer.
#pragma once

#include <vector>

#include "topology_models/fabric.hpp"

namespace cclgym {

struct LinkPair {
  Link link;            ///< the one with the lower id
  bool duplex = false;  ///< is there an equal link the other way?
};

/// The fabric's links in the order of their ids, each that has an equal one the other way together
/// with it.
[[nodiscard]] std::vector<LinkPair> link_pairs(const Fabric& fabric);

}  // namespace cclgym
