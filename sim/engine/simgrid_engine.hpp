// Engine `simgrid`: the reference.
#pragma once

#include <memory>

#include "sim/engine/engine.hpp"

namespace cclgym {

/// SimGrid keeps its state in process-wide singletons, so only one such engine may be alive in a
/// process, in any thread: a second one throws std::logic_error. A parallel caller uses processes.
[[nodiscard]] std::unique_ptr<Engine> make_simgrid_engine();

}  // namespace cclgym
