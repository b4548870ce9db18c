#include "sim/fast/quotient_program.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/index.hpp"
#include "sim/engine/steady_state.hpp"
#include "sim/prices/transfer_cost.hpp"

namespace cclgym {

QuotientProgram::QuotientProgram(const LoweredProgram& lowered,
                                 std::shared_ptr<const Fabric> fabric, const CostModel& model)
    : fabric_(std::move(fabric)),
      model_(model),
      traits_(lowered.outline->traits),
      cut_(program_cut(*lowered.program)),
      steps_(lowered.steps),
      network_messages_(lowered.costs.terms.network_messages),
      sharing_blocks_(lowered.costs.terms.sharing_blocks),
      routes_(lowered.costs.routes) {}

bool QuotientProgram::possible(const CostModel& model, const NoiseProfile& noise) {
  return !noise.random() && !noise.any_load() && !model.random() &&
         model.network_burst_bytes == 0 && model.connection_rate_Bps >= ProtocolCost::kUnlimited;
}

std::vector<Price> QuotientProgram::prices(const Config& config, double tile_bytes) const {
  const PriceTerms terms{config, traits_, tile_bytes, network_messages_, 1, sharing_blocks_};
  std::vector<Price> all;
  all.reserve(records_.size());
  for (const NodeCost& record : records_) {
    all.push_back(price(model_, *fabric_, terms, routes_, record));
  }
  return all;
}

std::shared_ptr<const TransferGraph> QuotientProgram::graph_of(const Config& config,
                                                               std::int32_t tiles,
                                                               double tile_bytes) const {
  const std::vector<Price> all = prices(config, tile_bytes);
  const double proxy_Bps =
      proxy_capacity_Bps(model_, config.protocol, tile_bytes * cut_.longest_message);
  TransferGraph::Costs costs;
  const auto capacities = graph_->link_capacities_Bps();
  costs.capacity_Bps.assign(capacities.begin(), capacities.end());
  for (std::size_t link = 0; link < is_proxy_.size(); ++link) {
    // Even if proxies limit full tiles, they may not limit tiles that are less full.
    if (is_proxy_[link] != 0) {
      costs.capacity_Bps[link] = std::min(proxy_Bps, std::numeric_limits<double>::max());
    }
  }
  costs.bytes.resize(nodes_.size());
  costs.latency_s.resize(nodes_.size());
  costs.rate_cap_Bps.resize(nodes_.size());
  costs.repeat.resize(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    const Price& own = all[at(node.record)];
    costs.bytes[i] = own.wire_bytes;
    costs.latency_s[i] = own.latency_s;
    costs.repeat[i] = node.once ? 1 : tiles;
    double rate_Bps = own.rate_cap_Bps;
    if (node.class_of_bounds >= 0) {
      const Bound& bound = bounds_[at(node.class_of_bounds)];
      rate_Bps = std::min(rate_Bps, bound.narrowest_Bps);
      if (bound.max_proxy_load > 0) {
        rate_Bps = std::min(rate_Bps, proxy_Bps / bound.max_proxy_load);
      }
    }
    costs.rate_cap_Bps[i] = rate_Bps;
  }
  return std::make_shared<const TransferGraph>(graph_->with_costs(std::move(costs)));
}

QuotientProgram::Timed QuotientProgram::time(Engine& engine, const Call& call,
                                             const Config& config) const {
  const std::int32_t tiles = tiles_of_call(cut_, call, config);
  // The number of tiles that the simulator would simulate without classes.
  TileBudget budget;
  budget.firings = static_cast<std::int64_t>(static_cast<double>(budget.firings) * share_);
  const TiledDates dates = run_tiles(
      engine, graph_of(config, tiles, tile_bytes_of(cut_, call, tiles)), tiles, watched_, budget);
  Timed timed{.time_s = 0, .tile_error_s = dates.error_s, .periodic = dates.periodic};
  for (const double end_s : dates.end_s) timed.time_s = std::max(timed.time_s, end_s);
  return timed;
}

double QuotientProgram::time_of_tiles_s(Engine& engine, const Config& config, std::int32_t tiles,
                                        double fill) const {
  const double max_bytes = static_cast<double>(config.tile_bytes) / cut_.longest_message;
  engine.load(graph_of(config, tiles, fill * max_bytes));
  const EngineResult result = engine.run();
  double time_s = 0;
  for (const TransferId last : watched_) time_s = std::max(time_s, result.end_s[at(last)]);
  return time_s;
}

}  // namespace cclgym
