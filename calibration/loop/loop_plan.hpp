// The configurations and tables of a loop, from measured sweeps.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "calibration/backends/mpi_backend.hpp"
#include "calibration/loop/loop_config.hpp"
#include "calibration/loop/policy_chooser.hpp"
#include "deploy/runtime/policy_file.hpp"

namespace cclgym {

/// A call of the loop, with the configurations among which policies choose.
struct LoopPlanCall {
  LoopCallSpec call;
  std::vector<MpiConfig> configs{};  ///< OpenMPI's own choice is the first
  std::vector<double> prior_s{};     ///< by configuration; infinite: no candidate of the agent
};

/// A policy of the loop.
struct LoopLane {
  std::string name{};
  bool closed = false;                 ///< learns while the loop runs
  bool frozen = false;                 ///< closed, but its table stays
  bool asks = false;                   ///< closed, and this process makes its tables
  std::vector<std::uint16_t> table{};  ///< configuration of each call at the start
};

/// Names of the lanes. `agent` is the closed loop; `frozen` is the same with its first table, the
/// best of the prior; `default` is OpenMPI's own choice; `hindsight` is the best single table of
/// all sweeps.
inline constexpr const char* kDefaultLane = "default";
inline constexpr const char* kFrozenLane = "frozen";
inline constexpr const char* kAgentLane = "agent";
inline constexpr const char* kHindsightLane = "hindsight";
/// The trained policy in the closed loop, and its table without measurements.
inline constexpr const char* kPolicyLane = "policy";
inline constexpr const char* kPolicyFrozenLane = "policy-frozen";

struct LoopPlan {
  int ranks = 0;  ///< ranks of the prior; the loop must have as many
  std::vector<LoopPlanCall> calls{};
  std::vector<LoopLane> lanes{};
  std::shared_ptr<PolicyChooser> chooser{};  ///< for the lane that asks; null: there is none
};

/// Configurations within this factor of the best of a sweep are candidates.
inline constexpr double kCandidateFactor = 1.5;

/// Makes the plan. Throws UserError at the place in the file if a sweep cannot be read, has no row
/// of a call, or has other ranks; if a root is none of its ranks; and if the policy is not for
/// these calls and ranks. `policy` is the file that config.policy names; null if it names none.
[[nodiscard]] LoopPlan plan_loop(const LoopConfig& config, const PolicyFile* policy = nullptr);

/// The body of the request to the worker (calibration/mpi/mpi_loop.hpp).
[[nodiscard]] std::string loop_request(const LoopConfig& config, const LoopPlan& plan);

}  // namespace cclgym
