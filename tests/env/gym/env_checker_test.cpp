// Checks that every registered environment keeps the conventions, with every wrapper, autoreset
// mode and number of workers, and that the checker notices violations.
#include "env/gym/env_checker.hpp"

#include <functional>

#include "env/gym/counter_env.hpp"
#include "env/gym/wrapper.hpp"
#include "env/gym/wrappers/wrapper_registry.hpp"
#include "env/registry.hpp"
#include "support/catch.hpp"
#include "support/thorough.hpp"

namespace cclgym {
namespace {

std::string joined(const std::vector<std::string>& problems) {
  std::string text;
  for (const std::string& problem : problems) text += problem + "\n";
  return text;
}

struct Subject {
  std::string name;
  EnvironmentMaker maker;
  bool plain_or_all = false;  ///< true if without wrappers or in all of them
  std::size_t steps = 0;
};

/// Options for environments whose defaults take long: short episodes, and noise.
YamlValue options_of(const std::string& name) {
  return name == "CollectiveTuning-v0"
             ? parse_yaml("{fabric: dgx1, noise: cloud-ib, episode: 6}", "options")
             : YamlValue();
}

/// Each environment without wrappers, in each wrapper alone, and in all of them.
std::vector<Subject> subjects() {
  const std::vector<std::string> wrappers{
      "[]",
      "[{name: TimeLimit, max_steps: 3}]",
      "[RecordEpisodeStatistics]",
      "[NormalizeObservation]",
      "[NormalizeReward]",
      "[{name: FrameStack, frames: 3}]",
      "[FlatActions]",
      "[FlatActions, {name: TimeLimit, max_steps: 3}]",
      "[{name: TimeLimit, max_steps: 5}, RecordEpisodeStatistics, {name: FrameStack, frames: 2}, "
      "NormalizeObservation, NormalizeReward]"};
  std::vector<Subject> result;
  for (const EnvironmentEntry& entry : environment_entries()) {
    const EnvironmentMaker make = environment_maker(entry.name, options_of(entry.name));
    for (const std::string& list : wrappers) {
      result.push_back(
          {.name = entry.name + " " + list,
           .maker = [make, list] { return wrap_environment(make(), parse_yaml(list, "wrappers")); },
           .plain_or_all = list == wrappers.front() || list == wrappers.back(),
           .steps = entry.name == "Counter-v0" ? 60U : 14U});
    }
  }
  return result;
}

// Single wrappers do not depend on the number of workers.
std::vector<std::size_t> workers_of(const Subject& subject) {
  if (!test::thorough()) {
    return subject.plain_or_all ? std::vector<std::size_t>{0, 1, 3, 8}
                                : std::vector<std::size_t>{0, 3};
  }
  return subject.plain_or_all ? std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}
                              : std::vector<std::size_t>{0, 3, 8};
}

TEST_CASE("EnvChecker: environments in all wrappers", "[env][env-checker]") {
  std::string covered;
  for (const Subject& subject : subjects()) {
    INFO(subject.name);
    CHECK(joined(EnvChecker(subject.maker, {.seed = 3, .steps = subject.steps}).check()) == "");
    covered += subject.name;
  }
  for (const WrapperEntry& entry : wrapper_entries()) {
    INFO(entry.name);
    CHECK(covered.find(entry.name) != std::string::npos);
  }
}

TEST_CASE("EnvChecker: vector environments, sync and with 1..8 workers, in each mode",
          "[env][env-checker][thorough]") {
  for (const Subject& subject : subjects()) {
    const EnvChecker checker(subject.maker, {.seed = 4, .steps = subject.steps / 2});
    for (const Autoreset autoreset :
         {Autoreset::NextStep, Autoreset::SameStep, Autoreset::Disabled}) {
      for (const std::size_t workers : workers_of(subject)) {
        INFO(subject.name << ", " << to_string(autoreset) << ", workers " << workers);
        const std::size_t environments = workers <= 1 ? 3 : workers + 1;
        CHECK(joined(checker.check_vector(autoreset, workers, environments)) == "");
      }
    }
  }
}

}  // namespace
}  // namespace cclgym
