#include "synthesis/strategies/request.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "topology_models/metrics/cut_network.hpp"

namespace cclgym::synthesis {

namespace {

void check_collective(CollectiveKind collective) {
  if (collective != CollectiveKind::AllToNext && collective != CollectiveKind::Custom) return;
  std::string names;
  for (const CollectiveKind kind : all_collectives()) {
    if (kind == CollectiveKind::AllToNext || kind == CollectiveKind::Custom) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(kind));
  }
  throw UserError(
      fmt::format("there is no synthesis of {}; expected one of {}", to_string(collective), names));
}

}  // namespace

CollectiveKind copied(CollectiveKind collective) {
  return is_composed(collective) ? CollectiveKind::AllGather : inverse_collective(collective);
}

void check_request(const Fabric& fabric, CollectiveKind collective,
                   const SynthesisOptions& options) {
  check_collective(collective);
  (void)make_demand(copied(collective), fabric.ranks(), 1, options.root, options.group);
  if (!(options.time_limit_s > 0)) {
    throw UserError(
        fmt::format("the time limit is {} s; expected more than 0", options.time_limit_s));
  }
  const Computed<std::int64_t> unit = CutNetwork::unit_Bps(fabric);
  if (!unit.value) {
    throw UserError(fmt::format("fabric '{}' has no link unit: {}", fabric.name(), unit.why_not));
  }
}

}  // namespace cclgym::synthesis
