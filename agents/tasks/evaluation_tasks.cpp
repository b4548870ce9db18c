#include "agents/tasks/evaluation_tasks.hpp"

#include <fmt/format.h>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "agents/tasks/policy_run_wire.hpp"
#include "collectives/library/program_entry.hpp"
#include "core/hash.hpp"

namespace cclgym {

namespace {

// Position of a task: policies of a seed are neighbours, so that a worker computes few streams.
struct RunNumber {
  std::size_t place = 0;
  std::size_t seed = 0;
  std::size_t policy = 0;
};

RunNumber run_number(std::size_t index, std::size_t seeds, std::size_t policies) {
  return {.place = index / (seeds * policies),
          .seed = index / policies % seeds,
          .policy = index % policies};
}

}  // namespace

TaskSet evaluation_tasks(const std::vector<EvaluationPlace>& places,
                         std::span<const EvaluatedPolicy> policies,
                         const std::vector<std::uint64_t>& seeds, const std::string& input) {
  TaskSet set;
  set.tasks.resize(places.size() * seeds.size() * policies.size());
  std::iota(set.tasks.begin(), set.tasks.end(), std::size_t{0});
  set.prepare = [places](std::size_t workers) {
    for (const EvaluationPlace& place : places) place.setup->fill_oracle(workers);
  };
  set.make_task = [places, policies, seeds]() -> Task {
    const auto evaluators = std::make_shared<std::vector<PolicyEvaluator>>();
    for (const EvaluationPlace& place : places) evaluators->emplace_back(place.setup, place.calls);
    return [evaluators, policies, seeds](std::size_t index, const TaskInput& /*input*/) {
      const RunNumber number = run_number(index, seeds.size(), policies.size());
      PolicyEvaluator& evaluator = (*evaluators)[number.place];
      return policy_run_bytes(evaluator.run(policies[number.policy], seeds[number.seed]));
    };
  };
  set.name_of = [policies, seeds](std::size_t index) {
    const RunNumber number = run_number(index, seeds.size(), policies.size());
    return fmt::format("{} with seed {}", policies[number.policy].name, seeds[number.seed]);
  };
  TextHash hash;
  hash.add(input);
  for (const EvaluationPlace& place : places) {
    hash.add(place.setup->fabric_label);
    hash.add(place.calls);
    for (const AlgorithmEntry& entry : place.setup->site->algorithms.entries()) {
      if (entry.fixed()) hash.add(program_hash(*entry.program));
    }
  }
  for (const EvaluatedPolicy& policy : policies) hash.add(policy.name);
  for (const std::uint64_t seed : seeds) hash.add(seed);
  set.identity = fmt::format("evaluation {}", hash.hex());
  return set;
}

std::vector<std::vector<PolicyRun>> evaluate_by_tasks(
    const TaskSet& set, const TaskOptions& options, std::size_t places,
    const std::function<void(const PolicyRun& run)>& notice) {
  const std::size_t each = set.tasks.size() / places;
  std::vector<std::vector<PolicyRun>> runs(places, std::vector<PolicyRun>(each));
  run_tasks(set, options, [&](std::span<const TaskReply> replies) {
    for (const TaskReply& reply : replies) {
      auto run = read_policy_run(reply.text);
      if (!run) throw std::runtime_error("a worker process sent an incomplete evaluation");
      if (notice) notice(*run);
      runs[reply.index / each][reply.index % each] = std::move(*run);
    }
  });
  return runs;
}

}  // namespace cclgym
