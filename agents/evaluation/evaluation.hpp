// Policies side by side: the same calls, regimes and noise for all, and how each compares with the
// best possible.
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

namespace cclgym {

/// Somebody to be measured.
struct EvaluatedPolicy {
  std::string name;
  /// A fresh one for a seed: baselines that learn start over, an agent is the one trained with it.
  std::function<std::unique_ptr<Policy>(std::uint64_t seed)> make;
  /// Tuners that must be among the environment's.
  std::vector<std::string> tuners{};
};

/// Calls of one collective and size (of workloads without a list of calls: power of two), in all
/// regimes.
struct EvaluatedCell {
  std::string collective;
  std::uint64_t bytes = 0;
  std::uint64_t calls = 0;
  double time_us = 0;        ///< geometric mean
  double oracle_ratio = 0;   ///< geometric mean of time / the oracle's time
  double default_ratio = 0;  ///< of time / the default's time
  std::string choice;        ///< the action that it took most often
  Config config{};           ///< what that action was: of tuners, what they chose
};

/// One policy, one seed.
struct PolicyRun {
  std::string policy;
  std::uint64_t seed = 0;
  std::uint64_t calls = 0;
  double oracle_ratio = 0;        ///< geometric mean over all calls
  double default_ratio = 0;       ///< likewise
  double decisions_per_call = 1;  ///< the share of the calls that it decided anew
  std::vector<EvaluatedCell> cells;
};

struct EvaluationOptions {
  std::uint64_t calls =
      0;  ///< of each policy and seed; 0: one pass over the workload, or an episode
  std::vector<std::uint64_t> seeds{1, 2, 3};
  std::size_t threads = 2;  ///< that simulate the oracle's table
  /// Called before each run.
  std::function<void(const std::string& policy, std::uint64_t seed)> notice{};
};

/// Runs all policies in an environment, seed by seed. The oracle that they are compared with is
/// that of the environment itself; a policy whose tuners were added to it may be better.
[[nodiscard]] std::vector<PolicyRun> evaluate_policies(
    const std::shared_ptr<const TuningSetup>& setup, std::span<const EvaluatedPolicy> policies,
    const EvaluationOptions& options);

/// A policy over its seeds.
struct PolicySummary {
  std::string policy;
  std::size_t seeds = 0;
  double oracle_ratio = 0;        ///< geometric mean over the seeds
  double least_oracle_ratio = 0;  ///< of a seed
  double most_oracle_ratio = 0;
  double worst_cell = 0;          ///< the largest ratio of a cell of any seed
  double p90_cell = 0;            ///< the ratio that nine cells of ten do not exceed
  double default_speedup = 0;     ///< the default's time / its time, geometric mean
  double decisions_per_call = 1;  ///< mean over the seeds
};
[[nodiscard]] std::vector<PolicySummary> summarize_runs(std::span<const PolicyRun> runs);

/// The summaries in aligned columns, best first.
[[nodiscard]] std::string evaluation_table(std::span<const PolicySummary> summaries);
/// An environment that policies were run in.
struct EvaluatedPart {
  std::string label;
  std::vector<PolicyRun> runs;
  std::string fabric{};      ///< its label: "ndv4 servers=2"
  std::string cost_model{};  ///< CostModel::label(): "hockney (no set for MI250X)"
};

/// A line a cell, policy and seed.
[[nodiscard]] std::string evaluation_csv(const EvaluatedPart& part, bool header);

}  // namespace cclgym
