// Systems of public measurements: the fabric, parameter set and release of NCCL for each, and the
// meaning of its runs' names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/measured/measured_file.hpp"
#include "sim/call/call.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {

/// A system, as named in the column `system` of measured files.
struct MeasuredSystem {
  std::string name;          ///< "Polaris"
  std::string fabric;        ///< a shipped fabric, or the path of a fabric file
  std::string cost_model;    ///< in the form that cost_model_for takes: "a100-slingshot", "auto"
  std::string nccl_version;  ///< release for rows that do not state it
  std::string description;   ///< one line
};

/// All systems known by name.
[[nodiscard]] const std::vector<MeasuredSystem>& measured_systems();
/// The system with that name. Throws UserError with the nearest name.
[[nodiscard]] const MeasuredSystem& measured_system(std::string_view name);
/// A system of the user, on any fabric.
[[nodiscard]] MeasuredSystem own_system(std::string name, std::string fabric);

/// Shipped fabrics whose nodes have the GPUs that the row names, at least as many as the row has
/// per node; only those with as many as the row, if there are any. Empty if the row names no GPU.
[[nodiscard]] std::vector<std::string> fabrics_like(const Measurement& row);

/// The shipped fabric for rows that do not name their system, with a sentence for the user.
struct GuessedFabric {
  std::string fabric;
  std::string note;  ///< "run.txt names 8 GPUs per node of …: simulated on --fabric hgx-h100"
};
/// The shipped fabric that has the GPUs which these rows of `file` name. Throws UserError if none
/// has, or if the rows are of several nodes whose network the GPUs leave open.
[[nodiscard]] GuessedFabric guess_fabric(std::span<const Measurement> rows,
                                         const std::string& file);

/// Fabric of a row's measurement: the row's number of nodes, with its number of GPUs each. Trays of
/// one NVLink domain are one node.
[[nodiscard]] FabricSpec fabric_of_row(const MeasuredSystem& system, const Measurement& row);

/// Configuration and collective of a row's call.
struct RunPlan {
  /// nullopt if NCCL chose. Tiles and slots follow from the protocol.
  std::optional<Config> named{};
  std::string cost_model{};
  /// The collective that really ran, if the row names another one.
  std::optional<CollectiveKind> collective{};
  std::string refusal{};  ///< reason why it cannot be simulated; empty if it can
};
[[nodiscard]] RunPlan run_plan(const MeasuredSystem& system, const Measurement& row);

}  // namespace cclgym
