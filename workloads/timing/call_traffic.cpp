#include "workloads/timing/call_traffic.hpp"

#include <algorithm>
#include <map>

#include "core/index.hpp"
#include "sim/prices/price.hpp"

namespace cclgym {

CallTraffic::CallTraffic(const LoweredProgram& lowered, const CostModel& model)
    : fabric_(lowered.fabric),
      model_(&model),
      terms_(lowered.costs.terms),
      tiles_(lowered.tiles),
      routes_(lowered.costs.routes) {
  const TransferGraph& graph = *lowered.graph;
  const auto capacities = graph.link_capacities_Bps().first(lowered.fabric_links);
  capacities_Bps_.assign(capacities.begin(), capacities.end());
  link_connections_.resize(lowered.fabric_links);
  of_link_.resize(lowered.fabric_links);

  std::vector<std::int32_t> record_here(lowered.costs.records.size(), -1);
  const auto add = [](std::vector<Messages>& all, std::int32_t record, double per_tile) {
    for (Messages& known : all) {
      if (known.record != record) continue;
      known.per_tile += per_tile;
      return;
    }
    all.push_back({record, per_tile});
  };
  std::map<Connection, std::vector<Messages>> connections;
  for (TransferId node = 0; node < graph.size(); ++node) {
    if (graph.route_of(node) < 0 || graph.bytes(node) <= 0) continue;
    std::int32_t& record = record_here[at(lowered.costs.record_of[at(node)])];
    if (record < 0) {
      record = static_cast<std::int32_t>(records_.size());
      records_.push_back(lowered.costs.of(node));
      switched_ = switched_ || records_.back().work == Work::SwitchedTransfer;
    }
    const NodeOrigin& origin = lowered.origins[at(node)];
    const double per_tile = static_cast<double>(graph.repeat(node)) / lowered.tiles;
    const auto [known, fresh] =
        connections.try_emplace({origin.rank, std::max(0, origin.peer_rank),
                                 lowered.outline->block(origin.rank, origin.thread_block).channel});
    add(known->second, record, per_tile);
    for (const std::int32_t link : graph.route_links(graph.route_of(node))) {
      if (at(link) >= lowered.fabric_links) continue;
      add(of_link_[at(link)], record, per_tile);
      if (fresh) ++link_connections_[at(link)];
    }
  }
  for (auto& [connection, messages] : connections) {
    connections_.push_back(connection);
    of_connection_.push_back(std::move(messages));
  }
}

CallBytes CallTraffic::bytes(const ProgramCut& cut, const Call& call, const Config& config) const {
  PriceTerms terms = terms_;
  const std::int32_t tiles = tiles_of_call(cut, call, config);
  terms.config = config;
  terms.tile_bytes = tile_bytes_of(cut, call, tiles);
  return priced(terms, tiles);
}

CallBytes CallTraffic::priced(const PriceTerms& terms, std::int32_t tiles) const {
  std::vector<Price> prices;
  prices.reserve(records_.size());
  for (const NodeCost& record : records_) {
    prices.push_back(price(*model_, *fabric_, terms, routes_, record));
  }
  const auto sum = [&](const std::vector<Messages>& all) {
    double bytes = 0;
    for (const Messages& messages : all) {
      bytes += messages.per_tile * tiles * prices[at(messages.record)].wire_bytes;
    }
    return bytes;
  };
  CallBytes bytes;
  bytes.connection.reserve(connections_.size());
  for (const auto& messages : of_connection_) {
    bytes.connection.push_back(sum(messages));
    bytes.memory += 2 * bytes.connection.back();
  }
  bytes.link.reserve(of_link_.size());
  bytes.link_cap_Bps.reserve(of_link_.size());
  for (const auto& all : of_link_) {
    bytes.link.push_back(sum(all));
    double cap_Bps = 0;
    for (const Messages& messages : all) {
      cap_Bps = std::max(cap_Bps, prices[at(messages.record)].rate_cap_Bps);
    }
    bytes.link_cap_Bps.push_back(cap_Bps);
  }
  return bytes;
}

}  // namespace cclgym
