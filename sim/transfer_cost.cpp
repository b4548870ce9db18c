#include "sim/transfer_cost.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

#include "core/error.hpp"
#include "sim/transfer_graph.hpp"

namespace cclgym {

namespace {

double thread_share(const CostModel& model, const Config& config) {
  return std::min(1.0, static_cast<double>(config.threads) / model.full_threads);
}

}  // namespace

TransferCost transfer_cost(const CostModel& model, const Fabric& fabric,
                           std::span<const LinkId> route, const Config& config,
                           double payload_bytes, bool reducing) {
  TransferCost cost;
  for (const LinkId id : route) {
    const Link& link = fabric.links()[static_cast<std::size_t>(id)];
    const auto& alpha_s = model.alpha_s[static_cast<std::size_t>(link.kind)];
    cost.latency_s += link.latency_stated ? link.latency_s : alpha_s.value_or(link.latency_s);
  }
  if (model.hockney) {
    cost.wire_bytes = payload_bytes;
    cost.rate_cap_Bps = kNoRateCap;
    return cost;
  }
  const ProtocolCost& protocol = model.protocols[static_cast<std::size_t>(config.protocol)];
  // One instruction at either end.
  cost.latency_s += protocol.step_latency_s + 2 * model.instruction_overhead_s;
  cost.wire_bytes = payload_bytes / protocol.efficiency;
  double rate_Bps = protocol.thread_block_rate_Bps;
  if (reducing) rate_Bps = std::min(rate_Bps, protocol.reduce_rate_Bps / protocol.efficiency);
  cost.rate_cap_Bps = rate_Bps * thread_share(model, config);
  return cost;
}

std::vector<double> link_capacities(const Fabric& fabric, const CostModel& model) {
  std::vector<double> capacities;
  capacities.reserve(fabric.links().size());
  for (const Link& link : fabric.links()) {
    const double efficiency =
        model.hockney ? 1.0 : model.link_efficiency[static_cast<std::size_t>(link.kind)];
    capacities.push_back(link.capacity_Bps() * efficiency);
  }
  return capacities;
}

double local_cost_s(const CostModel& model, const Config& config, Opcode opcode, double bytes) {
  if (model.hockney) return 0;
  const ProtocolCost& protocol = model.protocols[static_cast<std::size_t>(config.protocol)];
  const double share = thread_share(model, config);
  switch (opcode) {
    case Opcode::Copy:
      return model.instruction_overhead_s + bytes / (model.local_copy_rate_Bps * share);
    case Opcode::Reduce:
      return model.instruction_overhead_s + bytes / (protocol.reduce_rate_Bps * share);
    default:
      return 0;
  }
}

std::int32_t tiles_of(double chunk_bytes, const Config& config) {
  if (config.slots < 0 || config.slots > kMostSlots) {
    throw UserError(
        fmt::format("slots must be 0 (unbounded) to {}, found {}", kMostSlots, config.slots));
  }
  if (config.tile_bytes == 0) return 1;
  const double tiles = std::ceil(chunk_bytes / static_cast<double>(config.tile_bytes));
  if (tiles > 1e9) {
    throw UserError(fmt::format("tiles of {} B cut a chunk of {:.0f} B into more than 10^9",
                                config.tile_bytes, chunk_bytes));
  }
  return std::max(1, static_cast<std::int32_t>(tiles));
}

Config with_protocol_tiles(const CostModel& model, Config config) {
  const ProtocolCost& protocol = model.protocols[static_cast<std::size_t>(config.protocol)];
  config.tile_bytes = protocol.tile_bytes();
  config.slots = protocol.tile_slots();
  return config;
}

double launch_cost_s(const CostModel& model, int channels) {
  return model.hockney ? 0 : model.kernel_launch_s + model.channel_overhead_s * channels;
}

}  // namespace cclgym
