// The library's programs of NCCL's algorithms.
#pragma once

#include <optional>
#include <string_view>

#include "cost_models/nccl/nccl_comm.hpp"

namespace cclgym {

/// The library's program of an algorithm: "ring" of Ring, "collnet-chain" of CollNetChain.
[[nodiscard]] std::string_view program_of(NcclAlgorithm algorithm);
/// The algorithm of a program; nullopt for programs that NCCL does not have.
[[nodiscard]] std::optional<NcclAlgorithm> nccl_algorithm(std::string_view program);

}  // namespace cclgym
