// Answers of the encodings against exhaustive search, bad input, and inversion.
#include "synthesis/sccl/solve_steps.hpp"

#include <random>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/shipped_fabric.hpp"
#include "support/thorough.hpp"
#include "support/thrown.hpp"
#include "synthesis/published_instances.hpp"
#include "synthesis/sccl/brute_force.hpp"
#include "synthesis/sccl/direct_encoding.hpp"
#include "synthesis/sccl/inversion.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;
using enum CollectiveKind;

TEST_CASE("step schedules of random instances exist exactly if exhaustive search finds one",
          "[synthesis][sccl][thorough]") {
  std::mt19937 random(15);
  const int trials = thorough() ? 12'000 : 600;
  int satisfiable = 0;
  for (int trial = 0; trial < trials;) {
    const Instance instance = random_instance(random);
    Demand demand = random_demand(random, instance.ranks);
    demand.ranks = instance.ranks;
    const int steps = 1 + static_cast<int>(random() % 3);
    const int rounds = steps + static_cast<int>(random() % 3);
    INFO("trial " << trial << ": " << instance.ranks << " ranks, " << instance.hops.size()
                  << " hops, " << demand.chunks.size() << " chunks, steps " << steps << ", rounds "
                  << rounds);
    const std::optional<bool> expected = ExhaustiveSearch(instance, demand).feasible(steps, rounds);
    if (!expected) continue;
    ++trial;
    const StepAnswer answer = solve_steps(instance, demand, steps, rounds);
    REQUIRE(answer.status != SatResult::Unknown);
    REQUIRE((answer.status == SatResult::Satisfiable) == *expected);
    const StepAnswer full = solve_steps(instance, demand, steps, rounds, {.restricted = false});
    REQUIRE(full.status == answer.status);
    const StepAnswer direct = solve_steps_directly(instance, demand, steps, rounds);
    REQUIRE(direct.status == answer.status);
    if (*expected) {
      ++satisfiable;
      CHECK(check_schedule(instance, demand, answer.schedule).empty());
      CHECK(check_schedule(instance, demand, direct.schedule).empty());
      CHECK(answer.schedule.total_rounds() <= rounds);
    }
  }
  CHECK(satisfiable > trials / 5);
  CHECK(satisfiable < trials * 4 / 5);
}

TEST_CASE("schedules of copies become schedules of reductions", "[synthesis][sccl]") {
  std::mt19937 random(3);
  int reductions = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const Instance instance = random_instance(random);
    const CollectiveKind inverse = random() % 2 == 0 ? AllGather : Broadcast;
    const Demand demand = make_demand(inverse, instance.ranks, 1);
    const StepAnswer answer = solve_steps(instance.reversed(), demand, 3, 5);
    if (answer.status != SatResult::Satisfiable) continue;
    ++reductions;
    StepSchedule reduction = reversed(answer.schedule);
    CHECK(check_reduction(instance, demand, reduction) == "");
    CHECK(reversed(reduction).sends == answer.schedule.sends);
    reduction.sends.pop_back();
    CHECK_FALSE(check_reduction(instance, demand, reduction).empty());
  }
  CHECK(reductions > 60);
}

TEST_CASE("faults of reductions are named", "[synthesis][sccl]") {
  const Instance line = link_instance("line", {{0, 1, 0}, {1, 0, 1}, {0, 1, 0}});
  // Hops: 0 -> 1, 1 -> 0, 1 -> 2, 2 -> 1. The sum of all ranks ends at rank 0.
  const Demand demand = make_demand(Broadcast, 3, 1, 0);
  const StepSchedule good{.rounds = {1, 1}, .sends = {{0, 0, 3}, {1, 0, 1}}};
  CHECK(check_reduction(line, demand, good).empty());
  const auto problem = [&](std::vector<StepSend> sends) {
    return check_reduction(line, demand, {.rounds = {1, 1}, .sends = std::move(sends)});
  };
  CHECK(contains(problem({{0, 0, 1}, {0, 0, 3}}), "lacks the part of rank 2"));
  CHECK(contains(problem({{0, 0, 1}, {1, 0, 1}}), "sends chunk 0 twice"));
  CHECK(contains(problem({{0, 0, 1}, {1, 0, 0}}), "adds the part of rank 1 to chunk 0 twice"));
  CHECK(contains(problem({{2, 0, 1}}), "out of range"));
  CHECK(contains(check_reduction(line, demand, {.rounds = {0}}), "has no round"));
}

TEST_CASE("bad input of a search for step schedules", "[synthesis][sccl]") {
  const Instance line = link_instance("line", {{0, 1}, {1, 0}});
  const Demand demand = make_demand(AllGather, 2, 1);
  CHECK(contains(thrown([&] { return solve_steps(line, demand, 0, 1); }), "0 steps"));
  CHECK(contains(thrown([&] { return solve_steps(line, demand, 3, 2); }), "2 rounds for 3 steps"));
  CHECK(contains(thrown([&] { return solve_steps(line, make_demand(AllGather, 3, 1), 1, 1); }),
                 "the demand has 3 ranks, but the instance has 2"));
}

TEST_CASE("after the deadline a search has no answer", "[synthesis][sccl]") {
  const Instance line = link_instance("line", {{0, 1}, {1, 0}});
  const Demand demand = make_demand(AllGather, 2, 1);
  const StepSearchOptions late{.deadline = Deadline(0)};
  CHECK(solve_steps(line, demand, 1, 1).status == SatResult::Satisfiable);
  CHECK(solve_steps(line, demand, 1, 1, late).status == SatResult::Unknown);
  UnsatCertificate certificate;
  const Demand two = make_demand(AllGather, 2, 2);
  CHECK(prove_infeasible(line, two, 1, 1, certificate, late) == SatResult::Unknown);
  CHECK(prove_infeasible(line, two, 1, 1, certificate) == SatResult::Unsatisfiable);
}

TEST_CASE("a search gives the same schedule every time, and another one for another seed is valid",
          "[synthesis][sccl]") {
  const Instance instance = dgx1_instance();
  const Demand demand = make_demand(AllGather, 8, 4);
  const StepAnswer first = solve_steps(instance, demand, 5, 5);
  const StepAnswer second = solve_steps(instance, demand, 5, 5);
  REQUIRE(first.status == SatResult::Satisfiable);
  CHECK(first.schedule.sends == second.schedule.sends);
  CHECK(first.schedule.rounds == second.schedule.rounds);
  const StepAnswer other = solve_steps(instance, demand, 5, 5, {.seed = 7});
  REQUIRE(other.status == SatResult::Satisfiable);
  CHECK(check_schedule(instance, demand, other.schedule).empty());
}

TEST_CASE("a switched node's ports are respected", "[synthesis][sccl]") {
  // Every GPU receives 7 chunks over its port, one per round.
  Instance instance = make_instance(*fabric_of("ndv4"));
  for (Limit& limit : instance.limits) limit.units = 1;
  const Demand demand = make_demand(AllGather, 8, 1);
  CHECK(solve_steps(instance, demand, 1, 7).status == SatResult::Satisfiable);
  CHECK(solve_steps(instance, demand, 1, 6).status == SatResult::Unsatisfiable);
}

}  // namespace
}  // namespace cclgym::test
