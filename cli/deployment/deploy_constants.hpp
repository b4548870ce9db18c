// Constants of NCCL's own cost model that fit a machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cclgym {

struct FittedConstants {
  std::string text;               ///< the file, as deploy/nccl_plugin/tuner_constants.hpp reads it
  std::vector<std::string> said;  ///< what came of it, a line each
};

/// Fits the latencies and bandwidths that NCCL of that release ("nccl-2.28") computes Ring and Tree
/// with on the machine of that label: the least mean of |ln(NCCL's time / simulated time)| over
/// NCCL's collectives, their protocols, and sizes from 1 KiB to 1 GiB, each with the channels and
/// threads that NCCL gives it, and a little for each factor that is not 1. Deterministic. Throws
/// UserError if NCCL does not run on the machine.
[[nodiscard]] FittedConstants fit_constants(const std::string& label, std::string_view release);

}  // namespace cclgym
