#include "agents/evaluation/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "agents/baselines/simple_policies.hpp"
#include "core/random.hpp"
#include "sim/noise/noise_random.hpp"

namespace cclgym {

namespace {

struct LogMean {
  double sum = 0;
  std::uint64_t count = 0;
  void add(double value) {
    sum += portable_log(value);
    ++count;
  }
  [[nodiscard]] double value() const {
    return count > 0 ? portable_exp(sum / static_cast<double>(count)) : std::nan("");
  }
};

struct Chosen {
  std::uint64_t count = 0;
  PlainConfig config;
};

struct CellSums {
  LogMean time_us;
  LogMean oracle_ratio;
  LogMean default_ratio;
  std::map<std::string, Chosen> choices;
};

// Plays `calls` calls and runs `visit(number of the call, its context, action, info)` after each.
template <class Visit>
void play(Policy& policy, CollectiveTuningEnv& environment, std::uint64_t seed, std::uint64_t calls,
          const Visit& visit) {
  OwnedBuffers buffers(environment.spec());
  std::vector<std::int32_t> action(environment.spec().action_space.size());
  environment.reset(seed, buffers.view());
  policy.begin_episode(environment, seed);
  std::uint64_t episode = 0;
  for (std::uint64_t call = 0; call < calls; ++call) {
    policy.act(buffers.observation, buffers.action_mask, environment, action);
    const CallContext context = environment.next_call().context;
    const StepOutcome outcome = environment.step(action, buffers.view());
    policy.observe({.reward = outcome.reward, .done = outcome.done(), .info = buffers.info});
    visit(call, context, std::span<const std::int32_t>(action),
          std::span<const double>(buffers.info));
    if (!outcome.done() || call + 1 == calls) continue;
    environment.reset(std::nullopt, buffers.view());
    policy.begin_episode(environment, seed + ++episode);
  }
}

std::uint64_t calls_of(const TuningSetup& setup, std::uint64_t given, bool& finite) {
  const auto workload = setup.make_workload();
  finite = !workload->calls().empty();
  if (given > 0) return given;
  if (finite) return workload->calls().size();
  return setup.episode_calls > 0 ? static_cast<std::uint64_t>(setup.episode_calls) : 256;
}

std::vector<StreamCall> stream_of(const std::shared_ptr<const TuningSetup>& setup,
                                  std::uint64_t seed, std::uint64_t calls) {
  auto with_oracle = std::make_shared<TuningSetup>(*setup);
  with_oracle->oracle = true;
  CollectiveTuningEnv environment(with_oracle);
  const EnvironmentSpec& spec = environment.spec();
  const std::size_t oracle = info_index(spec, CollectiveTuningEnv::kOracle);
  const std::size_t reference = info_index(spec, CollectiveTuningEnv::kDefault);
  const std::size_t bytes = info_index(spec, CollectiveTuningEnv::kBytes);
  const std::size_t collective = info_index(spec, CollectiveTuningEnv::kCollective);
  std::vector<StreamCall> stream;
  OraclePolicy policy;
  play(policy, environment, seed, calls,
       [&](std::uint64_t, const CallContext&, std::span<const std::int32_t>,
           std::span<const double> info) {
         stream.push_back({static_cast<CollectiveKind>(static_cast<int>(info[collective])),
                           static_cast<std::uint64_t>(info[bytes]), info[oracle], info[reference]});
       });
  return stream;
}

PolicyRun run_policy(const EvaluatedPolicy& one, const std::shared_ptr<const TuningSetup>& setup,
                     std::uint64_t seed, const std::vector<StreamCall>& stream, bool finite) {
  CollectiveTuningEnv environment(with_tuners(setup, one.tuners));
  const std::size_t time = info_index(environment.spec(), CollectiveTuningEnv::kTime);
  const std::size_t bytes = info_index(environment.spec(), CollectiveTuningEnv::kBytes);
  const std::unique_ptr<Policy> policy = one.make(seed);
  std::map<std::pair<CollectiveKind, std::uint64_t>, CellSums> cells;
  LogMean oracle_ratio;
  LogMean default_ratio;
  double total_us = 0;
  double iterations_s = 0;
  double computed_s = 0;
  IterationClock clock;
  std::uint64_t steps = 0;
  const std::size_t ends_step = info_index(environment.spec(), CollectiveTuningEnv::kEndsStep);
  const std::size_t step_time = info_index(environment.spec(), CollectiveTuningEnv::kStepTime);
  play(
      *policy, environment, seed, stream.size(),
      [&](std::uint64_t call, const CallContext& context, std::span<const std::int32_t> action,
          std::span<const double> info) {
        const StreamCall& known = stream[call];
        if (static_cast<std::uint64_t>(info[bytes]) != known.bytes) {
          throw std::logic_error("evaluate_policies: the stream of calls differs between policies");
        }
        const std::uint64_t size =
            finite ? known.bytes
                   : std::uint64_t{1} << static_cast<unsigned>(
                         cell_of_call({.collective = known.collective, .bytes = known.bytes})
                             .log2_bytes);
        CellSums& cell = cells[{known.collective, size}];
        cell.time_us.add(info[time]);
        cell.oracle_ratio.add(info[time] / known.oracle_us);
        cell.default_ratio.add(info[time] / known.default_us);
        const TuningActions& actions = *environment.setup().actions;
        Chosen& chosen = cell.choices[actions.describe(action)];
        if (chosen.count++ == 0) {
          const Call asked{.collective = known.collective, .bytes = known.bytes};
          chosen.config = actions.config(asked, action);
        }
        oracle_ratio.add(info[time] / known.oracle_us);
        default_ratio.add(info[time] / known.default_us);
        total_us += info[time];
        clock.call(context, info[time] * 1e-6);
        computed_s += context.compute_s;
        if (info[ends_step] > 0) {
          ++steps;
          iterations_s += setup->job ? info[step_time] * 1e-6 : clock.end_s();
          clock = {};
        }
      });
  const bool has_steps = steps > 0 && steps < stream.size();
  PolicyRun run{
      .policy = one.name,
      .seed = seed,
      .calls = stream.size(),
      .oracle_ratio = oracle_ratio.value(),
      .default_ratio = default_ratio.value(),
      .decisions_per_call = static_cast<double>(policy->decisions().value_or(stream.size())) /
                            static_cast<double>(stream.size()),
      .step_us = has_steps ? total_us / static_cast<double>(steps) : 0,
      .iteration_us =
          has_steps && computed_s > 0 ? 1e6 * iterations_s / static_cast<double>(steps) : 0,
      .cells = {}};
  const TuningSetup& played = environment.setup();
  PlanCostTable costs(environment.shared_setup());
  for (const auto& [key, sums] : cells) {
    const auto most = std::ranges::max_element(
        sums.choices, {}, [](const auto& choice) { return choice.second.count; });
    run.cells.push_back({.collective = std::string(to_string(key.first)),
                         .bytes = key.second,
                         .calls = sums.time_us.count,
                         .time_us = sums.time_us.value(),
                         .oracle_ratio = sums.oracle_ratio.value(),
                         .default_ratio = sums.default_ratio.value(),
                         .choice = most->first,
                         .config = full_config(played.site->algorithms, most->second.config),
                         .costs = costs.costs(key.first, most->second.config)});
  }
  return run;
}

}  // namespace

std::uint64_t evaluated_calls(const TuningSetup& setup, std::uint64_t given) {
  bool finite = false;
  return calls_of(setup, given, finite);
}

PolicyEvaluator::PolicyEvaluator(std::shared_ptr<const TuningSetup> setup, std::uint64_t calls)
    : setup_(std::move(setup)), calls_(calls_of(*setup_, calls, finite_)) {}

const std::vector<StreamCall>& PolicyEvaluator::stream(std::uint64_t seed) {
  const auto found = streams_.find(seed);
  if (found != streams_.end()) return found->second;
  return streams_.emplace(seed, stream_of(setup_, seed, calls_)).first->second;
}

PolicyRun PolicyEvaluator::run(const EvaluatedPolicy& policy, std::uint64_t seed) {
  return run_policy(policy, setup_, seed, stream(seed), finite_);
}

std::vector<PolicyRun> evaluate_policies(const std::shared_ptr<const TuningSetup>& setup,
                                         std::span<const EvaluatedPolicy> policies,
                                         const EvaluationOptions& options) {
  PolicyEvaluator evaluator(setup, options.calls);
  std::vector<PolicyRun> runs;
  if (options.notice && evaluator.finite())
    options.notice("the oracle's table", options.seeds.front());
  setup->fill_oracle(options.threads);
  for (const std::uint64_t seed : options.seeds) {
    if (options.notice) options.notice("oracle's times", seed);
    evaluator.stream(seed);
    for (const EvaluatedPolicy& one : policies) {
      if (options.notice) options.notice(one.name, seed);
      runs.push_back(evaluator.run(one, seed));
    }
  }
  return runs;
}

std::vector<PolicySummary> summarize_runs(std::span<const PolicyRun> runs) {
  std::vector<PolicySummary> summaries;
  for (const PolicyRun& first : runs) {
    if (std::ranges::find(summaries, first.policy, &PolicySummary::policy) != summaries.end()) {
      continue;
    }
    PolicySummary summary{.policy = first.policy};
    LogMean oracle_ratio;
    LogMean speedup;
    std::vector<double> ratios;
    double decisions = 0;
    double step_us = 0;
    double iteration_us = 0;
    for (const PolicyRun& run : runs) {
      if (run.policy != first.policy) continue;
      summary.least_oracle_ratio = summary.seeds == 0
                                       ? run.oracle_ratio
                                       : std::min(summary.least_oracle_ratio, run.oracle_ratio);
      summary.most_oracle_ratio = std::max(summary.most_oracle_ratio, run.oracle_ratio);
      ++summary.seeds;
      decisions += run.decisions_per_call;
      step_us += run.step_us;
      iteration_us += run.iteration_us;
      oracle_ratio.add(run.oracle_ratio);
      speedup.add(1 / run.default_ratio);
      for (const EvaluatedCell& cell : run.cells) ratios.push_back(cell.oracle_ratio);
    }
    std::ranges::sort(ratios);
    summary.oracle_ratio = oracle_ratio.value();
    summary.default_speedup = speedup.value();
    summary.decisions_per_call = decisions / static_cast<double>(summary.seeds);
    summary.step_us = step_us / static_cast<double>(summary.seeds);
    summary.iteration_us = iteration_us / static_cast<double>(summary.seeds);
    summary.worst_cell = ratios.back();
    // Nearest-rank percentile.
    const auto rank = static_cast<std::size_t>(std::ceil(0.9 * static_cast<double>(ratios.size())));
    summary.p90_cell = ratios[rank - 1];
    summaries.push_back(summary);
  }
  std::ranges::stable_sort(summaries, {}, &PolicySummary::oracle_ratio);
  return summaries;
}

}  // namespace cclgym
