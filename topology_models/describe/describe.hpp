// Human-readable descriptions of a fabric: text and drawing.
#pragma once

#include <string>
#include <vector>

#include "topology_models/fabric.hpp"
#include "topology_models/machines/registry.hpp"
#include "topology_models/metrics/metrics.hpp"

namespace cclgym {

/// Nodes, links grouped by kind (one by one if there are few, by class if there are many) and
/// metrics, as aligned text of several lines.
[[nodiscard]] std::string describe_fabric(const Fabric& fabric);
[[nodiscard]] std::string describe_fabric(const Fabric& fabric, const FabricMetrics& metrics);

/// The facts that a shipped fabric is built from and their sources, as lines that follow its
/// description. Empty if there are no facts.
[[nodiscard]] std::string describe_facts(const std::vector<FabricFact>& facts);

/// A drawing for Graphviz (`dot -Tsvg`). Cluster nodes are frames, a duplex link is one edge, each
/// kind of device has its own shape and each kind of link its own colour.
[[nodiscard]] std::string to_dot(const Fabric& fabric);

}  // namespace cclgym
