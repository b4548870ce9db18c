#include "deploy/nccl_plugin/call_time.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace cclgym {

namespace {

// Data of a chunk, B: a slot of NCCL's default buffers. That of LL128 is halved for small calls
// (src/enqueue.cc, calcCollChunking).
double chunk_bytes(const TreeCall& call, double part_bytes) {
  constexpr double kKi = 1024;
  if (call.protocol == "simple") return 512 * kKi;
  if (call.protocol == "ll") return 32 * kKi;
  double chunk = 576'000;
  // In float, because log2 of a double is newer than the glibc that the plugin must run with.
  const double hops = 1 + std::log2(static_cast<float>(call.nodes)) + 0.1 * call.ranks / call.nodes;
  const double ranks_a_node = static_cast<double>(call.ranks) / call.nodes;
  while (part_bytes / chunk < 64 * hops / ranks_a_node && chunk > 128 * kKi) chunk /= 2;
  while (part_bytes / chunk < 16 * hops / ranks_a_node && chunk > 32 * kKi) chunk /= 2;
  return chunk;
}

}  // namespace

double tree_time_ratio(const TreeCall& call) {
  const int nodes = std::max(call.nodes, 1);
  const int inside = std::max(call.ranks / nodes, 1) - 1;
  const auto across = static_cast<int>(std::bit_width(static_cast<unsigned int>(nodes - 1)));
  const double hops = std::max(inside + across, 1);
  const double part_bytes = static_cast<double>(call.bytes) / std::max(call.channels, 1);
  const double chunks = std::max(std::ceil(part_bytes / chunk_bytes(call, part_bytes)), 1.0);
  return (chunks + 2 * hops - 1) / (chunks + hops - 1);
}

}  // namespace cclgym
