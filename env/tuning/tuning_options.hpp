// The options of CollectiveTuning-v0 as typed values. Reading them builds no machine, compiles no
// program and starts no synthesis; read_tuning_setup does that from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/library/algorithm_library.hpp"
#include "core/error.hpp"
#include "core/options/option.hpp"
#include "core/yaml/yaml.hpp"
#include "env/tuning/actions/knob.hpp"
#include "env/tuning/actions/tuning_action.hpp"
#include "env/tuning/feature_group.hpp"
#include "env/tuning/noise_regimes.hpp"
#include "env/tuning/tuning_reward.hpp"
#include "sim/tuners/named_programs.hpp"
#include "topology_models/fabric_spec.hpp"

namespace cclgym {

/// The option `programs`.
struct ListedPrograms {
  /// Programs in files, and names of algorithms, for which `file` is empty.
  std::vector<NamedProgram> named;
  /// Schedules to synthesise: their names are "synth" or "synth:KIND".
  std::vector<NamedProgram> synth;

  [[nodiscard]] bool empty() const { return named.empty() && synth.empty(); }
};

/// All options, each checked by itself. A check that needs the machine is left to the maker, which
/// reports at the locations here.
struct TuningOptions {
  FabricSpec fabric;
  SourceLocation fabric_where{};
  std::string cost_model;  ///< parameter set, or path of a file
  std::string engine;
  std::uint64_t machine_seed = 0;
  NoiseRegimes regimes;
  SourceLocation noise_where{};
  double overlap_rate = 1;
  YamlValue workload;  ///< input of read_workload, which needs the machine
  ActionProfile profile = ActionProfile::Offline;
  std::vector<KnobLimit> limits;  ///< knobs without a limit have all their levels
  bool as_nccl = false;           ///< true for `legal: nccl`
  SourceLocation legal_where{};
  bool refuses_illegal_actions = true;
  std::uint64_t host_reduce_bytes = 0;
  std::optional<std::vector<std::string>> tuners{};  ///< nullopt: default_tuners
  SourceLocation tuners_where{};
  ListedPrograms programs;
  SourceLocation programs_where{};
  bool action_features = false;
  bool estimate_features = false;
  SourceLocation estimate_features_where{};
  FeatureGroups feature_groups = kAllFeatures;
  bool features_given = false;
  RewardOptions reward;
  int episode_calls = 0;
  int window = 0;
  bool oracle = false;
  std::size_t cached_times = 0;
};

/// Keys of the environment's options.
[[nodiscard]] const std::vector<OptionSpec>& collective_tuning_options();
/// Reads and checks the options; null: the defaults. Files of regimes are read, files of programs
/// only have to exist. `library`: the algorithms that `programs` may name. `reward`: replaces the
/// options' own. Throws UserError at the location of the mistake.
[[nodiscard]] TuningOptions read_tuning_options(
    const YamlValue& options, const AlgorithmLibrary& library = AlgorithmLibrary::shipped(),
    const YamlValue* reward = nullptr);

}  // namespace cclgym
