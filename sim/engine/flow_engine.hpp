// Engine `flow`: event-driven, flow-level, exact max-min fair sharing.
#pragma once

#include <memory>

#include "sim/engine/engine.hpp"

namespace cclgym {

/// Any number of these may exist, in any threads, and may share one graph.
[[nodiscard]] std::unique_ptr<Engine> make_flow_engine();

}  // namespace cclgym
