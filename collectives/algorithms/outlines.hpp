// Outlines of programs that are too large to trace. Internal to the library.
#pragma once

#include <optional>

#include "collectives/algorithms/algorithm_request.hpp"
#include "collectives/outline.hpp"

namespace cclgym::algorithms {

// What outline_of would make of the compiled program of a request, which is checked as for the
// tracing functions (algorithms.hpp); nullopt where that is not written down: rings of fewer than
// three ranks or servers, and blocks that neither fuse nor join what they pass on. The caller sets
// the traits.
[[nodiscard]] std::optional<ProgramOutline> ring_outline(const AlgorithmRequest& request);
[[nodiscard]] std::optional<ProgramOutline> hierarchical_outline(const AlgorithmRequest& request);

}  // namespace cclgym::algorithms
