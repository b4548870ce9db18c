#include "sim/lowering/price.hpp"

#include <algorithm>
#include <cstddef>

#include "sim/lowering/transfer_cost.hpp"

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

// A slow GPU takes longer for its work, but not for the instruction's fixed cost.
double local_latency_s(const CostModel& model, const Fabric& fabric, const PriceTerms& terms,
                       const NodeCost& cost) {
  if (cost.opcode == Opcode::DeviceCopy) {
    return device_copy_cost_s(fabric, terms.config, terms.tile_bytes * cost.chunks) / cost.gpu_rate;
  }
  // A message that was copied directly is in place.
  const bool in_place = terms.traits.direct && cost.opcode == Opcode::Recv;
  const double latency_s =
      local_cost_s(model, terms.config, terms.traits.runtime, cost.opcode,
                   in_place ? 0 : terms.tile_bytes * cost.chunks / terms.alike_channels);
  if (cost.gpu_rate == 1) return latency_s;
  const double instruction_s = instruction_cost_s(model, terms.traits.runtime);
  const double work_s = latency_s - instruction_s;
  return work_s > 0 ? instruction_s + work_s / cost.gpu_rate : latency_s;
}

}  // namespace

Price price(const CostModel& model, const Fabric& fabric, const PriceTerms& terms,
            std::span<const std::vector<LinkId>> routes, const NodeCost& cost) {
  switch (cost.work) {
    case Work::Launch:
      return {.latency_s =
                  launch_cost_s(model, terms.traits.runtime, cost.channels, cost.thread_blocks)};
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
      break;
  }
  const bool switched = cost.work == Work::SwitchedTransfer || cost.work == Work::SwitchedArrival;
  const double alike = joined_messages(fabric, terms, route_of(routes, cost));
  const double payload_bytes = terms.tile_bytes * cost.chunks / alike;
  const TransferCost transfer =
      switched ? switched_cost(model, fabric, route_of(routes, cost), terms.config, terms.traits,
                               payload_bytes)
               : transfer_cost(model, fabric, route_of(routes, cost), terms.config, terms.traits,
                               payload_bytes, cost.reducing, terms.network_messages);
  if (cost.work == Work::Arrival || cost.work == Work::SwitchedArrival) {
    return {.latency_s = transfer.arrival_s};
  }
  // The messages of channels that are alike move together.
  return {transfer.wire_bytes * alike, transfer.latency_s,
          transfer.rate_cap_Bps * cost.gpu_rate * alike};
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
