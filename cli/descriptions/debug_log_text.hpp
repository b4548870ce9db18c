// Communicators in the output of NCCL_DEBUG, as text and as JSON, for `cclgym describe nccl-log
// FILE`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "calibration/debug_log/debug_log.hpp"

namespace cclgym {

/// Release, variables and, for each communicator, graphs, rings, trees, the choices that follow
/// from NCCL's estimates, and the choices that it logged, each with the reason. `name` is the
/// log's.
[[nodiscard]] std::string debug_log_text(const DebugLog& log, const std::string& name);
/// The same with all estimates; sizes in B, times in us, bandwidths in GB/s.
[[nodiscard]] nlohmann::ordered_json debug_log_json(const DebugLog& log);

}  // namespace cclgym
