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

struct RunNumber {
  std::size_t place = 0;
  std::size_t seed = 0;
  std::size_t policy = 0;
};

// Runs by task. Policies of a seed are neighbours, so that a worker computes few streams.
std::vector<RunNumber> run_numbers(std::span<const EvaluationPlace> places, std::size_t seeds) {
  std::vector<RunNumber> numbers;
  for (std::size_t place = 0; place < places.size(); ++place) {
    for (std::size_t seed = 0; seed < seeds; ++seed) {
      for (std::size_t policy = 0; policy < places[place].policies.size(); ++policy) {
        numbers.push_back({.place = place, .seed = seed, .policy = policy});
      }
    }
  }
  return numbers;
}

}  // namespace

TaskSet evaluation_tasks(std::span<const EvaluationPlace> places,
                         const std::vector<std::uint64_t>& seeds, const std::string& input) {
  TaskSet set;
  const std::vector<RunNumber> numbers = run_numbers(places, seeds.size());
  set.tasks.resize(numbers.size());
  std::iota(set.tasks.begin(), set.tasks.end(), std::size_t{0});
  set.prepare = [places](std::size_t workers) {
    for (const EvaluationPlace& place : places) place.setup->fill_oracle(workers);
  };
  set.make_task = [places, numbers, seeds]() -> Task {
    const auto evaluators = std::make_shared<std::vector<PolicyEvaluator>>();
    for (const EvaluationPlace& place : places) evaluators->emplace_back(place.setup, place.calls);
    return [evaluators, places, numbers, seeds](std::size_t index, const TaskInput& /*input*/) {
      const RunNumber& number = numbers[index];
      PolicyEvaluator& evaluator = (*evaluators)[number.place];
      const EvaluatedPolicy& policy = places[number.place].policies[number.policy];
      return policy_run_bytes(evaluator.run(policy, seeds[number.seed]));
    };
  };
  set.name_of = [places, numbers, seeds](std::size_t index) {
    const RunNumber& number = numbers[index];
    return fmt::format("{} with seed {}", places[number.place].policies[number.policy].name,
                       seeds[number.seed]);
  };
  TextHash hash;
  hash.add(input);
  for (const EvaluationPlace& place : places) {
    hash.add(place.setup->fabric_label);
    hash.add(place.calls);
    for (const AlgorithmEntry& entry : place.setup->site->algorithms.entries()) {
      if (entry.fixed()) hash.add(program_hash(*entry.program));
    }
    for (const EvaluatedPolicy& policy : place.policies) hash.add(policy.name);
  }
  for (const std::uint64_t seed : seeds) hash.add(seed);
  set.identity = fmt::format("evaluation {}", hash.hex());
  return set;
}

std::vector<std::vector<PolicyRun>> evaluate_by_tasks(
    const TaskSet& set, const TaskOptions& options, std::span<const EvaluationPlace> places,
    const std::function<void(const PolicyRun& run)>& notice) {
  std::size_t policies = 0;
  for (const EvaluationPlace& place : places) policies += place.policies.size();
  const std::size_t seeds = policies > 0 ? set.tasks.size() / policies : 0;
  std::vector<std::vector<PolicyRun>> runs;
  std::vector<std::size_t> place_of;  // by task
  std::vector<std::size_t> first_of;  // by place
  for (const EvaluationPlace& place : places) {
    first_of.push_back(place_of.size());
    runs.emplace_back(place.policies.size() * seeds);
    place_of.resize(place_of.size() + runs.back().size(), runs.size() - 1);
  }
  run_tasks(set, options, [&](std::span<const TaskReply> replies) {
    for (const TaskReply& reply : replies) {
      auto run = read_policy_run(reply.text);
      if (!run) throw std::runtime_error("a worker process sent an incomplete evaluation");
      if (notice) notice(*run);
      const std::size_t place = place_of[reply.index];
      runs[place][reply.index - first_of[place]] = std::move(*run);
    }
  });
  return runs;
}

}  // namespace cclgym
