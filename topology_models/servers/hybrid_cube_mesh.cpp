#include "topology_models/servers/hybrid_cube_mesh.hpp"

namespace cclgym {

std::vector<GpuPair> hybrid_cube_mesh() {
  // The list is from SCCL's topology file (msccl/topologies/nvidia.py).
  return {{0, 1, 2}, {0, 2, 1}, {0, 3, 1}, {0, 4, 2}, {1, 2, 1}, {1, 3, 2}, {1, 5, 1}, {2, 3, 2},
          {2, 6, 2}, {3, 7, 1}, {4, 5, 2}, {4, 6, 1}, {4, 7, 1}, {5, 6, 1}, {5, 7, 2}, {6, 7, 2}};
}

}  // namespace cclgym
