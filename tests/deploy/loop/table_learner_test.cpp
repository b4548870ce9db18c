// The learner against machines whose times are known.
#include "deploy/loop/table_learner.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/random.hpp"
#include "support/catch.hpp"

namespace cclgym::test {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// A machine with a few states: times by state, class and configuration, s, and noise.
struct Machine {
  std::vector<std::vector<std::vector<double>>> times_s;
  double noise = 0.03;

  [[nodiscard]] std::size_t classes() const { return times_s.front().size(); }
  [[nodiscard]] double best_s(std::size_t state, std::size_t group) const {
    return *std::ranges::min_element(times_s[state][group]);
  }
  [[nodiscard]] LearnerCall call(std::size_t state, std::size_t group, std::size_t config,
                                 Random& random) const {
    return {.group = group,
            .config = config,
            .time_s = times_s[state][group][config] * std::exp(random.normal(0, noise)),
            .bytes = state % 2 == 1 ? 3e6 : 1e6};
  }
};

/// Times with a common factor for each state and class, and a deviation for each configuration.
Machine random_machine(std::size_t states, std::size_t classes, std::size_t configs,
                       double deviation, Random& random) {
  Machine machine;
  std::vector<std::vector<double>> first(classes, std::vector<double>(configs));
  for (auto& group : first) {
    for (double& time_s : group) time_s = 1e-3 * std::exp(random.uniform(0, 0.3));
  }
  machine.times_s.push_back(first);
  while (machine.times_s.size() < states) {
    auto next = first;
    for (auto& group : next) {
      const double common = random.uniform(0.3, 1);
      for (double& time_s : group) time_s *= std::exp(common + random.normal(0, deviation));
    }
    machine.times_s.push_back(next);
  }
  return machine;
}

/// Plays a state; returns the time relative to that of the best configurations.
double play(const Machine& machine, TableLearner& learner, std::size_t state, int iterations,
            Random& random) {
  double total_s = 0;
  double best_s = 0;
  for (int i = 0; i < iterations; ++i) {
    for (std::size_t group = 0; group < machine.classes(); ++group) {
      const std::size_t config = learner.table()[group];
      total_s += machine.times_s[state][group][config];
      best_s += machine.best_s(state, group);
      (void)learner.observe(machine.call(state, group, config, random));
    }
  }
  return total_s / best_s;
}

}  // namespace

TEST_CASE("learner: the first table is the best of the prior") {
  const TableLearner learner({{3e-3, 1e-3, kNever}, {kNever, std::nan(""), 2e-3}});
  CHECK(learner.table() == std::vector<std::uint16_t>{1, 2});
  const std::vector<std::vector<double>> nothing{{1e-3}, {kNever}};
  CHECK_THROWS_AS(TableLearner(nothing), std::invalid_argument);
}

TEST_CASE("learner: a wrong prior is corrected within few calls of a class") {
  // The configuration that the prior prefers is really the slowest of those near it.
  Machine machine{.times_s = {{{1.3e-3, 1.0e-3, 1.2e-3, 9e-3}}}};
  TableLearner learner({{1.00e-3, 1.05e-3, 1.1e-3, 9e-3}});
  Random random = Random::stream(1, {});
  (void)play(machine, learner, 0, 10, random);
  CHECK(play(machine, learner, 0, 100, random) < 1.01);
  CHECK(learner.table()[0] == 1);
  CHECK(learner.alarms() == 0);
}

TEST_CASE("learner: configurations far from the best of the prior are never tried") {
  Machine machine{.times_s = {{{1e-3, 0.2e-3}}}};
  TableLearner learner({{1e-3, 2e-3}});
  Random random = Random::stream(1, {});
  CHECK(play(machine, learner, 0, 50, random) == Approx(5));
}

TEST_CASE("learner: changes are noticed soon, and known states are recognised") {
  int found = 0;
  std::uint64_t false_alarms = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random = Random::stream(seed, {});
    const Machine machine = random_machine(3, 6, 4, 0.2, random);
    std::vector<std::vector<double>> prior_s = machine.times_s[0];
    TableLearner learner(prior_s);
    std::uint64_t expected = 0;
    for (const std::size_t state : {0U, 1U, 0U, 2U, 1U, 0U, 2U}) {
      if (expected > 0 || state > 0) {
        const std::uint64_t before = learner.alarms();
        (void)play(machine, learner, state, 3, random);  // 18 calls
        if (learner.alarms() > before) ++found;
      }
      (void)play(machine, learner, state, 40, random);
      ++expected;
      CHECK(learner.states() <= 3);
      CHECK(play(machine, learner, state, 20, random) < 1.04);
    }
    false_alarms += learner.alarms() > 6 ? learner.alarms() - 6 : 0;
    CHECK(learner.states() == 3);
  }
  CHECK(found >= 114);  // there are 120
  CHECK(false_alarms <= 10);
}

TEST_CASE("learner: a state that comes back needs no new exploration") {
  double first = 0;
  double again = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random = Random::stream(seed, {});
    const Machine machine = random_machine(2, 8, 6, 0.25, random);
    TableLearner learner(machine.times_s[0]);
    (void)play(machine, learner, 0, 20, random);
    first += play(machine, learner, 1, 20, random);
    (void)play(machine, learner, 0, 20, random);
    (void)play(machine, learner, 1, 2, random);  // the change is noticed, and the state known
    again += play(machine, learner, 1, 18, random);
  }
  CHECK((again - 20) < 0.5 * (first - 20));
}

TEST_CASE("learner: a frozen learner notices changes, but keeps its table") {
  Random random = Random::stream(3, {});
  const Machine machine = random_machine(2, 6, 4, 0.3, random);
  TableLearner learner(machine.times_s[0], {.frozen = true});
  const auto first = learner.table();
  (void)play(machine, learner, 0, 20, random);
  (void)play(machine, learner, 1, 20, random);
  CHECK(learner.alarms() == 1);
  CHECK(learner.table() == first);
}

TEST_CASE("learner: times that do not count are ignored") {
  TableLearner learner({{1e-3, 2e-3}, {1e-3, kNever}});
  const auto before = learner.table();
  for (const LearnerCall& call :
       {LearnerCall{.group = 2, .config = 0, .time_s = 1}, LearnerCall{.config = 2, .time_s = 1},
        LearnerCall{.group = 1, .config = 1, .time_s = 1}, LearnerCall{.time_s = 0},
        LearnerCall{.time_s = -1}, LearnerCall{.time_s = std::nan("")},
        LearnerCall{.time_s = kNever}}) {
    for (int i = 0; i < 30; ++i) CHECK_FALSE(learner.observe(call));
  }
  CHECK(learner.table() == before);
  CHECK(learner.alarms() == 0);
}

TEST_CASE("usual time: the mean, in which outliers count as twice the median") {
  CHECK(usual_time(std::vector<double>{3.0}) == Approx(3));
  CHECK(usual_time(std::vector<double>{1.0, 2.0}) == Approx(1.5));
  // Alternating times count with their mean.
  CHECK(usual_time(std::vector<double>{1.0, 1.6, 1.0, 1.6}) == Approx(1.3));
  CHECK(usual_time(std::vector<double>{1.0, 1.0, 50.0}) == Approx(4.0 / 3));
}

}  // namespace cclgym::test
