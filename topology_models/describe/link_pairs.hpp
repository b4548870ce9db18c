// Directed links paired into duplex links, as people count and draw them. Internal to this layer.
#pragma once

#include <vector>

#include "topology_models/fabric.hpp"

namespace cclgym {

struct LinkPair {
  Link link;            ///< the link with the lower id
  bool duplex = false;  ///< true if there is an equal link in the other direction
};

/// The fabric's links in the order of their ids, with equal links of opposite directions paired.
[[nodiscard]] std::vector<LinkPair> link_pairs(const Fabric& fabric);

}  // namespace cclgym
