// A fabric as JSON, for `cclgym describe fabric NAME --json`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "topology_models/fabric.hpp"
#include "topology_models/machines/registry.hpp"
#include "topology_models/metrics/metrics.hpp"

namespace cclgym {

/// Nodes, directed links (B/s, s), metrics (null with the reason in "not_computed") and facts.
[[nodiscard]] nlohmann::ordered_json fabric_json(const Fabric& fabric, const FabricMetrics& metrics,
                                                 const std::vector<FabricFact>& facts);

}  // namespace cclgym
