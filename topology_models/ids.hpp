// The numbers by which the nodes and links of a fabric are known.
#pragma once

#include <cstdint>

namespace cclgym {

using NodeId = std::int32_t;  ///< index into Fabric::nodes()
using LinkId = std::int32_t;  ///< index into Fabric::links()

}  // namespace cclgym
