// Ids of the nodes and links of a fabric.
#pragma once

#include <cstdint>

namespace cclgym {

using NodeId = std::int32_t;  ///< index into Fabric::nodes()
using LinkId = std::int32_t;  ///< index into Fabric::links()

}  // namespace cclgym
