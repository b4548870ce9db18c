// The systems of public measurements: which fabric, parameter set and release of NCCL stand for
// each, and what its runs are called.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/measure/measured_file.hpp"
#include "sim/call/call.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {

/// A system as the column `system` of measured files names it.
struct MeasuredSystem {
  std::string name;          ///< "Polaris"
  std::string fabric;        ///< a shipped fabric, or the path of a fabric file
  std::string cost_model;    ///< what cost_model_for takes: "a100-slingshot", "auto"
  std::string nccl_version;  ///< of rows that do not say which
  std::string description;   ///< one line
};

/// The systems that are known by name.
[[nodiscard]] const std::vector<MeasuredSystem>& measured_systems();
/// One of them. Throws UserError naming the nearest.
[[nodiscard]] const MeasuredSystem& measured_system(std::string_view name);
/// A system of the user's own, on any fabric.
[[nodiscard]] MeasuredSystem own_system(std::string name, std::string fabric);

/// The fabric that a row was measured on: as many servers as it has nodes, with as many GPUs each.
[[nodiscard]] FabricSpec fabric_of_row(const MeasuredSystem& system, const Measurement& row);

/// How a row's call was carried out.
struct RunPlan {
  /// nullopt: NCCL chose. Tiles and slots are those of the protocol.
  std::optional<Config> named{};
  std::string cost_model{};
  /// The collective that ran, where the row names another one.
  std::optional<CollectiveKind> collective{};
  std::string refusal{};  ///< why it cannot be simulated; empty: it can
};
[[nodiscard]] RunPlan run_plan(const MeasuredSystem& system, const Measurement& row);

}  // namespace cclgym
