// Compares policies on the same calls, regimes and noise with each other and with the best possible
// action.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agents/policy.hpp"
#include "env/tuning/collective_tuning.hpp"
#include "env/tuning/plan_costs.hpp"

namespace cclgym {

/// A policy to measure.
struct EvaluatedPolicy {
  std::string name;
  /// Makes a fresh policy for a seed: a learning baseline starts from scratch, and an agent has the
  /// weights trained with that seed.
  std::function<std::unique_ptr<Policy>(std::uint64_t seed)> make;
  /// Tuners that the environment must offer as actions.
  std::vector<std::string> tuners{};
};

/// Calls of one collective and size, in all regimes. For workloads without a list of calls, the
/// size is a power of two.
struct EvaluatedCell {
  std::string collective;
  std::uint64_t bytes = 0;
  std::uint64_t calls = 0;
  double time_us = 0;        ///< geometric mean
  double oracle_ratio = 0;   ///< geometric mean of time / time of the oracle
  double default_ratio = 0;  ///< geometric mean of time / time of the default
  std::string choice;        ///< the action taken most often
  Config config{};           ///< configuration of that action; for a tuner, the one that it chose
  PlanCosts costs{};         ///< S and R / C of that configuration, where they are known
  /// Why NCCL cannot make the choice on the machine (mark_nccl_choices); empty if it can, or if
  /// that is not known.
  std::string not_nccl{};
};

/// Results of one policy with one seed.
struct PolicyRun {
  std::string policy;
  std::uint64_t seed = 0;
  std::uint64_t calls = 0;
  double oracle_ratio = 0;        ///< geometric mean over all calls
  double default_ratio = 0;       ///< geometric mean over all calls
  double decisions_per_call = 1;  ///< fraction of calls with a new decision
  /// Mean time in communication per step of the job, us; 0 if every call is a step.
  double step_us = 0;
  /// Mean time of a step with the job's computation (IterationClock), us; 0 if every call is a step
  /// or the job computes nothing.
  double iteration_us = 0;
  std::vector<EvaluatedCell> cells;
};

struct EvaluationOptions {
  std::uint64_t calls = 0;  ///< calls of a run; 0: one pass over the workload, or an episode
  std::vector<std::uint64_t> seeds{1, 2, 3};
  std::size_t threads = 2;  ///< threads for the simulation of the oracle's table
  /// Called before each run.
  std::function<void(const std::string& policy, std::uint64_t seed)> notice{};
};

/// Part of the record of a call that does not depend on the policy.
struct StreamCall {
  CollectiveKind collective = CollectiveKind::AllReduce;
  std::uint64_t bytes = 0;
  double oracle_us = 0;
  double default_us = 0;
};

/// Number of calls of a run: `given` (EvaluationOptions::calls), or what 0 stands for.
[[nodiscard]] std::uint64_t evaluated_calls(const TuningSetup& setup, std::uint64_t given);

/// Runs policies in an environment one by one. Results do not depend on earlier runs.
class PolicyEvaluator {
 public:
  /// `calls` is EvaluationOptions::calls.
  PolicyEvaluator(std::shared_ptr<const TuningSetup> setup, std::uint64_t calls);

  /// True if the workload has a list of calls.
  [[nodiscard]] bool finite() const { return finite_; }
  /// Calls of a seed with the oracle's times, which are computed once.
  const std::vector<StreamCall>& stream(std::uint64_t seed);
  [[nodiscard]] PolicyRun run(const EvaluatedPolicy& policy, std::uint64_t seed);

 private:
  std::shared_ptr<const TuningSetup> setup_;
  bool finite_ = false;
  std::uint64_t calls_;
  std::map<std::uint64_t, std::vector<StreamCall>> streams_;
};

/// Runs all policies in an environment, seed by seed. They are compared with the oracle of the
/// original environment; a policy with additional tuners may beat it.
[[nodiscard]] std::vector<PolicyRun> evaluate_policies(
    const std::shared_ptr<const TuningSetup>& setup, std::span<const EvaluatedPolicy> policies,
    const EvaluationOptions& options);

/// Results of a policy over its seeds.
struct PolicySummary {
  std::string policy;
  std::size_t seeds = 0;
  double oracle_ratio = 0;        ///< geometric mean over the seeds
  double least_oracle_ratio = 0;  ///< minimum over the seeds
  double most_oracle_ratio = 0;
  double worst_cell = 0;          ///< maximum ratio of a cell, over all seeds
  double p90_cell = 0;            ///< 90th percentile of the ratios of cells
  double default_speedup = 0;     ///< geometric mean of time of the default / time
  double decisions_per_call = 1;  ///< mean over the seeds
  double step_us = 0;             ///< mean over the seeds of PolicyRun::step_us
  double iteration_us = 0;        ///< mean over the seeds of PolicyRun::iteration_us
};
[[nodiscard]] std::vector<PolicySummary> summarize_runs(std::span<const PolicyRun> runs);

/// Table of summaries in aligned columns, best first; with the time in communication per step, and
/// with computation, if steps of the job have several calls.
[[nodiscard]] std::string evaluation_table(std::span<const PolicySummary> summaries);
/// Results of one environment.
struct EvaluatedPart {
  std::string label;
  std::vector<PolicyRun> runs;
  std::string fabric{};                   ///< label of the fabric: "ndv4 nodes=2"
  std::string cost_model{};               ///< CostModel::label(): "h100 (no set for B200)"
  std::vector<CollectiveFront> fronts{};  ///< synthesised fronts among the actions, by collective
  std::string
      nccl{};  ///< lines about choices that NCCL cannot make (nccl_shares_text); may be empty
};

/// CSV with one line per cell, policy and seed.
[[nodiscard]] std::string evaluation_csv(const EvaluatedPart& part, bool header);

}  // namespace cclgym
