// Reads CollectiveTuning-v0 from YAML.
#include <algorithm>
#include <filesystem>
#include <fmt/core.h>
#include <set>

#include "core/error.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "env/tuning/collective_tuning.hpp"
#include "env/tuning/estimates/action_prior.hpp"
#include "sim/call/config_options.hpp"
#include "sim/tuners/named_programs.hpp"

namespace cclgym {

namespace {

const OptionSpec& spec_of(std::string_view name) {
  return find_option(collective_tuning_options(), name);
}

// The fabric under each NIC binding: first its own and then, if bindings can be chosen, the others.
std::vector<std::shared_ptr<const Fabric>> fabrics_of(const FabricSpec& spec) {
  std::vector<std::shared_ptr<const Fabric>> fabrics{make_fabric(spec)};
  const FabricInfo* info = find_fabric_info(spec.name);
  const bool bound = info != nullptr && try_find_option(info->options, "nic_binding") != nullptr;
  if (!bound || fabrics.front()->servers() < 2 || spec.nic_binding) return fabrics;
  for (const NicBinding binding : {NicBinding::RoundRobin, NicBinding::SingleNic}) {
    FabricSpec other = spec;
    other.nic_binding = binding;
    fabrics.push_back(make_fabric(other));
  }
  return fabrics;
}

}  // namespace

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

// The option `programs`: programs and, by "synth:KIND", schedules to synthesise.
struct ListedPrograms {
  std::vector<NamedProgram> named;
  std::vector<NamedProgram> synth;
  [[nodiscard]] bool empty() const { return named.empty() && synth.empty(); }
};

bool is_synthesis(std::string_view name) { return name == "synth" || name.starts_with("synth:"); }

// Programs in files are added to the library; a name alone refers to an algorithm that is already
// in the library.
ListedPrograms read_programs(const YamlValue& list, AlgorithmLibrary& library) {
  ListedPrograms listed;
  if (list.is_null()) return listed;
  std::vector<NamedProgram>& programs = listed.named;
  for (const YamlValue& item : read_items(list, spec_of("programs"))) {
    if (item.is_mapping()) {
      programs.push_back(read_named_program(item));
      add_program(library, programs.back());
      continue;
    }
    if (is_synthesis(item.as_text())) {
      listed.synth.push_back({.name = item.as_text(), .where = item.location()});
      const auto before = std::ranges::find(listed.synth, item.as_text(), &NamedProgram::name);
      if (before == listed.synth.end() - 1) continue;
      throw UserError(item.location(), quoted(item.as_text()) + " is named twice");
    }
    const OptionSpec algorithms = algorithm_option(library);
    programs.push_back(
        {.name = algorithms.choices[read_choice(item, algorithms)], .where = item.location()});
  }
  return listed;
}

std::vector<std::string> names_of(const std::vector<NamedProgram>& programs) {
  std::vector<std::string> names;
  for (const NamedProgram& program : programs) names.push_back(program.name);
  return names;
}

// Adds the programs that tuners bring (dispatch tables, synthesis). Errors of a tuner are reported
// at the place that names it.
void add_programs_of_tuners(const std::vector<std::string>& names, TunerSite site,
                            AlgorithmLibrary& library) {
  site.algorithms = library;
  for (const std::string& name : names) {
    if (!brings_programs(name)) continue;
    try {
      library.add_all(make_tuner(name, site)->algorithms());
    } catch (const UserError& error) {
      const std::string place = site.where.to_string();
      if (std::string_view(error.what()).starts_with(place) || place.empty()) throw;
      throw UserError(site.where, error.what());
    }
  }
}

}  // namespace

std::shared_ptr<const TuningSetup> read_tuning_setup(const YamlValue& options,
                                                     const AlgorithmLibrary& library,
                                                     const YamlValue* reward) {
  const YamlValue mapping = options.is_null() ? parse_yaml("{}", "") : options;
  check_keys(mapping, collective_tuning_options(), "CollectiveTuning-v0");
  const auto value = [&](std::string_view key) { return option_value(mapping, spec_of(key)); };
  const auto integer = [&](std::string_view key) { return read_integer(value(key), spec_of(key)); };

  auto setup = std::make_shared<TuningSetup>();
  auto site = std::make_shared<CallSite>();
  const FabricSpec fabric = read_fabric_spec(value("fabric"));
  try {
    site->fabrics = fabrics_of(fabric);
    setup->fabric_label = fabric_label(fabric, *site->fabrics.front());
    site->cost_model = cost_model_for(cost_model_name(value("cost_model")), *site->fabrics.front());
  } catch (const UserError& error) {
    // The messages of make_fabric have no location.
    const std::string place = value("fabric").location().to_string();
    if (std::string_view(error.what()).starts_with(place) || place.empty()) throw;
    throw UserError(value("fabric").location(), error.what());
  }
  if (site->fabrics.front()->ranks() < 2) {
    throw UserError(value("fabric").location(), "a fabric of one GPU has no collectives");
  }
  site->engine = spec_of("engine").choices[read_choice(value("engine"), spec_of("engine"))];
  site->machine_seed = static_cast<std::uint64_t>(integer("machine_seed"));
  setup->regimes = read_noise_regimes(value("noise"));
  for (const NoiseRegime& regime : setup->regimes.regimes) {
    require_ranks(regime.profile, *site->fabrics.front());
    setup->condition_of.push_back(regime.profile.none() ? 0 : site->conditions.size());
    if (!regime.profile.none()) site->conditions.push_back(regime.profile);
  }
  setup->overlapped_of = setup->condition_of;
  const double overlap_rate = read_real(value("overlap_rate"), spec_of("overlap_rate"));
  for (std::size_t i = 0; overlap_rate < 1 && i < setup->overlapped_of.size(); ++i) {
    NoiseProfile profile = setup->regimes.regimes[i].profile;
    profile.slow_gpus.all = overlap_rate;
    setup->overlapped_of[i] = site->conditions.size();
    site->conditions.push_back(std::move(profile));
  }
  const auto profile =
      static_cast<ActionProfile>(read_choice(value("actions"), spec_of("actions")));
  const std::vector<std::string> tuners = find_value(mapping, spec_of("tuners")) == nullptr
                                              ? default_tuners(profile, *site->fabrics.front())
                                              : read_texts(value("tuners"), spec_of("tuners"));
  site->algorithms = library;
  const ListedPrograms programs = read_programs(value("programs"), site->algorithms);
  if (!programs.empty() && profile != ActionProfile::Offline) {
    throw UserError(value("programs").location(),
                    fmt::format("profile {} has no programs of the user; expected actions offline",
                                action_profile_names()[static_cast<std::size_t>(profile)]));
  }
  setup->workload = value("workload");
  const std::unique_ptr<Workload> workload =
      read_workload(setup->workload, workload_site(*site->fabrics.front()));
  const TunerSite tuner_site{.fabric = site->fabrics.front(),
                             .fabric_label = setup->fabric_label,
                             .cost_model = site->cost_model,
                             .where = value("tuners").location(),
                             .collectives = workload->collectives()};
  std::vector<SynthActions> synth;
  for (const NamedProgram& item : programs.synth) {
    synth.push_back(make_synth_actions(item.name, item.where, tuner_site, site->algorithms));
  }
  add_programs_of_tuners(tuners, tuner_site, site->algorithms);
  const std::vector<KnobLimit> limits = read_limits(value("knobs"));
  if (profile == ActionProfile::Pccl) {
    site->algorithms.add_buildable(pccl_programs(*site->fabrics.front(), limits));
  }
  setup->site = site;
  setup->fabric = fabric_features(*site->fabrics.front(), site->cost_model);
  if (!synth.empty()) {
    setup->fabric.direct_s_per_B = direct_sends_s_per_B(*site->fabrics.front(), site->cost_model);
  }

  setup->actions = std::make_shared<const TuningActions>(
      site, TuningActions::Options{
                .profile = profile,
                .tuners = tuners,
                .collectives = workload->collectives(),
                .fabric_label = setup->fabric_label,
                .where = value("tuners").location(),
                .limits = limits,
                .as_nccl = read_choice(value("legal"), spec_of("legal")) == 1,
                .programs = names_of(programs.named),
                .programs_where = value("programs").location(),
                .synth = std::move(synth),
                .as_nccl_where = value("legal").location(),
                .host_reduce_bytes = read_bytes(value("host_reduce"), spec_of("host_reduce"))});
  for (const CollectiveKind collective : workload->collectives()) {
    if (setup->actions->legal_count(collective) == 0) {
      throw UserError(value("workload").location(),
                      fmt::format("no action of profile {} carries out {} on {}",
                                  action_profile_names()[static_cast<std::size_t>(profile)],
                                  to_string(collective), setup->fabric_label));
    }
  }
  for (const NamedProgram& program : programs.named) {
    if (auto why = setup->actions->why_idle(program.name)) {
      setup->idle_programs.push_back({program.name, std::move(*why), program.where});
    }
  }
  for (const SynthActions& item : setup->actions->options().synth) {
    if (auto why = setup->actions->why_idle(item)) {
      setup->idle_programs.push_back({item.item, std::move(*why), item.where});
    }
  }
  setup->estimate_features = read_flag(value("estimate_features"), spec_of("estimate_features"));
  if (setup->estimate_features && site->fabrics.front()->ranks() > ActionPrior::kMostRanks) {
    throw UserError(value("estimate_features").location(),
                    fmt::format("estimate_features is for at most {} ranks, found {}",
                                ActionPrior::kMostRanks, site->fabrics.front()->ranks()));
  }
  setup->action_features = read_flag(value("action_features"), spec_of("action_features"));
  if (setup->action_features && programs.synth.empty()) {
    throw UserError(value("action_features").location(),
                    "action_features needs synthesised programs as actions; expected an item "
                    "synth:pareto, synth:throughput or synth in programs");
  }
  setup->feature_groups.fill(false);
  for (const std::size_t group : read_choices(value("features"), spec_of("features"))) {
    setup->feature_groups[group] = true;
  }
  const bool counted = find_value(mapping, spec_of("features")) != nullptr;
  if (counted || profile == ActionProfile::Pccl) {
    setup->nic_counters = std::make_shared<NicCounters>(site);
  }
  setup->flat_actions = std::make_shared<const FlatTuningActions>(*setup->actions);
  setup->reward = read_reward(reward != nullptr ? *reward : value("reward"));
  if (!setup->reward.over.empty()) {
    const auto found = std::ranges::find(tuners, setup->reward.over);
    if (found == tuners.end()) {
      throw UserError(setup->reward.over_where,
                      unknown_name_message("tuner of the environment", setup->reward.over, tuners));
    }
    setup->reward_over = static_cast<std::size_t>(found - tuners.begin());
  }
  if (setup->reward.fan_out_weight > 0) {
    setup->rewarded_nics =
        setup->nic_counters ? setup->nic_counters : std::make_shared<NicCounters>(site);
  }
  setup->episode_calls = static_cast<int>(integer("episode"));
  setup->window = static_cast<int>(integer("window"));
  setup->oracle = read_flag(value("oracle"), spec_of("oracle"));
  setup->refuses_illegal_actions = read_choice(value("illegal"), spec_of("illegal")) == 0;
  setup->cache = std::make_shared<TimeCache>(static_cast<std::size_t>(integer("cache")));
  setup->timers = std::make_shared<CallTimerPool>(site, setup->cache);
  setup->prior = std::make_shared<ActionPrior>(site, setup->actions, setup->fabric);
  setup->oracle_table = std::make_shared<OracleTable>(site, setup->actions, setup->cache);
  return setup;
}

std::string IdleProgram::message() const {
  return fmt::format("program '{}' can never run here: {}", name, why.reason);
}

void refuse_excluded_programs(const TuningSetup& setup) {
  for (const IdleProgram& program : setup.idle_programs) {
    if (program.why.by_options) throw UserError(program.where, program.message());
  }
}

std::shared_ptr<const TuningSetup> checked_tuning_setup(const YamlValue& options) {
  auto setup = read_tuning_setup(options);
  refuse_excluded_programs(*setup);
  return setup;
}

std::vector<Call> TuningSetup::listed_calls() const {
  std::vector<Call> calls;
  const auto read = read_workload(workload, workload_site(*site->fabrics.front()));
  for (const WorkloadCall& one : read->calls()) calls.push_back(one.call);
  return calls;
}

std::size_t TuningSetup::fill_oracle(std::size_t threads, const OracleTable::Visitor& visit) const {
  std::set<std::size_t> once(condition_of.begin(), condition_of.end());
  once.insert(overlapped_of.begin(), overlapped_of.end());
  const std::vector<std::size_t> conditions(once.begin(), once.end());
  return oracle_table->fill(listed_calls(), conditions, threads, visit);
}

}  // namespace cclgym
