#include "sim/fast/quotient_program.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/index.hpp"
#include "sim/engine/steady_state.hpp"
#include "sim/lowering/transfer_cost.hpp"

namespace cclgym {

namespace {}  // namespace

QuotientProgram::QuotientProgram(const LoweredProgram& lowered,
                                 std::shared_ptr<const Fabric> fabric, const CostModel& model,
                                 const NoiseProfile& noise)
    : fabric_(std::move(fabric)),
      model_(model),
      slow_rate_(noise.slow_gpus.any() ? noise.slow_gpus.rate : 1.0),
      runtime_(lowered.outline->runtime),
      cut_(program_cut(*lowered.program)),
      steps_(lowered.steps) {}

bool QuotientProgram::possible(const CostModel& model, const NoiseProfile& noise) {
  return !noise.random() && !noise.any_load() && !model.random() &&
         model.network_burst_bytes == 0 && model.connection_rate_Bps >= ProtocolCost::kUnlimited;
}

// As the lowering has them, and sim/noise/noise.cpp for slow GPUs.
QuotientProgram::Charge QuotientProgram::charge(const Cost& cost, const Config& config,
                                                double tile_bytes) const {
  const double bytes = tile_bytes * cost.count;
  if (cost.kind == Kind::Fixed) return {0, cost.latency_s, kNoRateCap};
  if (cost.kind == Kind::Local) {
    const double instruction_s =
        model_.instruction_overhead_s +
        (runtime_ == Runtime::Interpreter ? model_.interpreter_step_s : 0.0);
    double latency_s = local_cost_s(model_, config, runtime_, cost.opcode, bytes);
    if (cost.slow && latency_s > instruction_s) {
      latency_s = instruction_s + (latency_s - instruction_s) / slow_rate_;
    }
    return {0, latency_s, kNoRateCap};
  }
  const TransferCost transfer =
      transfer_cost(model_, *fabric_, cost.fabric_links, config, runtime_, bytes, cost.reducing);
  if (cost.kind == Kind::Arrival) return {0, transfer.arrival_s, kNoRateCap};
  return {transfer.wire_bytes, transfer.latency_s,
          cost.slow ? transfer.rate_cap_Bps * slow_rate_ : transfer.rate_cap_Bps};
}

std::vector<QuotientProgram::Charge> QuotientProgram::charges(const Config& config,
                                                              double tile_bytes) const {
  std::vector<Charge> all;
  all.reserve(costs_.size());
  for (const Cost& cost : costs_) all.push_back(charge(cost, config, tile_bytes));
  return all;
}

std::shared_ptr<const TransferGraph> QuotientProgram::graph_of(const Config& config,
                                                               std::int32_t tiles,
                                                               double tile_bytes) const {
  const std::vector<Charge> all = charges(config, tile_bytes);
  const double proxy_Bps =
      proxy_capacity_Bps(model_, config.protocol, tile_bytes * cut_.longest_message);
  TransferGraph::Costs costs;
  const auto capacities = graph_->link_capacities_Bps();
  costs.capacity_Bps.assign(capacities.begin(), capacities.end());
  for (std::size_t link = 0; link < is_proxy_.size(); ++link) {
    // Tiles that are less full may be limited by none.
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
    const Charge& own = all[at(node.cost)];
    costs.bytes[i] = own.bytes;
    costs.latency_s[i] = own.latency_s;
    costs.repeat[i] = node.once ? 1 : tiles;
    double rate_Bps = own.rate_cap_Bps;
    if (node.class_of_bounds >= 0) {
      const Bound& bound = bounds_[at(node.class_of_bounds)];
      rate_Bps = std::min(rate_Bps, bound.narrowest_Bps);
      if (bound.most_proxy_load > 0) {
        rate_Bps = std::min(rate_Bps, proxy_Bps / bound.most_proxy_load);
      }
    }
    costs.rate_cap_Bps[i] = rate_Bps;
  }
  return std::make_shared<const TransferGraph>(graph_->with_costs(std::move(costs)));
}

QuotientProgram::Timed QuotientProgram::time(Engine& engine, const Call& call,
                                             const Config& config) const {
  const std::int32_t tiles = tiles_of_call(cut_, call, config);
  // As many tiles as the simulator would take of the whole graph.
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
  const double most_bytes = static_cast<double>(config.tile_bytes) / cut_.longest_message;
  engine.load(graph_of(config, tiles, fill * most_bytes));
  const EngineResult result = engine.run();
  double time_s = 0;
  for (const TransferId last : watched_) time_s = std::max(time_s, result.end_s[at(last)]);
  return time_s;
}

}  // namespace cclgym
