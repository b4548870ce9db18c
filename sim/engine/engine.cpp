#include "sim/engine/engine.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/files/companion_library.hpp"
#include "sim/engine/engine_library.hpp"
#include "sim/engine/flow_engine.hpp"
#ifdef CCLGYM_HAVE_SIMGRID
#include "sim/engine/simgrid_adapter.hpp"
#include "sim/engine/simgrid_engine.hpp"
#endif

namespace cclgym {

const std::vector<EngineInfo>& engine_infos() {
  static const std::vector<EngineInfo> infos = {
      {"flow", "cclgym's own flow-level engine: the same times as simgrid, many times faster",
       true},
#ifdef CCLGYM_HAVE_SIMGRID
      {"simgrid", "SimGrid's flow-level network model; the reference; one per process at a time",
       false},
#endif
  };
  return infos;
}

std::unique_ptr<Engine> make_engine(std::string_view name) {
#ifdef CCLGYM_HAVE_SIMGRID
  if (name == "simgrid") {
    return make_simgrid_engine();
  }
#endif
  if (name == "flow") {
    return make_flow_engine();
  }
  std::vector<std::string> names;
  std::transform(engine_infos().begin(), engine_infos().end(), std::back_inserter(names),
                 [](const EngineInfo& info) { return info.name; });
  throw UserError(unknown_name_message("engine", name, names));
}

void load_engine_library([[maybe_unused]] std::string_view engine) {
#ifdef CCLGYM_HAVE_SIMGRID
  if (engine == "simgrid") load_simgrid();
#endif
}

std::string missing_engine_library(std::string_view engine) {
  try {
    load_engine_library(engine);
    return {};
  } catch (const LibraryMissing& missing) {
    return missing.reason();
  }
}

}  // namespace cclgym
