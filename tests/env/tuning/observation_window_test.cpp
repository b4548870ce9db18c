// Tests of the part of the observation about recent calls against its definition, from infos of
// the steps, over more calls than are kept.
#include <algorithm>
#include <cmath>
#include <map>

#include "env/gym/vector_env.hpp"
#include "env/tuning/tuning_testing.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

struct Done {
  double log_ratio = 0;
  double bytes = 0;
  double collective = 0;
  std::vector<std::int32_t> action;
};

// Values by name of feature, as write() rounds them.
using Values = std::map<std::string, float>;

Values expected_of(const CollectiveTuningEnv& env, const std::vector<Done>& done, int window) {
  Values values;
  const TuningActions& actions = *env.setup().actions;
  for (int back = 1; back <= window; ++back) {
    const std::string prefix = "back" + std::to_string(back) + "_";
    const bool there = static_cast<std::size_t>(back) <= done.size();
    const Done one = there ? done[done.size() - static_cast<std::size_t>(back)] : Done{};
    values[prefix + "there"] = there ? 1 : 0;
    values[prefix + "size"] = there ? static_cast<float>(portable_log2(one.bytes) / 30) : 0.0F;
    values[prefix + "collective"] = static_cast<float>(one.collective / 9);
    for (std::size_t knob = 0; knob < actions.knobs().size(); ++knob) {
      const auto last = static_cast<float>(actions.levels(actions.knobs()[knob]).size() - 1);
      values[prefix + std::string(to_string(actions.knobs()[knob]))] =
          there ? static_cast<float>(one.action[knob]) / last : 0.0F;
    }
    values[prefix + "log_ratio"] = static_cast<float>(one.log_ratio);
  }
  const std::size_t n = std::min(done.size(), TuningObservation::kLoadWindow);
  double sum = 0;
  double worst = n > 0 ? -4 : 0;
  for (std::size_t back = 1; back <= n; ++back) {
    sum += done[done.size() - back].log_ratio;
    worst = std::max(worst, done[done.size() - back].log_ratio);
  }
  values["mean_log_ratio"] = static_cast<float>(n > 0 ? sum / static_cast<double>(n) : 0);
  values["worst_log_ratio"] = static_cast<float>(worst);
  return values;
}

}  // namespace

TEST_CASE("Features of recent calls follow from the results of the steps", "[env][tuning]") {
  for (const int window : {0, 1, 3, 20}) {
    CollectiveTuningEnv env(
        setup_of("{fabric: dgx1, actions: nccl-2.30, episode: 0, noise: cloud-ib, window: " +
                 std::to_string(window) +
                 ", workload: {name: curriculum, collectives: [allreduce, allgather, alltoall]}}"));
    OwnedBuffers buffers(env.spec());
    const StepBuffers view = buffers.view();
    Random random(3);
    const auto info = [&](const char* name) { return buffers.info[info_index(env.spec(), name)]; };
    std::vector<Done> done;
    env.reset(5, view);
    for (int step = 0; step < 60; ++step) {
      Values seen;
      for (std::size_t i = 0; i < buffers.observation.size(); ++i) {
        seen[env.observation().features()[i].name] = buffers.observation[i];
      }
      std::size_t found = 0;
      for (const auto& [name, value] : expected_of(env, done, window)) {
        REQUIRE(seen.contains(name));
        // A ratio of infos, which are in microseconds, differs in its last bits.
        REQUIRE(std::fabs(seen[name] - value) <= 1e-6F);
        ++found;
      }
      REQUIRE(found == 2 + static_cast<std::size_t>(window) * 8);
      if (step == 45) {  // a new episode forgets all calls
        done.clear();
        env.reset(std::nullopt, view);
        continue;
      }
      Done one;
      one.action = random_action(random, *env.setup().actions, env.next_call().call.collective);
      env.step(one.action, view);
      one.log_ratio =
          std::log(info(CollectiveTuningEnv::kTime) / info(CollectiveTuningEnv::kExpected));
      one.bytes = info(CollectiveTuningEnv::kBytes);
      one.collective = info(CollectiveTuningEnv::kCollective);
      done.push_back(std::move(one));
    }
  }
}

TEST_CASE("Environments that share choices step like those that do not", "[env][tuning]") {
  const std::string options =
      "{fabric: ndv4, actions: stock-nccl, tuners: [nccl-default, 'nccl-default:2.18'], "
      "noise: stragglers, workload: {name: curriculum, collectives: [allreduce, allgather]}}";
  const auto shared = setup_of(options);
  SyncVectorEnv together(
      same_makers(3, [&] { return std::make_unique<CollectiveTuningEnv>(shared); }));
  SyncVectorEnv apart(
      same_makers(3, [&] { return std::make_unique<CollectiveTuningEnv>(setup_of(options)); }));
  const std::size_t width = together.single_spec().action_space.size();
  std::vector<std::int32_t> actions(3 * width);
  std::vector<std::uint8_t> scratch(64);
  Random random(8);
  together.reset(2);
  apart.reset(2);
  for (int step = 0; step < 60; ++step) {
    for (std::size_t i = 0; i < 3; ++i) {
      sample_legal_action(together, i, random, scratch,
                          std::span(actions).subspan(i * width, width));
    }
    together.step(actions);
    apart.step(actions);
    REQUIRE(together.results().observations == apart.results().observations);
    REQUIRE(together.results().rewards == apart.results().rewards);
  }
}
