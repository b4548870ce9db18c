// For programs that contain SimGrid.
#include "sim/engine/simgrid_adapter.hpp"

namespace cclgym {

std::unique_ptr<SimgridPlatform> make_simgrid_platform(const TransferGraph& graph,
                                                       SimgridListener& listener, bool elastic) {
  return std::unique_ptr<SimgridPlatform>(cclgym_new_simgrid_platform(&graph, &listener, elastic));
}

void load_simgrid() {}

}  // namespace cclgym
