#include "env/tuning/estimates/plan_loads.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.hpp"
#include "core/index.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "env/tuning/workload/workload.hpp"

namespace cclgym {

namespace {

// Time of the busiest link of the fabric if every message takes its route, s. The links after the
// fabric's own are those of ranks.
double busiest_link_s(const TransferGraph& graph, std::size_t links) {
  const std::span<const double> capacities = graph.link_capacities_Bps();
  std::vector<double> load(capacities.size(), 0);
  for (TransferId id = 0; id < graph.size(); ++id) {
    const std::int32_t route = graph.route_of(id);
    if (route < 0) continue;
    for (const std::int32_t link : graph.route_links(route)) {
      load[at(link)] += graph.bytes(id) * graph.repeat(id);
    }
  }
  double busiest_s = 0;
  for (std::size_t link = 0; link < links; ++link) {
    if (load[link] > 0) busiest_s = std::max(busiest_s, load[link] / capacities[link]);
  }
  return busiest_s;
}

}  // namespace

PlanLoads::PlanLoads(std::shared_ptr<const CallSite> site)
    : site_(std::move(site)), bound_(site_->fabrics.size()) {}

const PlanLoad& PlanLoads::load(CollectiveKind collective, const PlainConfig& config) {
  const auto [known, is_new] = known_.try_emplace(
      {collective, int{config.program}, int{config.binding}, config.channels * config.instances});
  if (is_new) known->second = measure(collective, config);
  return known->second;
}

PlanLoad PlanLoads::measure(CollectiveKind collective, const PlainConfig& config) {
  const std::shared_ptr<const Fabric>& fabric = site_->fabrics[config.binding];
  auto& [simulator, features] = bound_[config.binding];
  if (!simulator) {
    simulator = std::make_unique<Simulator>(fabric, cost_model_for("hockney", *fabric), "flow",
                                            site_->algorithms);
    features = fabric_features(*fabric, simulator->cost_model());
  }
  constexpr std::uint64_t kBytes = std::uint64_t{1} << 26U;  // loads are proportional to bytes
  const Call large{.collective = collective,
                   .bytes = fitting_bytes(collective, kBytes, fabric->ranks())};
  Config plain = full_config(site_->algorithms, config);
  plain.protocol = Protocol::Simple;
  plain.tile_bytes = 0;
  plain.slots = 0;
  PlanLoad load;
  try {
    const SimulationRecord record = simulator->record(large, plain);
    load.near_steps = record.result.steps;
    load.s_per_B = busiest_link_s(*record.lowered.graph, fabric->links().size()) /
                   static_cast<double>(large.bytes);
    if (fabric->servers() < 2) return load;
    // The time of a small call is that of its chain of latencies, which shows how many of the steps
    // are between nodes.
    const Call small{.collective = collective,
                     .bytes = fitting_bytes(collective, 1, fabric->ranks())};
    const double near_s = features.alpha_s;
    const double far_s = features.network_alpha_s;
    const double chain_s = simulator->simulate(small, plain).time_s;
    if (far_s > near_s) {
      load.far_steps =
          std::clamp(std::round((chain_s - load.near_steps * near_s) / (far_s - near_s)), 0.0,
                     load.near_steps);
      load.near_steps -= load.far_steps;
    }
  } catch (const UserError&) {
    return {};
  }
  return load;
}

}  // namespace cclgym
