// Channels that differ only in their part of the data.
#pragma once

#include "collectives/outline.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// True if the messages of all channels for which a channel of the outline stands
/// (ProgramOutline::alike_channels) take the same route. Links between network switches do not
/// count under adaptive routing, which chooses among them for each message.
[[nodiscard]] bool channels_route_alike(const ProgramOutline& outline, const Fabric& fabric);

}  // namespace cclgym
