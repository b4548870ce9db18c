// Short names of a rank's buffers, for programs in tests.
#pragma once

#include "collectives/contract.hpp"

namespace cclgym {

inline constexpr Buffer kIn = Buffer::Input;
inline constexpr Buffer kOut = Buffer::Output;
inline constexpr Buffer kScratch = Buffer::Scratch;

}  // namespace cclgym
