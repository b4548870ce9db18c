// Constants of NCCL's own cost model that fit a machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cclgym {

struct FittedConstants {
  std::string text;               ///< content of the file, in the format of
                                  ///< deploy/nccl_plugin/tuner_constants.hpp
  std::vector<std::string> said;  ///< results of the fit, one line each
};

/// Fits the latencies and bandwidths with which this release of NCCL ("nccl-2.28") computes Ring
/// and Tree on the machine with that label. Minimises the mean of |ln(NCCL's time / simulated
/// time)| over NCCL's collectives, their protocols, and sizes from 1 KiB to 1 GiB, each with NCCL's
/// channels and threads, with a small penalty for each factor that is not 1. Deterministic. Throws
/// UserError if NCCL does not run on the machine.
[[nodiscard]] FittedConstants fit_constants(const std::string& label, std::string_view release);

}  // namespace cclgym
