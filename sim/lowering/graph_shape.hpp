// How a call is cut into tiles, and what of it shapes its transfer graph.
#pragma once

#include <compare>
#include <cstdint>

#include "collectives/ir.hpp"
#include "cost_models/cost_model.hpp"
#include "sim/call/call.hpp"

namespace cclgym {

/// What of a program says how a call is cut into messages.
struct ProgramCut {
  int chunks_per_call = 1;
  int longest_message = 1;  ///< chunks
  int most_messages = 0;    ///< that a thread block sends a tile
};
[[nodiscard]] ProgramCut program_cut(const ThreadBlockProgram& program);
/// Into how many tiles a call is cut.
[[nodiscard]] std::int32_t tiles_of_call(const ProgramCut& cut, const Call& call,
                                         const Config& config);
/// Payload of a chunk's tile.
[[nodiscard]] double tile_bytes_of(const ProgramCut& cut, const Call& call, std::int32_t tiles);
/// The call of so many tiles (config.tile_bytes > 0), of which each has `fill` times the bytes that
/// a tile may have, fill > (tiles - 1) / tiles; smaller by less than a byte.
[[nodiscard]] Call call_of_tiles(const ProgramCut& cut, Call call, const Config& config,
                                 std::int32_t tiles, double fill);
/// Does it have transfers that switches copy or add?
[[nodiscard]] bool uses_switches(const ThreadBlockProgram& program);

/// What of a call and a configuration shapes the graph, apart from the program: where all of it is
/// equal, graphs differ in the costs of their nodes and the repeats alone.
struct GraphShape {
  bool tiled = false;
  bool proxies = false;  ///< do the ranks' proxies limit messages over the network?
  int slots = 0;         ///< 0: no message waits for a slot
  friend auto operator<=>(const GraphShape&, const GraphShape&) = default;
};
[[nodiscard]] GraphShape graph_shape(const ProgramCut& cut, const CostModel& model,
                                     const Call& call, const Config& config);

}  // namespace cclgym
