// Learning of classes that appear while a machine runs.
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "core/random.hpp"
#include "deploy/loop/table_learner.hpp"
#include "support/catch.hpp"

namespace cclgym::test {

namespace {

const std::vector<std::vector<double>> kPrior{{1.0, 1.1, 1.3}, {2.0, 1.9}, {0.5, 0.6, 0.55, 0.7}};

// Time of a call on a machine that changes at call 1000.
double machine_s(std::uint64_t call, const LearnerCall& made, Random& random) {
  const double factor = (made.config == 0) == (call < 1000) ? 1.4 : 1;
  return factor * std::exp(random.normal(0, 0.02));
}

// The tables after each call. Classes that are not in the learner yet are added by `add`.
template <class Add>
std::vector<std::vector<std::uint16_t>> play(TableLearner& learner, std::uint64_t calls,
                                             const Add& add) {
  Random random = Random::stream(3, {});
  std::vector<std::vector<std::uint16_t>> tables;
  for (std::uint64_t call = 0; call < calls; ++call) {
    add(call);
    LearnerCall made{.group = call % kPrior.size()};
    made.config = learner.table()[made.group];
    made.time_s = machine_s(call, made, random);
    (void)learner.observe(made);
    tables.push_back(learner.table());
  }
  return tables;
}

}  // namespace

TEST_CASE("table learner: classes that are added are those of the constructor") {
  TableLearner at_once(kPrior);
  TableLearner added(std::vector<std::vector<double>>{});
  for (const auto& prior_s : kPrior) added.add_class(prior_s);
  const auto nothing = [](std::uint64_t) {};
  CHECK(play(at_once, 2000, nothing) == play(added, 2000, nothing));
  CHECK(at_once.states() == added.states());
  CHECK_THROWS_AS(added.add_class({std::numeric_limits<double>::infinity(), -1}),
                  std::invalid_argument);
  CHECK(added.table().size() == kPrior.size());
}

TEST_CASE("table learner: a class that appears after changes of the machine is learned, too") {
  TableLearner learner({kPrior[0], kPrior[1]});
  Random random = Random::stream(4, {});
  const auto make = [&](std::uint64_t call, std::size_t group) {
    LearnerCall made{.group = group, .config = learner.table()[group]};
    made.time_s = machine_s(call, made, random);
    (void)learner.observe(made);
  };
  for (std::uint64_t call = 500; call < 1500; ++call) make(call, call % 2);
  CHECK(learner.states() >= 2);
  learner.add_class(kPrior[2]);
  CHECK(learner.table()[2] == 0);
  for (std::uint64_t call = 1500; call < 1800; ++call) make(call, call % 3);
  // The other state knows the class as well.
  for (std::uint64_t call = 0; call < 300; ++call) make(call, call % 3);
  CHECK(learner.table()[2] != 0);
  for (std::uint64_t call = 1800; call < 2100; ++call) make(call, call % 3);
  CHECK(learner.table() == std::vector<std::uint16_t>(3, 0));
}

}  // namespace cclgym::test
