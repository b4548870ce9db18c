#include "sim/prices/price.hpp"

#include <algorithm>
#include <cstddef>

#include "sim/prices/transfer_cost.hpp"

namespace cclgym {

namespace {

std::span<const LinkId> route_of(std::span<const std::vector<LinkId>> routes,
                                 const NodeCost& cost) {
  return routes[static_cast<std::size_t>(cost.route)];
}

// Number of messages that a message of the graph stands for. MPI has no channels.
double joined_messages(const Fabric& fabric, const PriceTerms& terms,
                       std::span<const LinkId> route) {
  const bool whole =
      terms.traits.transport == Transport::Mpi && std::ranges::any_of(route, [&](LinkId id) {
        return fabric.links()[static_cast<std::size_t>(id)].kind == LinkKind::Network;
      });
  return whole ? 1 : terms.alike_channels;
}

// Work of a step that keeps its thread block busy with something other than sending.
double local_s(const CostModel& model, const PriceTerms& terms, Opcode opcode, double bytes) {
  const Runtime runtime = terms.traits.runtime;
  double sharing_blocks = terms.sharing_blocks;
  if (in_symmetric_memory(terms.traits)) {
    // A block takes lines out of the buffer that peers store to as a ring takes them out of its
    // FIFO: copies at the same time, sums one after another. The sums of other messages are added
    // in registers.
    if (receives(opcode)) bytes = 0;
    if (opcode == Opcode::Copy) opcode = Opcode::Recv;
    if (opcode == Opcode::Reduce) {
      opcode = Opcode::RecvReduceCopy;
      sharing_blocks = 1;
    }
  } else if (terms.traits.direct && opcode == Opcode::Recv) {
    bytes = 0;  // a message that was copied directly is in place
  }
  return local_cost_s(model, terms.config, runtime, opcode, bytes, sharing_blocks);
}

// NCCL's channel_overhead is that of connections. A block of a kernel for symmetric memory has none
// to set up, like a block of MSCCL's interpreter.
double launch_s(const CostModel& model, const PriceTerms& terms, const NodeCost& cost) {
  if (in_symmetric_memory(terms.traits)) {
    return launch_cost_s(model, terms.traits.runtime, 0, 0) +
           (model.hockney ? 0 : model.interpreter_block_s * terms.config.channels);
  }
  return launch_cost_s(model, terms.traits.runtime, cost.channels, cost.thread_blocks);
}

// A slow GPU takes longer for its work, but not for the instruction's fixed cost.
double local_latency_s(const CostModel& model, const Fabric& fabric, const PriceTerms& terms,
                       const NodeCost& cost) {
  if (cost.opcode == Opcode::DeviceCopy) {
    return device_copy_cost_s(fabric, terms.config, terms.tile_bytes * cost.chunks) / cost.gpu_rate;
  }
  const double latency_s =
      local_s(model, terms, cost.opcode, terms.tile_bytes * cost.chunks / terms.alike_channels);
  if (cost.gpu_rate == 1) return latency_s;
  const double instruction_s = instruction_cost_s(model, terms.traits.runtime);
  const double work_s = latency_s - instruction_s;
  return work_s > 0 ? instruction_s + work_s / cost.gpu_rate : latency_s;
}

// Limits a message by those that its thread block and others of its GPU or NIC send at once.
void limit_among_others(const CostModel& model, const Fabric& fabric, std::span<const LinkId> route,
                        const NodeCost& cost, double alike, TransferCost& transfer) {
  if (!cost.exchanging && cost.senders == 0) return;
  const LinkId id = limiting_link(fabric, route);
  const Link& link = fabric.links()[static_cast<std::size_t>(id)];
  if (cost.exchanging) {
    transfer.rate_cap_Bps =
        rate_of_exchange_Bps(model, transfer.rate_cap_Bps, link.kind == LinkKind::Network);
  }
  if (cost.senders == 0) return;
  const double link_Bps =
      link.capacity_Bps() * model.link_efficiency[static_cast<std::size_t>(link.kind)];
  transfer.wire_bytes /=
      rate_near_limits(model, transfer.rate_cap_Bps * cost.senders * alike, link_Bps);
}

}  // namespace

Price price(const CostModel& model, const Fabric& fabric, const PriceTerms& terms,
            std::span<const std::vector<LinkId>> routes, const NodeCost& cost) {
  switch (cost.work) {
    case Work::Launch:
      return {.latency_s = launch_s(model, terms, cost)};
    case Work::KernelGap:
      return {.latency_s = kernel_gap_s(model)};
    case Work::Local:
      return {.latency_s = local_latency_s(model, fabric, terms, cost)};
    case Work::InPlace:
      return {};
    case Work::Transfer:
    case Work::SwitchedTransfer:
    case Work::Arrival:
    case Work::SwitchedArrival:
    case Work::Head:
      break;
  }
  const bool switched = cost.work == Work::SwitchedTransfer || cost.work == Work::SwitchedArrival;
  const double alike = joined_messages(fabric, terms, route_of(routes, cost));
  const double payload_bytes = terms.tile_bytes * cost.chunks / alike;
  TransferCost transfer = switched
                              ? switched_cost(model, fabric, route_of(routes, cost), terms.config,
                                              terms.traits, payload_bytes)
                              : transfer_cost(model, fabric, route_of(routes, cost), terms.config,
                                              terms.traits, payload_bytes, cost.reducing,
                                              terms.network_messages, terms.sharing_blocks);
  limit_among_others(model, fabric, route_of(routes, cost), cost, alike, transfer);
  if (cost.work == Work::Arrival || cost.work == Work::SwitchedArrival) {
    return {.latency_s = transfer.arrival_s};
  }
  if (cost.work == Work::Head) {
    const double unit_bytes = streamed_unit_bytes(model, terms.config, terms.traits);
    const double share = payload_bytes > unit_bytes ? unit_bytes / payload_bytes : 1.0;
    return {.latency_s = transfer.latency_s + transfer.arrival_s +
                         share * transfer.wire_bytes / (transfer.rate_cap_Bps * cost.gpu_rate)};
  }
  // The messages of channels that are alike move together. Those among many peers take up more of
  // their links, and as much more of the rate of their thread blocks.
  const double taken = alike / rate_among_peers(model, cost.peers);
  return {transfer.wire_bytes * taken, transfer.latency_s,
          transfer.rate_cap_Bps * cost.gpu_rate * taken};
}

std::vector<Price> prices_of(const CostModel& model, const Fabric& fabric, const NodeCosts& costs) {
  std::vector<Price> prices;
  prices.reserve(costs.records.size());
  for (const NodeCost& record : costs.records) {
    prices.push_back(price(model, fabric, costs.terms, costs.routes, record));
  }
  return prices;
}

}  // namespace cclgym
