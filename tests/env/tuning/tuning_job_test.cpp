// Jobs as workloads: the step time of a job as the reward.
#include <cmath>
#include <filesystem>
#include <limits>

#include "env/gym/env_checker.hpp"
#include "env/gym/wrapper.hpp"
#include "env/tuning/episode.hpp"
#include "env/tuning/tuning_testing.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

// Two layers of sharded data parallelism on four ranks, in two tensor-parallel halves.
const std::string kSharded = R"({job: sharded, ranks: 8,
  communicators: {dp: {groups: [[0, 2, 4, 6], [1, 3, 5, 7]]},
                  tp: {groups: [[0, 1], [2, 3], [4, 5], [6, 7]]}},
  programs: [{ranks: 0..7, ops: [
    {name: gather1, allgather: 32MiB, on: dp},
    {name: gather2, allgather: 48MiB, on: dp},
    {name: forward1, compute: 300us, after: [gather1]},
    {name: reduce1, allreduce: 8MiB, on: tp, after: [forward1]},
    {name: forward2, compute: 300us, after: [gather2, reduce1]},
    {name: backward2, compute: 600us},
    {name: scatter2, reducescatter: 48MiB, on: dp, after: [backward2]},
    {name: backward1, compute: 600us},
    {name: scatter1, reducescatter: 32MiB, on: dp, after: [backward1]}]}]})";

std::string options(const std::string& job, const std::string& more = "") {
  return "{fabric: ndv4, actions: stock-nccl, episode: 0, workload: {name: job, job: " + job +
         ", communicator: dp}" + more + "}";
}

const std::string kStepTime = ", reward: step-time";

std::string refused(const std::string& yaml) {
  const std::string message = thrown([&] { return setup_of(yaml); });
  UNSCOPED_INFO(message);
  return message;
}

// One call of all eight ranks, while the job computes for `compute` of a GPU alone.
std::string overlapping(const std::string& compute) {
  return "{ranks: 8, communicators: {dp: {groups: [0..7]}}, programs: [{ranks: 0..7, ops: ["
         "{allreduce: 16MiB, on: dp}, {compute: " +
         compute + "}]}]}";
}

}  // namespace

TEST_CASE("the machine of a job is what its communicator sees", "[env][tuning][job]") {
  const auto setup = setup_of(options(kSharded));
  CHECK(setup->fabric.ranks == 4);
  CHECK(setup->fabric_label == "ndv4 communicator=dp ranks=4 nodes=1");
  const std::vector<WorkloadCall>& calls = setup->job->calls();
  REQUIRE(calls.size() == 4);
  CHECK(calls[0].call.collective == CollectiveKind::AllGather);
  CHECK(calls[0].call.bytes == std::uint64_t{32} << 20);
  CHECK(calls[1].call.bytes == std::uint64_t{48} << 20);
  CHECK(calls[2].call.collective == CollectiveKind::ReduceScatter);
  CHECK(calls[2].call.bytes == std::uint64_t{48} << 20);
  CHECK(calls[3].call.bytes == std::uint64_t{32} << 20);
  // The first AllGather comes before all computation, the second one overlaps the first layer.
  CHECK(calls[0].context.compute_s == 0);
  CHECK_FALSE(calls[0].context.overlaps);
  CHECK(calls[1].context.compute_s == 0);
  CHECK(calls[1].context.overlaps);
  CHECK(calls[2].context.compute_s >= 1.2e-3);
  CHECK(calls[2].context.overlaps);
  CHECK(calls[3].context.compute_s >= 0.6e-3);
  CHECK_FALSE(calls[3].context.overlaps);
  for (std::size_t i = 0; i < 4; ++i) CHECK(calls[i].context.ends_step == (i == 3));
}

TEST_CASE("rewards of a job's step add up to the logarithm of its speedup", "[env][tuning][job]") {
  CollectiveTuningEnv env(setup_of(options(kSharded, kStepTime)));
  const EnvironmentSpec& spec = env.spec();
  const std::size_t step_time = info_index(spec, CollectiveTuningEnv::kStepTime);
  const std::size_t default_time = info_index(spec, CollectiveTuningEnv::kDefaultStepTime);
  const std::size_t exposed = info_index(spec, CollectiveTuningEnv::kExposed);
  OwnedBuffers buffers(spec);
  Random random(7);
  env.reset(1, buffers.view());
  double best = -1;
  for (int iteration = 0; iteration < 20; ++iteration) {
    double sum = 0;
    for (std::size_t call = 0; call < 4; ++call) {
      CHECK(env.next_call().context.ends_step == (call == 3));
      const auto action =
          random_action(random, *env.setup().actions, env.next_call().call.collective);
      sum += env.step(action, buffers.view()).reward;
    }
    const double speedup = buffers.info[default_time] / buffers.info[step_time];
    CAPTURE(iteration, sum, speedup);
    CHECK(std::abs(sum - std::log(speedup)) < 1e-12);
    CHECK(buffers.info[exposed] > 0);
    CHECK(buffers.info[exposed] < buffers.info[step_time]);
    CHECK(buffers.info[default_time] == env.setup().job->default_step().time_s * 1e6);
    best = std::max(best, sum);
  }
  CHECK(best > -1);
}

TEST_CASE("the default has reward 0 at each call of a job", "[env][tuning][job]") {
  CollectiveTuningEnv env(setup_of(options(kSharded, kStepTime)));
  OwnedBuffers buffers(env.spec());
  env.reset(1, buffers.view());
  for (int call = 0; call < 8; ++call) {  // the first action is the first tuner's
    const auto legal = env.setup().actions->legal_actions(env.next_call().call.collective);
    const auto knobs = env.setup().actions->knobs().size();
    CHECK(env.step(legal.first(knobs), buffers.view()).reward == 0);
  }
}

TEST_CASE("a job of one call has the reward log-speedup of the call", "[env][tuning][job]") {
  const std::string job =
      "{ranks: 8, communicators: {dp: {groups: [0..7]}}, programs: [{ranks: 0..7, ops: "
      "[{allreduce: 1MiB, on: dp}]}]}";
  CollectiveTuningEnv by_step(setup_of(options(job, kStepTime)));
  CollectiveTuningEnv by_call(setup_of(options(job)));
  OwnedBuffers buffers(by_step.spec());
  OwnedBuffers others(by_call.spec());
  by_step.reset(1, buffers.view());
  by_call.reset(1, others.view());
  const auto legal = by_step.setup().actions->legal_actions(CollectiveKind::AllReduce);
  const std::size_t n = by_step.setup().actions->knobs().size();
  REQUIRE(legal.size() > 10 * n);
  double most = 0;
  for (std::size_t i = 0; i * n < legal.size(); ++i) {
    const double reward = by_step.step(legal.subspan(i * n, n), buffers.view()).reward;
    const double log_speedup = by_call.step(legal.subspan(i * n, n), others.view()).reward;
    CAPTURE(by_step.describe_action(legal.subspan(i * n, n)), reward, log_speedup);
    // Calls of more than 12 tiles are interpolated where no job surrounds them.
    CHECK(std::abs(reward - log_speedup) < 1e-3);
    most = std::max(most, std::abs(reward));
  }
  CHECK(most > 0.1);
}

TEST_CASE("the configuration that is fastest alone is not the best while a job computes",
          "[env][tuning][job]") {
  const auto setup = setup_of(options(overlapping("2ms"), kStepTime));
  const TuningActions& actions = *setup->actions;
  CallTimer timer(setup->site);
  TuningOracle oracle(setup->actions, timer);
  const Call call = setup->job->calls().front().call;
  const auto legal = actions.legal_actions(call.collective);
  const std::size_t n = actions.knobs().size();
  double fastest_s = std::numeric_limits<double>::infinity();
  double best_s = fastest_s;
  PlainConfig fastest;
  PlainConfig best;
  for (std::size_t i = 0; i * n < legal.size(); ++i) {
    const PlainConfig config = oracle.config(call, legal.subspan(i * n, n));
    const double call_s = timer.time(call, config).time_s;
    const double step_s = setup->job->step({config}).time_s;
    if (call_s < fastest_s) {
      fastest_s = call_s;
      fastest = config;
    }
    if (step_s < best_s) {
      best_s = step_s;
      best = config;
    }
  }
  const double with_fastest_s = setup->job->step({fastest}).time_s;
  CAPTURE(fastest.channels, best.channels, with_fastest_s, best_s, fastest_s);
  CHECK(best.channels < fastest.channels);
  CHECK(best_s < 0.999 * with_fastest_s);
  // Each thread block takes SMs of the computation, so the step is longer than the computation.
  CHECK(best_s > 2e-3);
}

TEST_CASE("steps of a job are bit for bit the same in every order", "[env][tuning][job]") {
  CollectiveTuningEnv first(setup_of(options(kSharded, kStepTime)));
  const Episode once = play(first, 5, 24);
  CHECK(play(first, 5, 24) == once);
  // Another setup has simulated nothing of it; a third one has simulated other steps before.
  CollectiveTuningEnv second(setup_of(options(kSharded, kStepTime)));
  CHECK(play(second, 5, 24) == once);
  CollectiveTuningEnv third(setup_of(options(kSharded, kStepTime)));
  OwnedBuffers buffers(third.spec());
  Random random(31);
  third.reset(1, buffers.view());
  for (int call = 0; call < 12; ++call) {
    (void)third.step(
        random_action(random, *third.setup().actions, third.next_call().call.collective),
        buffers.view());
  }
  CHECK(play(third, 5, 24) == once);
}

TEST_CASE("steps that are known are not simulated again", "[env][tuning][job]") {
  const auto setup = setup_of(options(kSharded, kStepTime));
  CollectiveTuningEnv env(setup);
  (void)play(env, 5, 24);
  const std::size_t simulated = setup->job->simulations();
  CHECK(simulated > 0);
  (void)play(env, 5, 24);
  CHECK(setup->job->simulations() == simulated);
}

TEST_CASE("rewards of single calls need only one simulation of a job per step",
          "[env][tuning][job]") {
  const auto setup = setup_of(options(kSharded, ", reward: log-speedup"));
  CollectiveTuningEnv env(setup);
  OwnedBuffers buffers(env.spec());
  const std::size_t step_time = info_index(env.spec(), CollectiveTuningEnv::kStepTime);
  Random random(3);
  env.reset(1, buffers.view());
  for (int call = 0; call < 4; ++call) {
    (void)env.step(random_action(random, *setup->actions, env.next_call().call.collective),
                   buffers.view());
    CHECK(std::isnan(buffers.info[step_time]) == (call < 3));
  }
  CHECK(setup->job->simulations() == 1);
}

TEST_CASE("rewards in microseconds add the time that a job's step saves", "[env][tuning][job]") {
  CollectiveTuningEnv env(
      setup_of(options(kSharded, ", reward: {name: negative-time, step_weight: 0.5}")));
  OwnedBuffers buffers(env.spec());
  const std::size_t time = info_index(env.spec(), CollectiveTuningEnv::kTime);
  const std::size_t step_time = info_index(env.spec(), CollectiveTuningEnv::kStepTime);
  const std::size_t default_time = info_index(env.spec(), CollectiveTuningEnv::kDefaultStepTime);
  Random random(3);
  env.reset(1, buffers.view());
  double sum_us = 0;
  for (int call = 0; call < 4; ++call) {
    const auto action =
        random_action(random, *env.setup().actions, env.next_call().call.collective);
    sum_us += env.step(action, buffers.view()).reward + buffers.info[time];
  }
  CHECK(std::abs(sum_us - 0.5 * (buffers.info[default_time] - buffers.info[step_time])) < 1e-6);
}

TEST_CASE("an environment with a job passes the checks of environments", "[env][tuning][job]") {
  const auto setup = setup_of(options(kSharded, kStepTime));
  const EnvChecker checker(
      [setup] {
        return std::make_unique<OrderEnforcing>(std::make_unique<CollectiveTuningEnv>(setup));
      },
      {.steps = 40});
  CHECK(checker.check() == std::vector<std::string>{});
  CHECK(checker.check_vector(Autoreset::NextStep, 2) == std::vector<std::string>{});
}

TEST_CASE("a job can be read from a file next to the options", "[env][tuning][job]") {
  const TemporaryFolder folder;
  write_file(folder.path() + "/step.yaml", kSharded + "\n");
  const auto setup = read_tuning_setup(
      parse_yaml("{fabric: ndv4, workload: {name: job, file: step.yaml, communicator: tp}}",
                 folder.path() + "/options.yaml"));
  CHECK(setup->fabric.ranks == 2);
  CHECK(setup->listed_calls().size() == 1);
}

TEST_CASE("a communicator of all ranks sees the fabric itself", "[env][tuning][job]") {
  const auto setup = setup_of(
      "{fabric: ndv4, workload: {name: job, job: {generate: {kind: data-parallel, model: "
      "resnet-50, dp: 8}}}}");
  CHECK(setup->fabric_label == "ndv4");
  CHECK(setup->fabric.ranks == 8);
}

TEST_CASE("mistakes in a job's workload are located", "[env][tuning][job]") {
  const std::string start = "{fabric: ndv4, workload: ";
  CHECK(contains(refused("fabric: ndv4\nworkload: job"), "test.yaml:2:11"));
  CHECK(contains(refused(start + "{name: job}}"),
                 "found no key for the job; expected key file, or key job"));
  CHECK(contains(refused(start + "{name: job, file: a.yaml, job: {ranks: 2}}}"),
                 "found both file and job"));
  CHECK(contains(refused(start + "{name: job, job: " + kSharded + "}}"),
                 "job 'sharded' has communicators dp, tp; expected key communicator"));
  CHECK(contains(refused(start + "{name: job, file: job.txt}}"),
                 "test.yaml:1:44: found 'job.txt'; expected a file that ends in .yaml"));
  CHECK(contains(refused(start + "{name: job, communicator: pd, job: " + kSharded + "}}"),
                 "did you mean 'dp'"));
  CHECK(contains(
      refused("{fabric: abci-v, workload: {name: job, communicator: dp, job: " + kSharded + "}}"),
      "has 8 ranks, but fabric 'abci-v' has 4 GPUs"));
  CHECK(contains(refused(start + "{name: job, job: {ranks: 2, communicators: {dp: {groups: "
                                 "[[0, 1]]}}, programs: [{ranks: 0..1, ops: [{compute: 1ms}]}]}}}"),
                 "job 'job' has no collective calls"));
  CHECK(contains(refused(start + "{name: mixed, workloads: [sweep, {name: job}]}}"),
                 "workload job cannot be a part of another workload"));
  CHECK(contains(refused(options(kSharded, kStepTime + ", noise: jitter")),
                 "the step of a job is simulated without noise; expected noise none"));
  CHECK(contains(
      refused("{fabric: {name: ndv4, nodes: 2}, workload: {name: job, job: {ranks: 16, "
              "communicators: {dp: {groups: [[0, 1], [2, 8], [3, 4], [5, 6]]}}, programs: ["
              "{ranks: [0, 1, 2, 8, 3, 4, 5, 6], ops: [{allreduce: 1MiB, on: dp}]},"
              "{ranks: [7, 9, 10, 11, 12, 13, 14, 15], ops: []}]}}}"),
      "spread over nodes differently: found 2 ranks on 1 nodes (ranks 0, …) and 2 ranks on 2 "
      "nodes (ranks 2, …)"));
}
