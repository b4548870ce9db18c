// Collectives of several tenants on one fabric, with priorities.
#pragma once

#include <vector>

#include "synthesis/demand.hpp"
#include "synthesis/timed_schedule.hpp"

namespace cclgym::synthesis {

struct Tenant {
  Demand demand{};
  double weight = 1;  ///< factor of the tenant's rewards, > 0
};

/// The demands of all tenants as one.
struct SharedDemand {
  Demand demand{};
  std::vector<double> weights{};  ///< by chunk (EpochOptions::weights)
  std::vector<int> tenants{};     ///< by chunk
};

/// Joins the demands. A weight counts for each of a tenant's deliveries. Throws UserError if there
/// is no tenant, a weight is not positive, or the demands have different numbers of ranks.
[[nodiscard]] SharedDemand share(const std::vector<Tenant>& tenants);

/// Tick of the last delivery of each tenant.
[[nodiscard]] std::vector<int> tenant_finish_ticks(const TimedInstance& timed,
                                                   const SharedDemand& shared,
                                                   const TimedSchedule& schedule);

}  // namespace cclgym::synthesis
