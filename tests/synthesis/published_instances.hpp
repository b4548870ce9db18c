// Instances of published machines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/index.hpp"
#include "support/shipped_fabric.hpp"
#include "synthesis/instance.hpp"

namespace cclgym::test {

inline synthesis::Instance dgx1_instance() { return synthesis::make_instance(*fabric_of("dgx1")); }

/// A ring with links of one unit in both directions. The bounds of SCCL's Z52 are those of a ring
/// of eight.
inline synthesis::Instance ring_instance(int ranks, const std::string& name = "ring") {
  std::vector<std::vector<std::int64_t>> units(at(ranks), std::vector<std::int64_t>(at(ranks), 0));
  for (int rank = 0; rank < ranks; ++rank) {
    units[at(rank)][at((rank + 1) % ranks)] = 1;
    units[at((rank + 1) % ranks)][at(rank)] = 1;
  }
  return synthesis::link_instance(name, units);
}

}  // namespace cclgym::test
