// Makes the setup of CollectiveTuning-v0 from its options.
#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "core/error.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "env/tuning/collective_tuning.hpp"
#include "env/tuning/estimates/action_prior.hpp"
#include "env/tuning/tuning_options.hpp"
#include "sim/tuners/named_programs.hpp"

namespace cclgym {

namespace {

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

// Builds the machine. Messages of make_fabric have no location and get that of the option.
void make_machine(const TuningOptions& options, const GivenMachine* given, TuningSetup& setup,
                  CallSite& site) {
  try {
    if (given != nullptr) {
      site.fabrics = {given->fabric};
      setup.fabric_label = given->label;
      site.cost_model = given->cost_model;
      site.engine = options.engine;
      return;
    }
    site.fabrics = fabrics_of(options.fabric);
    setup.fabric_label = fabric_label(options.fabric, *site.fabrics.front());
    site.cost_model = cost_model_for(options.cost_model, *site.fabrics.front());
  } catch (const UserError& error) {
    const std::string place = options.fabric_where.to_string();
    if (std::string_view(error.what()).starts_with(place) || place.empty()) throw;
    throw UserError(options.fabric_where, error.what());
  }
  if (site.fabrics.front()->ranks() < 2) {
    throw UserError(options.fabric_where, "a fabric of one GPU has no collectives");
  }
  site.engine = options.engine;
  site.machine_seed = options.machine_seed;
}

// The machine of a job is the fabric as the communicator sees it.
std::shared_ptr<TuningJob> make_job(const TuningOptions& options, TuningSetup& setup,
                                    CallSite& site) {
  if (!is_job_workload(options.workload)) return nullptr;
  // Bursts depend on how long a link was idle before the call; jobs are simulated without them.
  site.cost_model.network_burst_bytes = 0;
  auto job = std::make_shared<TuningJob>(read_job_workload(options.workload), site.fabrics.front(),
                                         site.cost_model);
  if (job->machine() != site.fabrics.front()) {
    setup.fabric_label +=
        fmt::format(" communicator={} ranks={} nodes={}", job->workload().communicator_name(),
                    job->machine()->ranks(), job->machine()->servers());
  }
  site.fabrics = {job->machine()};
  return job;
}

// Finds the choices of the tuner with which the reward compares, and the job's step with them.
void set_job_defaults(const TuningOptions& options, TuningSetup& setup, TuningJob& job) {
  const bool rewarded = setup.reward.kind == RewardKind::StepTime || setup.reward.step_weight > 0;
  const NoiseRegimes& noise = options.regimes;
  if (rewarded && (noise.regimes.size() > 1 || !noise.regimes.front().profile.none() ||
                   noise.measurement.any())) {
    throw UserError(options.noise_where,
                    "the step of a job is simulated without noise; expected noise none for a "
                    "reward that depends on the step");
  }
  std::vector<PlainConfig> defaults;
  for (const WorkloadCall& one : job.calls()) {
    const bool other =
        setup.reward_over && setup.actions->chooses(*setup.reward_over, one.call.collective);
    defaults.push_back(other ? setup.actions->choose(*setup.reward_over, one.call)
                             : setup.actions->reference(one.call));
  }
  job.set_defaults(setup.site, std::move(defaults));
  setup.rewards_steps = rewarded;
}

// Makes the conditions of the machine: one for each regime, and one for calls that overlap with
// computation under it, if that slows them.
void make_conditions(const TuningOptions& options, TuningSetup& setup, CallSite& site) {
  setup.regimes = options.regimes;
  for (const NoiseRegime& regime : setup.regimes.regimes) {
    require_ranks(regime.profile, *site.fabrics.front());
    setup.condition_of.push_back(regime.profile.none() ? 0 : site.conditions.size());
    if (!regime.profile.none()) site.conditions.push_back(regime.profile);
  }
  setup.overlapped_of = setup.condition_of;
  for (std::size_t i = 0; options.overlap_rate < 1 && i < setup.overlapped_of.size(); ++i) {
    NoiseProfile profile = setup.regimes.regimes[i].profile;
    profile.slow_gpus.all = options.overlap_rate;
    setup.overlapped_of[i] = site.conditions.size();
    site.conditions.push_back(std::move(profile));
  }
}

// Makes the actions, and compiles or synthesises the programs that they run.
void make_actions(const TuningOptions& options, const AlgorithmLibrary& library, TuningSetup& setup,
                  const std::shared_ptr<CallSite>& site, const std::vector<std::string>& tuners) {
  const std::shared_ptr<const Fabric>& fabric = site->fabrics.front();
  setup.site = site;
  site->algorithms = library;
  for (const NamedProgram& program : options.programs.named) {
    if (!program.file.empty()) add_program(site->algorithms, program);
  }
  const std::unique_ptr<Workload> workload = setup.make_workload();
  const TunerSite tuner_site{.fabric = fabric,
                             .fabric_label = setup.fabric_label,
                             .cost_model = site->cost_model,
                             .where = options.tuners_where,
                             .collectives = workload->collectives()};
  std::vector<SynthActions> synth;
  for (const NamedProgram& item : options.programs.synth) {
    synth.push_back(make_synth_actions(item.name, item.where, tuner_site, site->algorithms));
  }
  add_programs_of_tuners(tuners, tuner_site, site->algorithms);
  if (options.profile == ActionProfile::Pccl) {
    site->algorithms.add_buildable(pccl_programs(*fabric, options.limits));
  }
  setup.fabric = fabric_features(*fabric, site->cost_model);
  if (!synth.empty()) {
    setup.fabric.direct_s_per_B = direct_sends_s_per_B(*fabric, site->cost_model);
  }
  setup.actions = std::make_shared<const TuningActions>(
      site, TuningActions::Options{.profile = options.profile,
                                   .tuners = tuners,
                                   .collectives = workload->collectives(),
                                   .fabric_label = setup.fabric_label,
                                   .where = options.tuners_where,
                                   .limits = options.limits,
                                   .as_nccl = options.as_nccl,
                                   .programs = names_of(options.programs.named),
                                   .programs_where = options.programs_where,
                                   .synth = std::move(synth),
                                   .as_nccl_where = options.legal_where,
                                   .host_reduce_bytes = options.host_reduce_bytes});
  for (const CollectiveKind collective : workload->collectives()) {
    if (setup.actions->legal_count(collective) > 0) continue;
    throw UserError(options.workload.location(),
                    fmt::format("no action of profile {} carries out {} on {}",
                                action_profile_names()[static_cast<std::size_t>(options.profile)],
                                to_string(collective), setup.fabric_label));
  }
  setup.flat_actions = std::make_shared<const FlatTuningActions>(*setup.actions);
}

void find_idle_programs(const TuningOptions& options, TuningSetup& setup) {
  for (const NamedProgram& program : options.programs.named) {
    if (auto why = setup.actions->why_idle(program.name)) {
      setup.idle_programs.push_back({program.name, std::move(*why), program.where});
    }
  }
  for (const SynthActions& item : setup.actions->options().synth) {
    if (auto why = setup.actions->why_idle(item)) {
      setup.idle_programs.push_back({item.item, std::move(*why), item.where});
    }
  }
}

void set_features(const TuningOptions& options, TuningSetup& setup) {
  const int ranks = setup.site->fabrics.front()->ranks();
  if (options.estimate_features && ranks > ActionPrior::kMostRanks) {
    throw UserError(options.estimate_features_where,
                    fmt::format("estimate_features is for at most {} ranks, found {}",
                                ActionPrior::kMostRanks, ranks));
  }
  setup.estimate_features = options.estimate_features;
  setup.action_features = options.action_features;
  setup.feature_groups = options.feature_groups;
  if (options.features_given || options.profile == ActionProfile::Pccl) {
    setup.nic_counters = std::make_shared<NicCounters>(setup.site);
  }
}

void set_reward(const TuningOptions& options, const std::vector<std::string>& tuners,
                TuningSetup& setup) {
  setup.reward = options.reward;
  if (!setup.reward.over.empty()) {
    const auto found = std::ranges::find(tuners, setup.reward.over);
    if (found == tuners.end()) {
      throw UserError(setup.reward.over_where,
                      unknown_name_message("tuner of the environment", setup.reward.over, tuners));
    }
    setup.reward_over = static_cast<std::size_t>(found - tuners.begin());
  }
  if (setup.reward.fan_out_weight > 0) {
    setup.rewarded_nics =
        setup.nic_counters ? setup.nic_counters : std::make_shared<NicCounters>(setup.site);
  }
}

}  // namespace

std::shared_ptr<const TuningSetup> read_tuning_setup(const YamlValue& options,
                                                     const AlgorithmLibrary& library,
                                                     const YamlValue* reward,
                                                     const GivenMachine* machine) {
  const TuningOptions read = read_tuning_options(options, library, reward);
  auto setup = std::make_shared<TuningSetup>();
  auto site = std::make_shared<CallSite>();
  make_machine(read, machine, *setup, *site);
  const std::shared_ptr<TuningJob> job = make_job(read, *setup, *site);
  setup->workload = read.workload;
  setup->job = job;
  make_conditions(read, *setup, *site);
  const std::vector<std::string> tuners =
      read.tuners ? *read.tuners : default_tuners(read.profile, *site->fabrics.front());
  make_actions(read, library, *setup, site, tuners);
  find_idle_programs(read, *setup);
  set_features(read, *setup);
  set_reward(read, tuners, *setup);
  if (job) set_job_defaults(read, *setup, *job);
  setup->episode_calls = read.episode_calls;
  setup->window = read.window;
  setup->oracle = read.oracle;
  setup->refuses_illegal_actions = read.refuses_illegal_actions;
  setup->cache = std::make_shared<TimeCache>(read.cached_times);
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

std::unique_ptr<Workload> TuningSetup::make_workload() const {
  if (job) return iteration_workload(kJobWorkload, job->calls());
  return read_workload(workload, workload_site(*site->fabrics.front()));
}

std::vector<Call> TuningSetup::listed_calls() const {
  std::vector<Call> calls;
  const std::unique_ptr<Workload> made = make_workload();
  for (const WorkloadCall& one : made->calls()) calls.push_back(one.call);
  return calls;
}

std::size_t TuningSetup::fill_oracle(std::size_t threads, const OracleTable::Visitor& visit) const {
  std::set<std::size_t> once(condition_of.begin(), condition_of.end());
  once.insert(overlapped_of.begin(), overlapped_of.end());
  const std::vector<std::size_t> conditions(once.begin(), once.end());
  return oracle_table->fill(listed_calls(), conditions, threads, visit);
}

}  // namespace cclgym
