#include "env/gym/environment.hpp"

#include <cmath>
#include <set>

#include "env/gym/counter_env.hpp"
#include "env/gym/wrapper.hpp"
#include "env/registry.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

using Ints = std::vector<std::int32_t>;
using Mask = std::vector<std::uint8_t>;

template <class Error, class Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST_CASE("Counter-v0 counts to its target", "[env][environment]") {
  CounterEnv counter(parse_yaml("{target: 7}", "test"));
  OwnedBuffers buffers(counter.spec());
  counter.reset(1, parse_yaml("{start: 1}", "test"), buffers.view());
  CHECK(buffers.observation[0] == 1.0F / 7);
  CHECK(buffers.observation[1] == 6);
  CHECK(buffers.info == std::vector<double>{1, 0});
  CHECK(counter.step(Ints{2, 2}, buffers.view()) == StepOutcome{-1, false, false});
  CHECK(buffers.info == std::vector<double>{5, 1});
  CHECK(counter.step(Ints{1, 1}, buffers.view()) == StepOutcome{-1, false, false});
  CHECK(buffers.action_mask == Mask{1, 0, 1, 0});
  CHECK(counter.step(Ints{1, 1}, buffers.view()) == StepOutcome{-1, true, false});
  CHECK(buffers.observation[1] == 0);
}

TEST_CASE("Legality may be joint: conditional masks narrow a dimension down by the earlier ones",
          "[env][environment]") {
  CounterEnv counter(parse_yaml("{target: 7}", "test"));
  OwnedBuffers buffers(counter.spec());
  counter.reset(1, parse_yaml("{start: 4}", "test"), buffers.view());
  CHECK(buffers.action_mask == Mask{1, 1, 1, 1});
  Mask mask(2);
  counter.conditional_mask(buffers.action_mask, Ints{1}, mask);
  CHECK(mask == Mask{1, 1});
  counter.conditional_mask(buffers.action_mask, Ints{2}, mask);
  CHECK(mask == Mask{1, 0});
  CHECK(message_of<InvalidAction>([&] {
          counter.step(Ints{2, 2}, buffers.view());
        }) == "Counter-v0: action [2 2] is illegal: it overshoots");
  CHECK(message_of<InvalidAction>([&] {
          counter.step(Ints{0, 2}, buffers.view());
        }) == "Counter-v0: action [0 2] is not in MultiDiscrete([2 2], start=[1 1])");
  Random random(1);
  std::set<Ints> drawn;
  Ints action(2);
  for (int i = 0; i < 100; ++i) {
    sample_legal_action(counter, buffers.action_mask, random, mask, action);
    drawn.insert(action);
  }
  CHECK(drawn == std::set<Ints>{{1, 1}, {1, 2}, {2, 1}});
}

TEST_CASE("A seed starts the stream of random numbers, no seed continues it",
          "[env][environment]") {
  const auto starts = [](std::vector<std::optional<std::uint64_t>> seeds) {
    CounterEnv counter(parse_yaml("{target: 1000000}", "test"));
    OwnedBuffers buffers(counter.spec());
    std::vector<double> counts;
    for (const auto& seed : seeds) {
      counter.reset(seed, buffers.view());
      counts.push_back(buffers.info[0]);
    }
    return counts;
  };
  const auto stream = starts({7, std::nullopt, std::nullopt, 7, std::nullopt});
  CHECK(stream[0] != stream[1]);
  CHECK(stream[1] != stream[2]);
  CHECK(stream[3] == stream[0]);
  CHECK(stream[4] == stream[1]);
  CHECK(starts({7, std::nullopt}) == std::vector<double>(stream.begin(), stream.begin() + 2));
  CHECK(starts({8})[0] != stream[0]);
  // Without any seed, the operating system provides one. Two such starts are equal with a
  // probability of 1e-6.
  CHECK(starts({std::nullopt, std::nullopt}) != starts({std::nullopt, std::nullopt}));
}

TEST_CASE("Options of reset are checked", "[env][environment]") {
  CounterEnv counter;
  OwnedBuffers buffers(counter.spec());
  const auto reset = [&](const char* options) {
    return message_of<UserError>(
        [&] { counter.reset(1, parse_yaml(options, "options"), buffers.view()); });
  };
  CHECK(reset("{start: 3}") == "nothing thrown");
  CHECK(reset("{}") == "nothing thrown");
  CHECK(reset("{strat: 3}").find("did you mean 'start'?") != std::string::npos);
  CHECK(reset("{start: 10}").find("options:1:9") == 0);
}

TEST_CASE("Environments are made by name", "[env][environment]") {
  const auto made = make_environment("Counter-v0", parse_yaml("{target: 5}", "test"));
  CHECK(made->spec().observation_space.text() == "Box(0.0, [1.0 5.0], (2,), float32)");
  CHECK(make_environment("Counter-v0")->spec().name == "Counter-v0");
  CHECK(message_of<UserError>([] {
          (void)make_environment("Counter-v1", {}, {"a.yaml", 3, 5});
        })
            .find("a.yaml:3:5: unknown environment 'Counter-v1'; expected one of "
                  "CollectiveTuning-v0, Counter-v0") == 0);
  CHECK(message_of<UserError>([] {
          (void)make_environment("Counter-v0", parse_yaml("{targets: 5}", "test"));
        }).find("did you mean 'target'?") != std::string::npos);
  for (const EnvironmentEntry& entry : environment_entries()) {
    CHECK_FALSE(entry.description.empty());
  }
}

TEST_CASE("Steps out of order throw ResetNeeded", "[env][environment]") {
  const auto environment = make_environment("Counter-v0", parse_yaml("{target: 1}", "test"));
  OwnedBuffers buffers(environment->spec());
  const auto step = [&] {
    return message_of<ResetNeeded>([&] { environment->step(Ints{1, 1}, buffers.view()); });
  };
  CHECK(step() == "Counter-v0: step() before the first reset()");
  environment->reset(1, buffers.view());
  CHECK(step() == "nothing thrown");
  CHECK(step() == "Counter-v0: step() after the end of an episode: reset() first");
  CHECK_THROWS_AS(environment->reset(1, parse_yaml("{no: 1}", "test"), buffers.view()), UserError);
  CHECK(step() == "Counter-v0: step() before the first reset()");
  environment->reset(std::nullopt, buffers.view());
  CHECK(step() == "nothing thrown");
}

TEST_CASE("Infos are found by name", "[env][environment]") {
  const CounterEnv counter;
  CHECK(info_index(counter.spec(), "steps") == 1);
  CHECK_THROWS_AS(info_index(counter.spec(), "step"), std::logic_error);
  const OwnedBuffers buffers(counter.spec());
  CHECK(std::isnan(buffers.info[0]));
  CHECK(buffers.action_mask == Mask{1, 1, 1, 1});
}

}  // namespace
}  // namespace cclgym
