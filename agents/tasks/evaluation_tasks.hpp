// Evaluations whose policies are run by tasks: on the ranks of an MPI run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agents/evaluation/evaluation.hpp"
#include "core/tasks/run_tasks.hpp"

namespace cclgym {

/// An environment in which policies are compared.
struct EvaluationPlace {
  std::shared_ptr<const TuningSetup> setup;
  std::uint64_t calls = 0;  ///< EvaluationOptions::calls
  std::vector<EvaluatedPolicy> policies{};
};

/// Tasks that run each policy in each environment with each seed, to share with all processes of
/// the run. `places` must outlive the set. `input` is equal in two processes if the files and
/// options behind the arguments are.
[[nodiscard]] TaskSet evaluation_tasks(std::span<const EvaluationPlace> places,
                                       const std::vector<std::uint64_t>& seeds,
                                       const std::string& input);

/// Runs the tasks. Returns, by environment, the runs that evaluate_policies returns. `notice` (may
/// be empty) is called after each run.
[[nodiscard]] std::vector<std::vector<PolicyRun>> evaluate_by_tasks(
    const TaskSet& set, const TaskOptions& options, std::span<const EvaluationPlace> places,
    const std::function<void(const PolicyRun& run)>& notice);

}  // namespace cclgym
