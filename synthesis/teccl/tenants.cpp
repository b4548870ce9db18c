#include "synthesis/teccl/tenants.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/teccl/schedule_tools.hpp"

namespace cclgym::synthesis {

SharedDemand share(const std::vector<Tenant>& tenants) {
  if (tenants.empty()) throw UserError("no tenant; expected at least 1");
  SharedDemand shared{.demand = {.ranks = tenants.front().demand.ranks}};
  for (std::size_t id = 0; id < tenants.size(); ++id) {
    const Tenant& tenant = tenants[id];
    if (tenant.demand.ranks != shared.demand.ranks) {
      throw UserError(fmt::format("tenant {} has {} ranks, tenant 0 has {}", id,
                                  tenant.demand.ranks, shared.demand.ranks));
    }
    if (!(tenant.weight > 0) || !std::isfinite(tenant.weight)) {
      throw UserError(
          fmt::format("tenant {} has weight {}; expected more than 0", id, tenant.weight));
    }
    for (const ChunkDemand& chunk : tenant.demand.chunks) {
      shared.demand.chunks.push_back(chunk);
      shared.weights.push_back(tenant.weight);
      shared.tenants.push_back(static_cast<int>(id));
    }
  }
  return shared;
}

std::vector<int> tenant_finish_ticks(const TimedInstance& timed, const SharedDemand& shared,
                                     const TimedSchedule& schedule) {
  const std::vector<int> by_chunk = finish_ticks(timed, shared.demand, schedule);
  std::vector<int> finish;
  for (std::size_t chunk = 0; chunk < by_chunk.size(); ++chunk) {
    const std::size_t tenant = at(shared.tenants[chunk]);
    if (tenant >= finish.size()) finish.resize(tenant + 1, 0);
    finish[tenant] = std::max(finish[tenant], by_chunk[chunk]);
  }
  return finish;
}

}  // namespace cclgym::synthesis
