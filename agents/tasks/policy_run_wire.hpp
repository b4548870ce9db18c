// Results of evaluations as bytes, between processes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agents/evaluation/evaluation.hpp"

namespace cclgym {

/// All fields of a run; numbers keep their bits.
[[nodiscard]] std::string policy_run_bytes(const PolicyRun& run);
/// Nullopt if these are not the bytes of a run.
[[nodiscard]] std::optional<PolicyRun> read_policy_run(std::string_view bytes);

}  // namespace cclgym
