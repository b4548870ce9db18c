// Levels of the numeric knobs, internal to this room.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cclgym {

/// First level of Knob::Inter: no exchange between nodes of its own.
inline constexpr std::string_view kFlat = "flat";
inline constexpr std::int32_t kChannels[] = {1, 2, 4, 8, 16, 24, 32};
inline constexpr std::int32_t kInstances[] = {1, 2, 4, 8, 16, 24};
// Threads per thread block; 0 is NCCL's own number.
inline constexpr std::int32_t kThreads[] = {0, 256, 128, 64};
// Chunk sizes in bytes; 0 is the protocol's own chunk, 1 an undivided message.
inline constexpr std::uint64_t kOfProtocolChunk = 0;
inline constexpr std::uint64_t kWholeChunk = 1;
inline constexpr std::uint64_t kChunks[] = {kOfProtocolChunk, kWholeChunk, 32 << 10,
                                            128 << 10,        512 << 10,   2 << 20};
inline constexpr int kMostChannels = 32;

/// Index of a level; -1 if there is no such level.
[[nodiscard]] inline std::int32_t level_index(const std::vector<std::string>& levels,
                                              std::string_view name) {
  const auto found = std::ranges::find(levels, name);
  return found == levels.end() ? -1 : static_cast<std::int32_t>(found - levels.begin());
}

}  // namespace cclgym
