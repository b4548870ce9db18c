#include "synthesis/strategies/synthesized_program.hpp"

#include <algorithm>

namespace cclgym::synthesis {

namespace {

constexpr std::uint64_t kMinTile = std::uint64_t{1} << 12U;
constexpr std::uint64_t kMaxTile = std::uint64_t{1} << 24U;

}  // namespace

double SynthesizedProgram::chunk_bytes(std::uint64_t bytes) const {
  return static_cast<double>(bytes) * instances /
         static_cast<double>(program->contract.chunks_per_call());
}

double SynthesizedProgram::estimate_s(std::uint64_t bytes, std::uint64_t tile_bytes) const {
  const double chunk = chunk_bytes(bytes);
  const double per_chunk_s = chunk / unit_Bps;
  const double on_links_s = boost::rational_cast<double>(rounds) * per_chunk_s;
  if (!pipelined) return static_cast<double>(steps) * latency_s + on_links_s;
  const double tile = tile_bytes == 0 ? chunk : std::min(chunk, static_cast<double>(tile_bytes));
  const double tiles = chunk / std::max(tile, 1.0);
  // The busiest link carries a tile of each of its chunks while the next tiles are on their way.
  return static_cast<double>(steps) * (latency_s + on_links_s / std::max(tiles, 1.0)) + on_links_s;
}

std::uint64_t SynthesizedProgram::best_tile(std::uint64_t bytes) const {
  if (!pipelined) return 0;
  const double chunk = chunk_bytes(bytes);
  const double on_links_s = boost::rational_cast<double>(rounds) * chunk / unit_Bps;
  // Each tile costs a latency at the busiest link: (tiles - 1) alpha against S R L / (tiles unit).
  std::uint64_t best = kMaxTile;
  double least_s = 0;
  for (std::uint64_t tile = kMinTile; tile <= kMaxTile; tile *= 2) {
    const double tiles = std::max(chunk / static_cast<double>(tile), 1.0);
    const double time_s = static_cast<double>(steps) * on_links_s / tiles + (tiles - 1) * latency_s;
    if (tile == kMinTile || time_s < least_s) {
      least_s = time_s;
      best = tile;
    }
  }
  return best;
}

}  // namespace cclgym::synthesis
