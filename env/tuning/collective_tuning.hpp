// CollectiveTuning-v0: an episode is the stream of a job's collective calls on a machine; each step
// carries out one call (docs/collective-tuning.md).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "env/gym/environment.hpp"
#include "env/tuning/actions/flat_tuning_actions.hpp"
#include "env/tuning/actions/tuning_action.hpp"
#include "env/tuning/job/tuning_job.hpp"
#include "env/tuning/noise_regimes.hpp"
#include "env/tuning/oracle_table.hpp"
#include "env/tuning/tuning_observation.hpp"
#include "env/tuning/tuning_oracle.hpp"
#include "env/tuning/tuning_reward.hpp"
#include "env/tuning/workload/workload.hpp"
#include "sim/fast/call_timer.hpp"

namespace cclgym {

/// A program of the option `programs` that no legal action runs.
struct IdleProgram {
  std::string name;
  TuningActions::Idle why;
  SourceLocation where{};

  /// "program 'ap' can never run here: …"
  [[nodiscard]] std::string message() const;
};

class ActionPrior;

/// Constant part of the environment, read once and shared by any number of copies in any threads.
struct TuningSetup {
  std::string fabric_label;
  std::shared_ptr<const CallSite> site;
  FabricFeatures fabric;
  NoiseRegimes regimes;
  std::vector<std::size_t> condition_of;  ///< index into site->conditions, by regime
  /// The same for calls during which the job computes; equal to condition_of if that costs nothing.
  std::vector<std::size_t> overlapped_of;
  YamlValue workload;                      ///< input of read_workload
  std::shared_ptr<const TuningJob> job{};  ///< the workload if it is a job; else null
  bool rewards_steps = false;  ///< true if the reward of each call depends on the job's step
  std::shared_ptr<const TuningActions> actions;
  std::shared_ptr<const FlatTuningActions> flat_actions;
  std::vector<IdleProgram> idle_programs{};
  RewardOptions reward;
  std::shared_ptr<ActionPrior> prior{};  ///< computes nothing until it is asked
  int episode_calls = 0;                 ///< 0: episodes do not end
  int window = 0;                        ///< number of recent calls in the observation
  bool oracle = false;                   ///< true if info has oracle_time_us
  /// Tuner with whose time the reward compares; nullopt: the default.
  std::optional<std::size_t> reward_over{};
  bool estimate_features = false;  ///< true if the observation has prior's estimates
  bool action_features = false;  ///< true if the observation has (C, S, R) of synthesised schedules
  FeatureGroups feature_groups = kAllFeatures;
  std::shared_ptr<NicCounters> nic_counters{};   ///< null: no features of backends and NICs
  std::shared_ptr<NicCounters> rewarded_nics{};  ///< counters for the reward; null: not rewarded
  /// True if a step refuses an illegal action; false if the default then carries out the call.
  bool refuses_illegal_actions = true;
  std::shared_ptr<TimeCache> cache;
  std::shared_ptr<CallTimerPool> timers;      ///< simulate for all copies
  std::shared_ptr<OracleTable> oracle_table;  ///< results of the oracles of all copies

  /// A stream of calls of its own.
  [[nodiscard]] std::unique_ptr<Workload> make_workload() const;
  /// Finds the best action of every call of a workload with finitely many calls, in every regime
  /// (OracleTable::fill). Returns the number of pairs of a call and a condition; 0 if the workload
  /// has no list.
  std::size_t fill_oracle(std::size_t threads, const OracleTable::Visitor& visit = {}) const;
  /// The calls for which fill_oracle finds actions; empty if the workload has no list.
  [[nodiscard]] std::vector<Call> listed_calls() const;
};

/// A machine that takes the place of the options `fabric` and `cost_model`.
struct GivenMachine {
  std::shared_ptr<const Fabric> fabric;
  std::string label;  ///< TuningSetup::fabric_label
  CostModel cost_model;
};

/// Reads the options (read_tuning_options) and makes what they ask for. Throws UserError at the
/// location of the mistake. `library`: the algorithms that `programs` may name. `reward`: replaces
/// the options' own. `machine`: replaces the options' own, if it is not null.
[[nodiscard]] std::shared_ptr<const TuningSetup> read_tuning_setup(
    const YamlValue& options, const AlgorithmLibrary& library = AlgorithmLibrary::shipped(),
    const YamlValue* reward = nullptr, const GivenMachine* machine = nullptr);
/// Throws UserError at the first idle program that no fabric could run. One that only this machine
/// excludes is no error: a policy moves between machines if their environments name the same
/// programs.
void refuse_excluded_programs(const TuningSetup& setup);
/// read_tuning_setup() and refuse_excluded_programs(), for an environment by itself.
[[nodiscard]] std::shared_ptr<const TuningSetup> checked_tuning_setup(const YamlValue& options);

/// Makes the observations of a stream of calls from their times, simulated in the environment or
/// measured in a job: it feeds a TuningObservation call by call. begin() describes the call that is
/// carried out, finish() adds its time. Not thread-safe; does not allocate if the call has been
/// seen before.
class CallObserver {
 public:
  /// All three must outlive this object.
  CallObserver(const TuningSetup& setup, CallTimer& timer, TuningOracle& oracle);

  [[nodiscard]] const TuningObservation& observation() const { return observation_; }
  /// TuningObservation::show.
  void show(const FeatureGroups& groups) { observation_.show(groups); }
  /// Forgets the recent calls.
  void start() { observation_.start(); }

  /// Sets done() to the call with an action. The default replaces an action that is not `legal`.
  /// Returns the simulated time without noise, which is what observations expect.
  TimedCall begin(const Call& call, std::span<const std::int32_t> action, bool legal = true);
  /// The call that was begun last; time_s is set by finish().
  [[nodiscard]] const ObservedCall& done() const { return done_; }
  /// Replaces the expected time of the call that was begun, s > 0, by one that was measured.
  void expect(double expected_s) { done_.expected_s = expected_s; }
  /// Ends the call that was begun. `time_s` > 0.
  void finish(double time_s);

  /// Writes the observation before a call: observation().size() numbers.
  void write(const WorkloadCall& next, std::span<float> out) const {
    observation_.write(next, out);
  }

 private:
  const TuningSetup& setup_;
  CallTimer& timer_;
  TuningOracle& oracle_;
  TuningObservation observation_;
  ObservedCall done_{};
};

class CollectiveTuningEnv : public Environment {
 public:
  /// Names in info.
  static constexpr const char* kTime = "time_us";
  static constexpr const char* kExpected = "expected_us";
  static constexpr const char* kDefault = "default_time_us";
  static constexpr const char* kOracle = "oracle_time_us";
  static constexpr const char* kRegime = "regime";
  static constexpr const char* kBytes = "bytes";
  static constexpr const char* kCollective = "collective";
  static constexpr const char* kEndsStep = "ends_step";
  static constexpr const char* kIllegal = "illegal";
  static constexpr const char* kStepTime = "step_time_us";
  static constexpr const char* kDefaultStepTime = "default_step_time_us";
  static constexpr const char* kExposed = "exposed_us";

  explicit CollectiveTuningEnv(std::shared_ptr<const TuningSetup> setup);
  /// `options` is a mapping of collective_tuning_options().
  explicit CollectiveTuningEnv(const YamlValue& options)
      : CollectiveTuningEnv(checked_tuning_setup(options)) {}

  [[nodiscard]] const EnvironmentSpec& spec() const override { return spec_; }
  using Environment::reset;
  void reset(std::optional<std::uint64_t> seed, const YamlValue& options,
             const StepBuffers& out) override;
  StepOutcome step(std::span<const std::int32_t> action, const StepBuffers& out) override;
  void conditional_mask(std::span<const std::uint8_t> action_mask,
                        std::span<const std::int32_t> prefix,
                        std::span<std::uint8_t> out) const override;
  [[nodiscard]] std::shared_ptr<const std::vector<std::int32_t>> possible_actions() const override {
    return setup_->flat_actions->actions();
  }
  [[nodiscard]] std::span<const std::uint8_t> possible_mask() const override {
    return setup_->flat_actions->mask(next_.call.collective, setup_->actions->large(next_.call));
  }
  [[nodiscard]] std::string describe_action(std::span<const std::int32_t> action) const override;

  [[nodiscard]] const TuningSetup& setup() const { return *setup_; }
  [[nodiscard]] const std::shared_ptr<const TuningSetup>& shared_setup() const { return setup_; }
  [[nodiscard]] const TuningObservation& observation() const { return observer_.observation(); }
  /// Call that the next step carries out.
  [[nodiscard]] const WorkloadCall& next_call() const { return next_; }
  [[nodiscard]] const Workload& workload() const { return *workload_; }
  /// Switches groups of features on that the setup has on, from the next observation on.
  void show(const FeatureGroups& groups);
  /// Workload::weigh.
  bool weigh(std::vector<double> weights) { return workload_->weigh(std::move(weights)); }
  /// Condition of the next call: that of the regime, if the job computes during the call or not.
  [[nodiscard]] std::size_t condition() const {
    const auto& of = next_.context.overlaps ? setup_->overlapped_of : setup_->condition_of;
    return of[chain_.regime()];
  }
  /// State of the machine, hidden from policies.
  [[nodiscard]] const RegimeChain& chain() const { return chain_; }
  [[nodiscard]] TuningOracle& oracle() { return oracle_; }
  [[nodiscard]] const CallTimer& timer() const { return timer_; }

 private:
  void write(const StepBuffers& out) const;
  [[nodiscard]] double time_default(std::size_t condition);
  void bound_costs(const Call& call, int steps);
  void start_step();
  void choose_in_step(const PlainConfig& config, std::span<double> info);

  std::shared_ptr<const TuningSetup> setup_;
  EnvironmentSpec spec_;
  CallTimer timer_;
  TuningOracle oracle_;
  CallObserver observer_;
  TuningReward reward_;
  std::unique_ptr<Workload> workload_;
  RegimeChain chain_;
  EpisodeRandom random_;
  WorkloadCall next_;
  RewardInput input_;
  std::vector<PlainConfig> choices_;  ///< by call of the job; the default where none was made
  std::size_t chosen_ = 0;            ///< number of choices in this step of the job
  double step_time_s_ = 0;            ///< time of the job's step with choices_
  int calls_ = 0;
  bool held_ = false;  ///< true if the regime is fixed in this episode
};

}  // namespace cclgym
