#include "env/tuning/plan_costs.hpp"

#include <algorithm>
#include <vector>

#include "core/index.hpp"
#include "cost_models/parameters/shipped_sets.hpp"

namespace cclgym {

PlanCostTable::PlanCostTable(std::shared_ptr<const TuningSetup> setup) : setup_(std::move(setup)) {}

PlanCosts PlanCostTable::costs(CollectiveKind collective, const PlainConfig& config) {
  if (const FrontSchedule* point = setup_->actions->synthesised(config)) {
    return {.steps = point->steps, .rounds_per_chunk = point->rounds_per_chunk};
  }
  const CollectiveFront* front = setup_->actions->front(collective);
  if (front == nullptr) return {};
  const std::pair plan{int{config.program}, int{config.channels} * int{config.instances}};
  const auto [known, is_new] = known_.try_emplace({collective, plan});
  if (is_new) known->second = measure(*front, config);
  return known->second;
}

PlanCosts PlanCostTable::measure(const CollectiveFront& front, const PlainConfig& config) {
  const CallSite& site = *setup_->site;
  const std::shared_ptr<const Fabric>& fabric = site.fabrics.front();
  if (!simulator_) {
    simulator_ = std::make_unique<Simulator>(fabric, cost_model_for("hockney", *fabric), "flow",
                                             site.algorithms);
  }
  constexpr std::uint64_t kBytes = std::uint64_t{1} << 26U;  // loads are proportional to bytes
  const Call call{.collective = front.collective,
                  .bytes = fitting_bytes(front.collective, kBytes, fabric->ranks())};
  Config plain = full_config(site.algorithms, config);
  plain.protocol = Protocol::Simple;
  plain.tile_bytes = 0;
  plain.slots = 0;
  const SimulationRecord record = simulator_->record(call, plain);
  const TransferGraph& graph = *record.lowered.graph;
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
  // The links after the fabric's own are those of ranks.
  for (std::size_t link = 0; link < fabric->links().size(); ++link) {
    if (load[link] > 0) busiest_s = std::max(busiest_s, load[link] / capacities[link]);
  }
  const FrontSchedule& scale = front.points.front();
  return {.steps = record.result.steps,
          .rounds_per_chunk =
              busiest_s / static_cast<double>(call.bytes) * scale.rounds_per_chunk / scale.s_per_B};
}

}  // namespace cclgym
