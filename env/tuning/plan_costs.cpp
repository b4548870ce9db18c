#include "env/tuning/plan_costs.hpp"

namespace cclgym {

PlanCostTable::PlanCostTable(std::shared_ptr<const TuningSetup> setup)
    : setup_(std::move(setup)), loads_(setup_->site) {}

PlanCosts PlanCostTable::costs(CollectiveKind collective, const PlainConfig& config) {
  if (const FrontSchedule* point = setup_->actions->synthesised(config)) {
    return {.steps = point->steps, .rounds_per_chunk = point->rounds_per_chunk};
  }
  const CollectiveFront* front = setup_->actions->front(collective);
  if (front == nullptr) return {};
  PlainConfig own = config;
  own.binding = 0;
  const PlanLoad& load = loads_.load(collective, own);
  const FrontSchedule& scale = front->points.front();
  return {.steps = static_cast<int>(load.near_steps + load.far_steps),
          .rounds_per_chunk = load.s_per_B * scale.rounds_per_chunk / scale.s_per_B};
}

}  // namespace cclgym
