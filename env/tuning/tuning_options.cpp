#include "env/tuning/tuning_options.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/core.h>
#include <string_view>

#include "sim/call/config_options.hpp"

namespace cclgym {

const std::vector<OptionSpec>& collective_tuning_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "fabric",
       .kind = OptionKind::Mapping,
       .description = "machine: a name, or a mapping as in experiments",
       .default_text = "ndv4"},
      {.name = "cost_model",
       .description = "parameter set, or a file relative to this one",
       .default_text = "auto"},
      {.name = "engine",
       .kind = OptionKind::Choice,
       .description = "engine that times calls: flow, or the reference simgrid, which simulates "
                      "every time in full, one after the other",
       .default_text = "flow",
       .choices = {"flow", "simgrid"}},
      {.name = "workload",
       .kind = OptionKind::Mapping,
       .description = "workload: a name, or a mapping",
       .default_text = "sweep"},
      {.name = "noise",
       .kind = OptionKind::Mapping,
       .description =
           "regimes of the machine: none, jitter, cloud-ib, stragglers, slingshot, cloud-faults, a "
           "file, or a mapping",
       .default_text = "none"},
      {.name = "overlap_rate",
       .kind = OptionKind::Real,
       .description = "share of the thread blocks' rates that a call keeps while the job computes "
                      "during it (calls that overlap); 1: computing costs calls nothing",
       .min = 0,
       .max = 1,
       .exclusive_min = true,
       .default_text = "1"},
      {.name = "actions",
       .kind = OptionKind::Choice,
       .description = "name of the action profile, which has the knobs",
       .default_text = "offline",
       .choices = action_profile_names()},
      {.name = "knobs",
       .kind = OptionKind::Mapping,
       .description = "allowed levels of knobs, as in {channels: [4, 8], threads: nccl}; all "
                      "levels of a knob that is not named"},
      {.name = "legal",
       .kind = OptionKind::Choice,
       .description = "legal actions: all that the library compiles and the GPUs hold (library), "
                      "or only those that NCCL itself offers on this machine, for actions "
                      "stock-nccl and nccl-2.30 (nccl)",
       .default_text = "library",
       .choices = {"library", "nccl"}},
      {.name = "illegal",
       .kind = OptionKind::Choice,
       .description = "response to an action that is illegal for its call: raise an error, or "
                      "let the default carry out the call and set illegal in info, as NCCL does "
                      "with a choice of its tuner that it cannot follow",
       .default_text = "raise",
       .choices = {"raise", "default"}},
      {.name = "host_reduce",
       .kind = OptionKind::Bytes,
       .description = "largest call that may be reduced on hosts, with actions pccl",
       .min = 0,
       .default_text = "1MiB"},
      {.name = "tuners",
       .kind = OptionKind::Text,
       .shape = OptionShape::OneOrList,
       .description = "tuners that are additional actions; the first is the default to which "
                      "rewards are relative; if none is named, openmpi-default for actions "
                      "openmpi, and nccl-default or rccl-default, and cray-mpich, for pccl",
       .default_text = "[nccl-default]",
       .aliases = {"choosers"}},
      {.name = "programs",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::OneOrList,
       .description =
           "programs that are levels of algorithm with actions offline: MSCCL XML files, "
           "{file: ap.xml, name: ap}, relative to the folder of this file, names of algorithms "
           "(cclgym list algorithms) that the profile does not have, or the "
           "programs of schedule synthesis for the fabric: synth:pareto, synth:throughput or "
           "synth, which run in SCCL's runtime with :sccl at the end"},
      {.name = "action_features",
       .kind = OptionKind::Flag,
       .description =
           "true if the observation has chunks, steps, rounds and the alpha-beta time of "
           "every synthesised program that is an action",
       .default_text = "false"},
      {.name = "estimate_features",
       .kind = OptionKind::Flag,
       .description = "true if the observation has the estimated time of every algorithm with "
                      "every protocol and of the default, and the action with the least estimate",
       .default_text = "false"},
      {.name = "features",
       .kind = OptionKind::Choice,
       .shape = OptionShape::OneOrList,
       .description = "groups of features that are on; the others are 0. If it is given, and with "
                      "actions pccl, there are features of backends and of NIC counters",
       .default_text = "[size, machine, recent, counters]",
       .choices = feature_group_names()},
      {.name = "reward",
       .kind = OptionKind::Mapping,
       .description = "reward: a name, or a mapping",
       .default_text = "log-speedup"},
      {.name = "episode",
       .kind = OptionKind::Integer,
       .description = "calls after which an episode is truncated; 0: it does not end",
       .min = 0,
       .max = 1e9,
       .default_text = "256"},
      {.name = "window",
       .kind = OptionKind::Integer,
       .description = "recent calls that the observation describes one by one",
       .min = 0,
       .max = 64,
       .default_text = "4"},
      {.name = "oracle",
       .kind = OptionKind::Flag,
       .description = "true if info has oracle_time_us, for which every legal action of each call "
                      "is simulated",
       .default_text = "false"},
      {.name = "machine_seed",
       .kind = OptionKind::Integer,
       .description = "seed of the draw of degraded links and slow GPUs, if the noise draws them",
       .min = 0,
       .max = 9e15,
       .default_text = "0"},
      {.name = "cache",
       .kind = OptionKind::Integer,
       .description = "number of times that are cached",
       .min = 0,
       .max = 1 << 28,
       .default_text = "262144"},
  };
  return specs;
}

namespace {

const OptionSpec& spec_of(std::string_view name) {
  return find_option(collective_tuning_options(), name);
}

// A relative path starts from the folder of the file that names it.
std::string cost_model_name(const YamlValue& value) {
  std::string name = read_text(value, spec_of("cost_model"));
  const std::filesystem::path path(name);
  const bool file = name.ends_with(".yaml") || name.ends_with(".yml");
  if (!file || path.is_absolute() || value.location().file.empty()) return name;
  return (std::filesystem::path(value.location().file).parent_path() / path).string();
}

std::vector<KnobLimit> read_limits(const YamlValue& knobs) {
  std::vector<KnobLimit> limits;
  if (knobs.is_null()) return limits;
  for (const YamlEntry& entry : knobs.entries()) {
    KnobLimit limit{.knob = entry.key, .levels = {}, .where = entry.key_location};
    if (entry.value.is_scalar()) {
      limit.levels.push_back({entry.value.as_text(), entry.value.location()});
    } else {
      for (const YamlValue& level : entry.value.items()) {
        limit.levels.push_back({level.as_text(), level.location()});
      }
    }
    if (limit.levels.empty()) {
      throw UserError(entry.value.location(), fmt::format("knob {} has no level left", entry.key));
    }
    limits.push_back(std::move(limit));
  }
  return limits;
}

bool is_synthesis(std::string_view name) { return name == "synth" || name.starts_with("synth:"); }

// A name alone refers to an algorithm of the library, or to a program further up in the list.
ListedPrograms read_programs(const YamlValue& list, const AlgorithmLibrary& library) {
  ListedPrograms listed;
  if (list.is_null()) return listed;
  OptionSpec algorithms = algorithm_option(library);
  for (const YamlValue& item : read_items(list, spec_of("programs"))) {
    if (item.is_mapping()) {
      listed.named.push_back(read_named_program(item));
      algorithms.choices.push_back(listed.named.back().name);
    } else if (is_synthesis(item.as_text())) {
      if (std::ranges::find(listed.synth, item.as_text(), &NamedProgram::name) !=
          listed.synth.end()) {
        throw UserError(item.location(), quoted(item.as_text()) + " is named twice");
      }
      listed.synth.push_back({.name = item.as_text(), .where = item.location()});
    } else {
      listed.named.push_back(
          {.name = algorithms.choices[read_choice(item, algorithms)], .where = item.location()});
    }
  }
  return listed;
}

// Refuses options that do not go together, on whatever machine.
void check_together(const TuningOptions& read, const SourceLocation& action_features) {
  if (!read.programs.empty() && read.profile != ActionProfile::Offline) {
    throw UserError(read.programs_where,
                    fmt::format("profile {} has no programs of the user; expected actions offline",
                                action_profile_names()[static_cast<std::size_t>(read.profile)]));
  }
  if (read.action_features && read.programs.synth.empty()) {
    throw UserError(action_features,
                    "action_features needs synthesised programs as actions; expected an item "
                    "synth:pareto, synth:throughput or synth in programs");
  }
}

}  // namespace

TuningOptions read_tuning_options(const YamlValue& options, const AlgorithmLibrary& library,
                                  const YamlValue* reward) {
  const YamlValue mapping = options.is_null() ? parse_yaml("{}", "") : options;
  check_keys(mapping, collective_tuning_options(), "CollectiveTuning-v0");
  const auto value = [&](std::string_view key) { return option_value(mapping, spec_of(key)); };
  const auto integer = [&](std::string_view key) { return read_integer(value(key), spec_of(key)); };
  const auto flag = [&](std::string_view key) { return read_flag(value(key), spec_of(key)); };
  const auto choice = [&](std::string_view key) { return read_choice(value(key), spec_of(key)); };

  TuningOptions read;
  read.fabric_where = value("fabric").location();
  read.fabric = read_fabric_spec(value("fabric"));
  read.cost_model = cost_model_name(value("cost_model"));
  read.engine = spec_of("engine").choices[choice("engine")];
  read.machine_seed = static_cast<std::uint64_t>(integer("machine_seed"));
  read.regimes = read_noise_regimes(value("noise"));
  read.noise_where = value("noise").location();
  read.overlap_rate = read_real(value("overlap_rate"), spec_of("overlap_rate"));
  read.workload = value("workload");
  read.profile = static_cast<ActionProfile>(choice("actions"));
  read.limits = read_limits(value("knobs"));
  read.as_nccl = choice("legal") == 1;
  read.legal_where = value("legal").location();
  read.refuses_illegal_actions = choice("illegal") == 0;
  read.host_reduce_bytes = read_bytes(value("host_reduce"), spec_of("host_reduce"));
  if (find_value(mapping, spec_of("tuners")) != nullptr) {
    read.tuners = read_texts(value("tuners"), spec_of("tuners"));
  }
  read.tuners_where = value("tuners").location();
  read.programs = read_programs(value("programs"), library);
  read.programs_where = value("programs").location();
  read.action_features = flag("action_features");
  read.estimate_features = flag("estimate_features");
  read.estimate_features_where = value("estimate_features").location();
  read.feature_groups.fill(false);
  for (const std::size_t group : read_choices(value("features"), spec_of("features"))) {
    read.feature_groups[group] = true;
  }
  read.features_given = find_value(mapping, spec_of("features")) != nullptr;
  read.reward = read_reward(reward != nullptr ? *reward : value("reward"));
  read.episode_calls = static_cast<int>(integer("episode"));
  read.window = static_cast<int>(integer("window"));
  read.oracle = flag("oracle");
  read.cached_times = static_cast<std::size_t>(integer("cache"));
  check_together(read, value("action_features").location());
  return read;
}

}  // namespace cclgym
