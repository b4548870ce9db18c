// Cutting a call into tiles, and the properties of a call that decide the shape of its graph.
#pragma once

#include <compare>
#include <cstdint>

#include "collectives/ir.hpp"
#include "cost_models/cost_model.hpp"
#include "sim/call/call.hpp"

namespace cclgym {

/// Properties of a program that decide how a call is cut into messages.
struct ProgramCut {
  int chunks_per_call = 1;
  int longest_message = 1;  ///< size of the largest message, chunks
  int max_messages = 0;     ///< maximum number that one thread block sends per tile
  CostTraits traits{};      ///< ThreadBlockProgram::traits
};
[[nodiscard]] ProgramCut program_cut(const ThreadBlockProgram& program);
/// Number of tiles into which a call is cut.
[[nodiscard]] std::int32_t tiles_of_call(const ProgramCut& cut, const Call& call,
                                         const Config& config);
/// Payload of a chunk's tile, B.
[[nodiscard]] double tile_bytes_of(const ProgramCut& cut, const Call& call, std::int32_t tiles);
/// A call that is cut into `tiles` tiles (config.tile_bytes > 0), each with `fill` times the bytes
/// that a tile may have, less than a byte fewer in total; fill > (tiles - 1) / tiles.
[[nodiscard]] Call call_of_tiles(const ProgramCut& cut, Call call, const Config& config,
                                 std::int32_t tiles, double fill);
/// True if the program has transfers that switches copy or add.
[[nodiscard]] bool uses_switches(const ThreadBlockProgram& program);

/// Properties of a call and a configuration that shape the graph of a program: if all of them
/// are equal, graphs differ only in the prices of their nodes and in the repeats.
struct GraphShape {
  bool tiled = false;
  bool proxies = false;  ///< the ranks' proxies limit messages over the network
  int slots = 0;         ///< 0: no message waits for a slot
  /// Longest message that is not sent on while it arrives (streamed_unit_bytes), chunks; at most
  /// the program's longest message.
  int whole_chunks = 0;
  friend auto operator<=>(const GraphShape&, const GraphShape&) = default;
};
[[nodiscard]] GraphShape graph_shape(const ProgramCut& cut, const CostModel& model,
                                     const Call& call, const Config& config);

/// GraphShape::whole_chunks of messages of which a chunk has `chunk_bytes`.
[[nodiscard]] int whole_chunks(const CostModel& model, const Config& config,
                               const CostTraits& traits, double chunk_bytes, int longest_message);

}  // namespace cclgym
