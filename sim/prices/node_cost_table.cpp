#include "sim/prices/node_cost_table.hpp"

#include <bit>

namespace cclgym {

namespace {

std::uint64_t hash_of(const NodeCost& cost) {
  const auto mix = [](std::uint64_t hash, std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
    return hash ^ (hash >> 29U);
  };
  const auto pair = [](std::int32_t high, std::int32_t low) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(high)) << 32U |
           static_cast<std::uint32_t>(low);
  };
  std::uint64_t hash = static_cast<std::uint64_t>(cost.work) |
                       static_cast<std::uint64_t>(cost.opcode) << 8U |
                       (cost.reducing ? 1U << 16U : 0U);
  hash = mix(hash, pair(cost.chunks, cost.route));
  hash = mix(hash, pair(cost.channels, cost.thread_blocks));
  hash = mix(hash, pair(cost.exchanging ? 1 : 0, cost.peers));
  hash = mix(hash, pair(0, cost.senders));
  return mix(hash, std::bit_cast<std::uint64_t>(cost.gpu_rate));
}

}  // namespace

NodeCostTable::NodeCostTable(const CostModel& model, const Fabric& fabric, PriceTerms terms)
    : model_(model), fabric_(fabric), slots_(64, -1) {
  costs_.terms = std::move(terms);
}

std::int32_t NodeCostTable::route_class(std::span<const LinkId> links) {
  scratch_key_.clear();
  for (const LinkId id : links) {
    const Link& link = fabric_.links()[static_cast<std::size_t>(id)];
    scratch_key_.emplace_back(link.kind, link.latency_stated, link.latency_s);
  }
  const auto [known, fresh] =
      route_classes_.try_emplace(scratch_key_, static_cast<std::int32_t>(costs_.routes.size()));
  if (fresh) costs_.routes.emplace_back(links.begin(), links.end());
  return known->second;
}

void NodeCostTable::grow() {
  slots_.assign(2 * slots_.size(), -1);
  for (std::size_t i = 0; i < costs_.records.size(); ++i) {
    std::size_t slot = hash_of(costs_.records[i]) & (slots_.size() - 1);
    while (slots_[slot] >= 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<std::int32_t>(i);
  }
}

std::int32_t NodeCostTable::find_or_add(const NodeCost& cost) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_of(cost) & mask;
  for (; slots_[slot] >= 0; slot = (slot + 1) & mask) {
    if (costs_.records[static_cast<std::size_t>(slots_[slot])] == cost) return slots_[slot];
  }
  const auto fresh = static_cast<std::int32_t>(costs_.records.size());
  slots_[slot] = fresh;
  costs_.records.push_back(cost);
  prices_.push_back(price(model_, fabric_, costs_.terms, costs_.routes, cost));
  arrival_.push_back(-1);
  if (2 * costs_.records.size() > slots_.size()) grow();
  return fresh;
}

std::int32_t NodeCostTable::add_arrival_of(std::int32_t transfer) {
  NodeCost cost = costs_.records[static_cast<std::size_t>(transfer)];
  cost.work = cost.work == Work::Transfer ? Work::Arrival : Work::SwitchedArrival;
  return arrival_[static_cast<std::size_t>(transfer)] = find_or_add(cost);
}

}  // namespace cclgym
