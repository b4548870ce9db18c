#include "sim/lowering/graph_shape.hpp"

#include <algorithm>

#include "sim/call/tiles.hpp"
#include "sim/lowering/lowering.hpp"
#include "sim/prices/transfer_cost.hpp"

namespace cclgym {

double tile_bytes_of(const ProgramCut& cut, const Call& call, std::int32_t tiles) {
  return static_cast<double>(call.bytes) / cut.chunks_per_call / tiles;
}

ProgramCut program_cut(const ThreadBlockProgram& program) {
  ProgramCut cut{program.contract.chunks_per_call(), longest_message(program), 0, program.traits};
  for (const GpuProgram& gpu : program.gpus) {
    for (const ThreadBlock& block : gpu.thread_blocks) {
      const auto sent = std::ranges::count_if(
          block.steps, [](const Instruction& step) { return sends(step.opcode); });
      cut.max_messages = std::max(cut.max_messages, static_cast<int>(sent));
    }
  }
  return cut;
}

std::int32_t tiles_of_call(const ProgramCut& cut, const Call& call, const Config& config) {
  return tiles_of(static_cast<double>(call.bytes) / cut.chunks_per_call * cut.longest_message,
                  config);
}

Call call_of_tiles(const ProgramCut& cut, Call call, const Config& config, std::int32_t tiles,
                   double fill) {
  const double chunk_bytes =
      fill * tiles * static_cast<double>(config.tile_bytes) / cut.longest_message;
  call.bytes =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(chunk_bytes * cut.chunks_per_call));
  return call;
}

bool uses_switches(const ThreadBlockProgram& program) {
  for (const GpuProgram& gpu : program.gpus) {
    for (const ThreadBlock& block : gpu.thread_blocks) {
      for (const Instruction& step : block.steps) {
        if (step.group != kNoGroup) return true;
      }
    }
  }
  return false;
}

int whole_chunks(const CostModel& model, const Config& config, const CostTraits& traits,
                 double chunk_bytes, int longest_message) {
  const double unit_bytes = streamed_unit_bytes(model, config, traits);
  if (chunk_bytes * longest_message <= unit_bytes) return longest_message;
  return static_cast<int>(unit_bytes / chunk_bytes);
}

GraphShape graph_shape(const ProgramCut& cut, const CostModel& model, const Call& call,
                       const Config& config) {
  const std::int32_t tiles = tiles_of_call(cut, call, config);
  const double message_bytes = tile_bytes_of(cut, call, tiles) * cut.longest_message;
  GraphShape shape;
  shape.tiled = tiles > 1;
  shape.proxies = proxy_capacity_Bps(model, config.protocol, message_bytes) < kNoRateCap;
  // Untiled messages with one slot each do not wait for a slot.
  shape.slots = !shape.tiled && cut.max_messages <= config.slots ? 0 : config.slots;
  shape.whole_chunks =
      whole_chunks(model, config, cut.traits, tile_bytes_of(cut, call, tiles), cut.longest_message);
  return shape;
}

}  // namespace cclgym
