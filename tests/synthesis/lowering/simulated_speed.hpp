// Simulated speed of lowered programs and of rings: 1 GiB in the flow engine under model hockney.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "collectives/compiler/compile.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/simulator.hpp"

namespace cclgym::test {

inline constexpr std::uint64_t kKiB = 1024;
/// Tiles that cclgym synthesize simulates under hockney, bytes; 0: none.
inline const std::vector<std::uint64_t> kSynthesisTiles{0,          64 * kKiB,   128 * kKiB,
                                                        256 * kKiB, 1024 * kKiB, 4096 * kKiB};

/// 1 GiB, rounded down to whole floats per chunk.
inline Call gibibyte_call(CollectiveKind kind, int chunks) {
  Call call;
  call.collective = kind;
  const auto unit = static_cast<std::uint64_t>(chunks) * 4;
  call.bytes = (std::uint64_t{1} << 30U) / unit * unit;
  return call;
}

/// Algorithm bandwidth of a program in GB/s, with the best of the tiles. `chunks`: of a call.
inline double best_GBps(const std::shared_ptr<const Fabric>& fabric,
                        const std::shared_ptr<const ThreadBlockProgram>& program,
                        CollectiveKind kind, int chunks,
                        const std::vector<std::uint64_t>& tiles = kSynthesisTiles) {
  double best = 0;
  for (const std::uint64_t tile : tiles) {
    Simulator simulator(fabric, shipped_cost_model("hockney"), "flow");
    const Config config{.channels = program->channels, .tile_bytes = tile};
    const Call call = gibibyte_call(kind, chunks);
    best = std::max(best, simulator.record_program(program, call, config).result.algbw_Bps / 1e9);
  }
  return best;
}

/// Algorithm bandwidth of algorithm ring in GB/s, with the best of some channels and tiles.
inline double ring_GBps(const std::shared_ptr<const Fabric>& fabric, CollectiveKind kind) {
  double best = 0;
  for (const int channels : {1, 2, 6, 8}) {
    for (const std::uint64_t tile : kSynthesisTiles) {
      Simulator simulator(fabric, shipped_cost_model("hockney"), "flow");
      const Config config{.algorithm = "ring", .channels = channels, .tile_bytes = tile};
      const Call call = gibibyte_call(kind, fabric->ranks() * channels);
      best = std::max(best, simulator.simulate(call, config).algbw_Bps / 1e9);
    }
  }
  return best;
}

}  // namespace cclgym::test
