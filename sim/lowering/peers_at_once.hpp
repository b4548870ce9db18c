// Peers with which the GPUs of a node exchange messages at once.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/outline.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// By thread block: the number of other ranks of its node to which the sender of its messages sends
/// at once, or from which their receiver receives at once, whichever is larger. Only blocks of one
/// kernel whose first step sends, and waits for nothing but the kernel, are sure to send at once:
/// those of an AllToAll or of All-Pairs are among n - 1 peers, those of a ring have 1. All other
/// blocks have 1, too, so a program that begins with one peer and goes on to others counts one.
[[nodiscard]] std::vector<std::int32_t> peers_at_once(const ProgramOutline& outline,
                                                      const Fabric& fabric);

/// Other ranks on the node of every rank, at least 1; nullopt if nodes have different numbers of
/// ranks.
[[nodiscard]] std::optional<int> peers_on_node(const Fabric& fabric);

}  // namespace cclgym
