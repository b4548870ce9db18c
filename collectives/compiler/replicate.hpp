// The pass that makes instances of a program.
#pragma once

#include <cstdint>

#include "collectives/program.hpp"

namespace cclgym {

/// Distribution of the chunks over the instances of a program.
enum class InstancePolicy : std::uint8_t {
  Interleaved,  ///< each operation's data is cut into one run per instance
  Batched       ///< each buffer is cut into one run per instance; only if no buffer has slices
};

/// `instances` copies of the program, each with an equal part of the data; the channels of copy i
/// are shifted by i times the program's channels. Needs a program without parallel operations.
/// Throws UserError on instances < 1, and on Batched for a custom collective or for a collective
/// with one slice per rank in a buffer.
[[nodiscard]] Program replicate(const Program& program, int instances, InstancePolicy policy);

}  // namespace cclgym
