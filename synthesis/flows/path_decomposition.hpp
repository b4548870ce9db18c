// Flows as paths: the clean-up after a linear program (reverse depth-first search of TE-CCL,
// section 4.1).
#pragma once

#include <cstdint>
#include <vector>

namespace cclgym::synthesis {

struct FlowArc {
  int source = 0;
  int target = 0;
  std::int64_t amount = 0;
};

/// An amount that runs along a path of arcs from the flow's source to `target`.
struct ArcPath {
  int target = 0;
  std::int64_t amount = 0;
  std::vector<int> arcs{};  ///< indices, in order from the source
};

/// Decomposes a flow from one source into simple paths that deliver `demands` (by node; 0 at the
/// source). At every other node, arriving amounts less leaving amounts must be at least the demand.
/// Cycles and amounts that reach no demand are dropped. Throws std::logic_error if demands are not
/// met; with `rounded`, amounts may be off by rounding, and demands are met as far as possible.
[[nodiscard]] std::vector<ArcPath> decompose_flow(std::vector<FlowArc> arcs, int source,
                                                  std::vector<std::int64_t> demands,
                                                  bool rounded = false);

}  // namespace cclgym::synthesis
