// Tests of the checker itself: environments with one fault each, and the problem it must report.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "env/gym/counter_env.hpp"
#include "env/gym/env_checker.hpp"
#include "env/gym/wrapper.hpp"
#include "env/registry.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

using Action = std::span<const std::int32_t>;

/// Counter-v0 with hooks for faults.
class Faulty : public Wrapper {
 public:
  explicit Faulty(std::unique_ptr<Environment> counter)
      : Wrapper(std::move(counter)), faulty_spec(inner().spec()), mine(faulty_spec) {}

  const EnvironmentSpec& spec() const override { return faulty_spec; }
  void reset(std::optional<std::uint64_t> seed, const YamlValue& options,
             const StepBuffers& out) override {
    YamlValue passed = options;
    if (before_reset) before_reset(seed, passed);
    const StepBuffers to = redirect ? redirect(out) : out;
    inner().reset(seed, passed, to);
    if (after) after(to);
  }
  StepOutcome step(Action action, const StepBuffers& out) override {
    const StepBuffers to = redirect ? redirect(out) : out;
    StepOutcome outcome =
        instead_of_step ? instead_of_step(inner(), action, to) : inner().step(action, to);
    if (change_outcome) change_outcome(outcome);
    if (after) after(to);
    return outcome;
  }
  void conditional_mask(std::span<const std::uint8_t> action_mask, Action prefix,
                        std::span<std::uint8_t> out) const override {
    if (unwritten_conditional) return;
    inner().conditional_mask(action_mask, prefix, out);
    if (after_conditional) after_conditional(prefix, out);
  }

  EnvironmentSpec faulty_spec;
  OwnedBuffers mine;
  std::optional<StepBuffers> kept;
  std::uint64_t last_seed = 0;
  int steps = 0;
  bool unwritten_conditional = false;
  std::function<void(std::optional<std::uint64_t>&, YamlValue&)> before_reset;
  std::function<StepBuffers(const StepBuffers&)> redirect;
  std::function<void(const StepBuffers&)> after;
  std::function<StepOutcome(Environment&, Action, const StepBuffers&)> instead_of_step;
  std::function<void(StepOutcome&)> change_outcome;
  std::function<void(Action, std::span<std::uint8_t>)> after_conditional;
};

/// Problems that the checker reports for a Counter-v0 up to `target` with this fault.
std::string problems(const std::function<void(Faulty&)>& put_in, int target = 1000) {
  const EnvironmentMaker maker = [&] {
    auto faulty = std::make_unique<Faulty>(make_environment(
        "Counter-v0", parse_yaml("{target: " + std::to_string(target) + "}", "test")));
    put_in(*faulty);
    return faulty;
  };
  std::string text;
  for (const std::string& problem : EnvChecker(maker).check()) text += problem + "\n";
  return text;
}

struct Fault {
  const char* name;
  const char* said;  ///< text that the reported problem contains
  std::function<void(Faulty&)> put_in;
  int target = 1000;
};

const float kUnbounded = std::numeric_limits<float>::infinity();

const std::vector<Fault>& faults() {
  static int calls = 0;  // global state, which no environment may depend on
  static const std::vector<Fault> all{
      // Faults in spaces and buffers.
      {"observation outside of its space", "an observation is not in Box",
       [](Faulty& f) { f.after = [](const StepBuffers& out) { out.observation[0] = 1.5F; }; }},
      {"observation not a number", "an observation is not in Box",
       [](Faulty& f) {
         f.after = [](const StepBuffers& out) { out.observation[0] = std::nanf(""); };
       }},
      {"observation not written", "an observation is not in Box",
       [](Faulty& f) {
         f.redirect = [&f](const StepBuffers& out) {
           return StepBuffers{f.mine.observation, out.action_mask, out.info};
         };
       }},
      {"info not written", "info 'count' is not written",
       [](Faulty& f) {
         f.redirect = [&f](const StepBuffers& out) {
           return StepBuffers{out.observation, out.action_mask, f.mine.info};
         };
       }},
      {"info infinite", "step: info 'steps' is infinite",
       [](Faulty& f) {
         f.after = [](const StepBuffers& out) { out.info[1] = static_cast<double>(kUnbounded); };
       }},
      {"mask not written", "has bytes other than 0 and 1",
       [](Faulty& f) {
         f.redirect = [&f](const StepBuffers& out) {
           return StepBuffers{out.observation, f.mine.action_mask, out.info};
         };
       }},
      {"mask of zeros",
       "reset: the mask of dimension 1 of MultiDiscrete([2 2], start=[1 1]) leaves "
       "no choice: all zeros",
       [](Faulty& f) {
         f.after = [](const StepBuffers& out) { out.action_mask[2] = out.action_mask[3] = 0; };
       }},
      {"mask that is not announced", "writes an action mask although the spec has",
       [](Faulty& f) {
         f.faulty_spec.has_action_mask = false;
         f.after = [](const StepBuffers& out) { out.action_mask[1] = 0; };
       }},
      {"results in the buffers of an earlier call", "not completely written",
       [](Faulty& f) {
         f.redirect = [&f](const StepBuffers& out) {
           if (!f.kept) f.kept = out;
           return *f.kept;
         };
       }},
      {"reward not a number", "step: a reward is nan",
       [](Faulty& f) {
         f.change_outcome = [](StepOutcome& outcome) { outcome.reward = kNoInfo; };
       }},
      // Faults in joint masks.
      {"mask wider than the legal actions", "the action mask is not the marginal one",
       [](Faulty& f) {
         f.after_conditional = [](Action prefix, std::span<std::uint8_t> out) {
           if (prefix.size() == 1) out[1] = 0;
         };
       }},
      {"mask narrower than the legal actions", "an illegal action is not refused",
       [](Faulty& f) { f.after = [](const StepBuffers& out) { out.action_mask[1] = 0; }; }},
      {"conditional mask that allows more", "allows a value that the action mask forbids",
       [](Faulty& f) {
         f.after = [](const StepBuffers& out) { out.action_mask[1] = 0; };
         f.after_conditional = [](Action, std::span<std::uint8_t> out) { out[1] = 1; };
       }},
      {"conditional mask of zeros", "dimension 1 has no choice left: all zeros",
       [](Faulty& f) {
         f.after_conditional = [](Action prefix, std::span<std::uint8_t> out) {
           if (prefix.size() == 1) out[0] = out[1] = 0;
         };
       }},
      {"conditional mask not written", "conditional_mask: dimension 0 has bytes other",
       [](Faulty& f) { f.unwritten_conditional = true; }},
      // Faults in determinism.
      {"seed ignored", "a reset with a seed ignores it",
       [](Faulty& f) {
         f.before_reset = [](std::optional<std::uint64_t>& seed, YamlValue&) {
           if (seed) seed = 5;
         };
       }},
      {"stream restarted", "restarts the stream instead of continuing it",
       [](Faulty& f) {
         f.before_reset = [&f](std::optional<std::uint64_t>& seed, YamlValue&) {
           f.last_seed = seed.value_or(f.last_seed);
           seed = f.last_seed;
         };
       }},
      {"memory over episodes", "same seed and actions, in a used environment: reward",
       [](Faulty& f) {
         f.change_outcome = [&f](StepOutcome& outcome) { outcome.reward = ++f.steps; };
       }},
      {"global state", "same seed and actions, in a new environment: reward",
       [](Faulty& f) {
         f.change_outcome = [](StepOutcome& outcome) { outcome.reward = ++calls; };
       }},
      // Actions that must be refused.
      {"actions clamped", "an action too low in dimension 0 is not refused",
       [](Faulty& f) {
         f.instead_of_step = [](Environment& inner, Action action, const StepBuffers& out) {
           std::vector<std::int32_t> taken(action.begin(), action.end());
           for (std::int32_t& value : taken) value = std::clamp(value, 1, 2);
           return inner.step(taken, out);
         };
       }},
      {"actions cut", "an action with one number too many is not refused",
       [](Faulty& f) {
         f.instead_of_step = [](Environment& inner, Action action, const StepBuffers& out) {
           return inner.step(action.first(std::min(action.size(), std::size_t{2})), out);
         };
       }},
      {"illegal actions replaced", "an illegal action is not refused",
       [](Faulty& f) {
         f.instead_of_step = [](Environment& inner, Action action, const StepBuffers& out) {
           try {
             return inner.step(action, out);
           } catch (const InvalidAction&) {
             if (!inner.spec().action_space.contains(action)) throw;
             return inner.step(std::vector<std::int32_t>{1, 1}, out);
           }
         };
       },
       5},
      {"another exception", "throws the wrong exception: sorry",
       [](Faulty& f) {
         f.instead_of_step = [](Environment& inner, Action action, const StepBuffers& out) {
           if (!inner.spec().action_space.contains(action)) throw std::runtime_error("sorry");
           return inner.step(action, out);
         };
       }},
      {"writes, then refuses", "is refused only after buffers were written",
       [](Faulty& f) {
         f.instead_of_step = [](Environment& inner, Action action, const StepBuffers& out) {
           out.info[0] = 0;
           return inner.step(action, out);
         };
       }},
      {"moves, then refuses", "same seed and actions, with refused actions in between",
       [](Faulty& f) {
         f.instead_of_step = [&f](Environment& inner, Action action, const StepBuffers& out) {
           if (!inner.spec().action_space.contains(action) && action.size() == 2) {
             try {
               inner.step(std::vector<std::int32_t>{1, 1}, f.mine.view());
             } catch (const ResetNeeded&) {
             }
           }
           return inner.step(action, out);
         };
       }},
      // Faults in the order of calls.
      {"no end", "a step after the end of an episode is not refused",
       [](Faulty& f) {
         f.change_outcome = [](StepOutcome& outcome) { outcome.terminated = true; };
       }},
      {"options ignored", "reset accepts an unknown option",
       [](Faulty& f) {
         f.before_reset = [](std::optional<std::uint64_t>&, YamlValue& options) { options = {}; };
       }},
      {"empty options matter", "reset with options {} differs from a reset without options",
       [](Faulty& f) {
         f.before_reset = [](std::optional<std::uint64_t>& seed, YamlValue& options) {
           if (!options.is_null()) seed = *seed + 1;
         };
       }},
      {"throws", "threw: out of order",
       [](Faulty& f) {
         f.change_outcome = [](StepOutcome&) { throw std::runtime_error("out of order"); };
       }},
      // Faults in the spec.
      {"name without a version", "the name 'Counter' is not of the form Name-v0",
       [](Faulty& f) { f.faulty_spec.name = "Counter"; }},
      {"an info twice", "two infos have the same name",
       [](Faulty& f) { f.faulty_spec.info_names[1] = "count"; }},
      {"an info named as the mask", "an info is named action_mask",
       [](Faulty& f) { f.faulty_spec.info_names[1] = "action_mask"; }},
      {"real actions", "actions must be integers, found Box(0.0, 1.0, (2,), float32)",
       [](Faulty& f) { f.faulty_spec.action_space = Box(0, 1, {2}); }},
  };
  return all;
}

TEST_CASE("EnvChecker finds nothing in Counter-v0", "[env][env-checker-faults]") {
  CHECK(problems([](Faulty&) {}).empty());
  CHECK(problems([](Faulty&) {}, 1).empty());
}

TEST_CASE("EnvChecker reports each fault", "[env][env-checker-faults]") {
  for (const Fault& fault : faults()) {
    const std::string said = problems(fault.put_in, fault.target);
    INFO(fault.name << ": " << said);
    CHECK(said.find(fault.said) != std::string::npos);
  }
}

TEST_CASE("EnvChecker misses OrderEnforcing", "[env][env-checker-faults]") {
  std::string text;
  const EnvChecker checker([] { return std::make_unique<CounterEnv>(); });
  for (const std::string& problem : checker.check()) text += problem + "\n";
  CHECK(text.find("a step before the first reset is not refused") != std::string::npos);
}

TEST_CASE("EnvChecker detects that a vector environment differs from single ones",
          "[env][env-checker-faults]") {
  static int calls = 0;
  const EnvChecker checker([] {
    auto faulty = std::make_unique<Faulty>(make_environment("Counter-v0"));
    faulty->change_outcome = [](StepOutcome& outcome) { outcome.reward = ++calls; };
    return faulty;
  });
  const auto problems = checker.check_vector(Autoreset::SameStep, 0);
  REQUIRE_FALSE(problems.empty());
  CHECK(problems[0].find("vector: a step: reward") == 0);
}

}  // namespace
}  // namespace cclgym
