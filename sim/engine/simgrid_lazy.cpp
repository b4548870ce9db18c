// For programs that load SimGrid when they first need it.
#include "core/files/companion_library.hpp"
#include "sim/engine/simgrid_adapter.hpp"

namespace cclgym {

namespace {

decltype(&cclgym_new_simgrid_platform) simgrid() {
  static const auto make = reinterpret_cast<decltype(&cclgym_new_simgrid_platform)>(
      companion_function("libcclgym-simgrid.so", "cclgym_new_simgrid_platform", "engine simgrid",
                         "use engine flow: --engine flow, or engine: flow in an experiment"));
  return make;
}

}  // namespace

std::unique_ptr<SimgridPlatform> make_simgrid_platform(const TransferGraph& graph,
                                                       SimgridListener& listener, bool elastic) {
  return std::unique_ptr<SimgridPlatform>(simgrid()(&graph, &listener, elastic));
}

void load_simgrid() { (void)simgrid(); }

}  // namespace cclgym
