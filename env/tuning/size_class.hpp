// Classes of calls: one collective, and sizes within a power of two.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

#include "collectives/contract.hpp"
#include "sim/call/call.hpp"

namespace cclgym {

inline constexpr std::size_t kSizeClasses = 40;                 ///< powers of two up to a terabyte
inline constexpr std::size_t kCallClasses = 10 * kSizeClasses;  ///< more than nine collectives

/// Number of a call's class, below kCallClasses.
[[nodiscard]] inline std::size_t size_class(const Call& call) {
  const auto bit = static_cast<std::size_t>(std::bit_width(call.bytes | 1U) - 1);
  return static_cast<std::size_t>(call.collective) * kSizeClasses + std::min(bit, kSizeClasses - 1);
}

}  // namespace cclgym
