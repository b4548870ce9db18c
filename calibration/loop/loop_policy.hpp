// A trained policy for the loop: its file, its machine, and the configurations of OpenMPI that its
// actions name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "calibration/backends/mpi_backend.hpp"
#include "calibration/loop/loop_config.hpp"
#include "deploy/runtime/policy_file.hpp"
#include "deploy/runtime/policy_runtime.h"
#include "env/tuning/collective_tuning.hpp"

namespace cclgym {

/// A legal action of a call, and the configuration that it names.
struct PolicyAction {
  std::vector<std::int32_t> action;
  MpiConfig config;
};

/// Actions that are allowed for one class of calls, knobs() numbers each.
using AllowedActions = std::vector<std::vector<std::int32_t>>;

/// Immutable; decides for any number of streams of calls.
class LoopPolicy {
 public:
  /// The policy on the machine that `spec` names or, if it names none, on the only one of its
  /// machines with so many ranks. Throws UserError at the place in the loop's file if there is no
  /// such machine, or if the policy's actions or observations are not those of OpenMPI there.
  LoopPolicy(const PolicyFile& file, const LoopPolicySpec& spec, int ranks);

  [[nodiscard]] const std::shared_ptr<const TuningSetup>& setup() const { return setup_; }
  /// All actions for calls of a collective, each with its configuration. Throws UserError if the
  /// policy has none.
  [[nodiscard]] std::vector<PolicyAction> actions(CollectiveKind collective) const;

  /// The same policy, which decides for classes of calls: its likeliest choice among the class's
  /// actions, of which there must be at least one.
  [[nodiscard]] std::shared_ptr<const LoopPolicy> for_classes(
      std::span<const AllowedActions> classes) const;

  [[nodiscard]] std::size_t state_bytes() const { return cclgym_policy_state_bytes(policy_.get()); }
  void start(std::span<unsigned char> state) const;
  /// Advances the state by an observation, and sets the action (as many numbers as knobs) for a
  /// class of for_classes().
  void decide(std::span<unsigned char> state, std::span<const float> observation, std::size_t group,
              std::span<std::int32_t> action) const;

 private:
  LoopPolicy() = default;
  struct Free {
    void operator()(cclgym_policy* policy) const { cclgym_policy_free(policy); }
  };
  void parse();

  PolicyFile file_;
  SourceLocation where_;
  std::unique_ptr<cclgym_policy, Free> policy_;
  std::shared_ptr<const TuningSetup> setup_;
  std::vector<int> rules_{};  ///< by class
};

}  // namespace cclgym
