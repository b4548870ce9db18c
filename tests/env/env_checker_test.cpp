// Every registered environment x wrapper x mode of autoreset x number of workers keeps the
// conventions; and the checker sees what does not.
#include "env/env_checker.hpp"

#include <functional>

#include "catch.hpp"
#include "env/counter_env.hpp"
#include "env/registry.hpp"
#include "env/wrapper.hpp"
#include "env/wrapper_registry.hpp"

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
};

/// Each environment bare, in each wrapper, and in all of them.
std::vector<Subject> subjects() {
  const std::vector<std::string> wrappers{
      "[]",
      "[{name: TimeLimit, max_steps: 3}]",
      "[RecordEpisodeStatistics]",
      "[NormalizeObservation]",
      "[NormalizeReward]",
      "[{name: FrameStack, frames: 3}]",
      "[{name: TimeLimit, max_steps: 5}, RecordEpisodeStatistics, {name: FrameStack, frames: 2}, "
      "NormalizeObservation, NormalizeReward]"};
  std::vector<Subject> result;
  for (const EnvironmentEntry& entry : environment_entries()) {
    const EnvironmentMaker make = environment_maker(entry.name);
    for (const std::string& list : wrappers) {
      result.push_back({entry.name + " " + list, [make, list] {
                          return wrap_environment(make(), parse_yaml(list, "wrappers"));
                        }});
    }
  }
  return result;
}

TEST_CASE("EnvChecker: environments in all wrappers") {
  std::string covered;
  for (const Subject& subject : subjects()) {
    INFO(subject.name);
    CHECK(joined(EnvChecker(subject.maker, {.seed = 3, .steps = 60}).check()) == "");
    covered += subject.name;
  }
  for (const WrapperEntry& entry : wrapper_entries()) {
    INFO(entry.name);
    CHECK(covered.find(entry.name) != std::string::npos);
  }
}

TEST_CASE("EnvChecker: vector environments, sync and with 1..8 workers, in each mode") {
  for (const Subject& subject : subjects()) {
    const EnvChecker checker(subject.maker, {.seed = 4, .steps = 25});
    for (const Autoreset autoreset :
         {Autoreset::NextStep, Autoreset::SameStep, Autoreset::Disabled}) {
      for (std::size_t workers = 0; workers <= 8; ++workers) {
        INFO(subject.name << ", " << to_string(autoreset) << ", workers " << workers);
        const std::size_t environments = workers <= 1 ? 3 : workers + 1;
        CHECK(joined(checker.check_vector(autoreset, workers, environments)) == "");
      }
    }
  }
}

}  // namespace
}  // namespace cclgym
