// SCCL's costs of any configuration: steps, and the time of its data on the busiest link.
#pragma once

#include <memory>

#include "env/tuning/collective_tuning.hpp"
#include "env/tuning/estimates/plan_loads.hpp"

namespace cclgym {

/// S and R / C of a configuration (SCCL, section 3.3).
struct PlanCosts {
  int steps = 0;                ///< S; 0: not known
  double rounds_per_chunk = 0;  ///< R / C; 0: not known
};

/// Computes the costs of configurations on the fabric of a setup. Not thread-safe.
class PlanCostTable {
 public:
  explicit PlanCostTable(std::shared_ptr<const TuningSetup> setup);

  /// Costs of a synthesised program are those of its schedule. S of another program is its longest
  /// chain of transfers, and R / C is the load of its busiest link over the fabric's routes. Only
  /// known for collectives with a synthesised front, whose link unit is the scale of R / C.
  [[nodiscard]] PlanCosts costs(CollectiveKind collective, const PlainConfig& config);

 private:
  std::shared_ptr<const TuningSetup> setup_;
  PlanLoads loads_;
};

}  // namespace cclgym
