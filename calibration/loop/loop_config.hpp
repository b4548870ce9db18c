// The YAML file of `cclgym loop`: an application loop on real hardware, what is known beforehand,
// and what happens to the hardware meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/contract.hpp"
#include "core/error.hpp"
#include "core/options/option.hpp"
#include "core/yaml/yaml.hpp"
#include "deploy/trigger/learned_trigger.hpp"

namespace cclgym {

struct LoopCallSpec {
  CollectiveKind collective = CollectiveKind::AllReduce;
  std::uint64_t bytes = 0;  ///< as counted by nccl-tests
  int root = 0;
  SourceLocation where{};  ///< place of `root`
};

/// Something that is done to the machine while the loop runs.
struct LoopEvent {
  double at_s = 0;      ///< since the start of the loop
  std::string run{};    ///< command line for a shell; empty: nothing is run
  std::string label{};  ///< state of the machine from then on: "traffic"
};

/// A sweep of `calibrate mpi` in one state of the machine.
struct LoopSweep {
  std::string measured{};  ///< path
  SourceLocation where{};  ///< place of the path
  double weight = 1;       ///< share of the loop's calls, relative to the other sweeps
};

/// A trained policy whose lanes are added to the loop.
struct LoopPolicySpec {
  std::string file{};  ///< path of a policy file or of the folder of a training
  SourceLocation where{};
  std::string seed{};  ///< seed of the training's agent; empty: the first
  SourceLocation seed_where{};
  std::string machine{};  ///< label among the policy's; empty: the one with the loop's ranks
  SourceLocation machine_where{};
  std::string cost_model = "auto";  ///< parameter set: a name, or an absolute path
  SourceLocation cost_model_where{};
  /// Configurations are chosen whose time in the prior is at most this many times the best; 0: all.
  double within = 0;
};

struct LoopConfig {
  std::string name{};
  double seconds = 600;
  double compute_s = 0;  ///< pause before each call
  std::vector<LoopCallSpec> calls{};
  std::string prior{};  ///< path of the sweep that the policies know
  SourceLocation prior_where{};
  std::vector<LoopSweep> hindsight{};  ///< may be empty
  std::optional<LoopPolicySpec> policy{};
  std::string start{};              ///< label of the state before the first event
  std::vector<LoopEvent> events{};  ///< by time
  std::uint64_t seed = 1;
  std::string interface {};  ///< network interface of the side channel; empty: the first
  std::optional<LearnedTriggerParameters>
      trigger{};  ///< detector of closed lanes; none: two CUSUMs
};

/// Keys of the file, and of the items of its lists.
[[nodiscard]] const std::vector<OptionSpec>& loop_options();
[[nodiscard]] const std::vector<OptionSpec>& loop_call_options();
[[nodiscard]] const std::vector<OptionSpec>& loop_sweep_options();
[[nodiscard]] const std::vector<OptionSpec>& loop_policy_options();
[[nodiscard]] const std::vector<OptionSpec>& loop_event_options();

/// Reads the file; its paths start in its folder. Throws UserError at the place of the mistake.
[[nodiscard]] LoopConfig load_loop_config(const std::string& path);

}  // namespace cclgym
