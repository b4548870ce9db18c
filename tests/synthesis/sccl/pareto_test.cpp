// Bounds on steps and rounds, and fronts of machines and random instances.
#include "synthesis/sccl/pareto.hpp"

#include <random>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/shipped_fabric.hpp"
#include "support/thrown.hpp"
#include "synthesis/proofs/rup_checker.hpp"
#include "synthesis/published_instances.hpp"
#include "synthesis/sccl/brute_force.hpp"
#include "synthesis/sccl/inversion.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;
using enum CollectiveKind;

TEST_CASE("bounds of DGX-1 and of a ring of eight", "[synthesis][sccl]") {
  const Instance dgx1 = dgx1_instance();
  const Demand gather_all = make_demand(AllGather, 8, 1);
  CHECK(min_steps(dgx1, gather_all) == 2);
  CHECK(rounds_cut(dgx1, gather_all).rounds == Rational(7, 6));
  CHECK(rounds_cut(dgx1, make_demand(AllToAll, 8, 1)).rounds == Rational(8, 3));
  CHECK(rounds_cut(dgx1, make_demand(Gather, 8, 1)).rounds == Rational(7, 6));
  CHECK(relaxed_rounds(dgx1, gather_all, 1) == std::nullopt);
  CHECK(relaxed_rounds(dgx1, gather_all, 2) == Rational(3, 2));
  CHECK(relaxed_rounds(dgx1, gather_all, 3) == Rational(7, 6));
  CHECK(relaxed_rounds(dgx1, make_demand(AllToAll, 8, 1), 3) == Rational(8, 3));
  // The linear program of 240 chunks on 240 hops would be too large.
  const Instance dgx2 = make_instance(*fabric_of("dgx2"));
  CHECK(relaxed_rounds(dgx2, make_demand(AllToAll, 16, 1), 1) == std::nullopt);
  const Instance ring = ring_instance(8);
  CHECK(min_steps(ring, gather_all) == 4);
  CHECK(rounds_cut(ring, gather_all).rounds == Rational(7, 2));
  CHECK(rounds_cut(ring, make_demand(AllToAll, 8, 1)).rounds == Rational(8));
  CHECK(relaxed_rounds(ring, gather_all, 4) == Rational(7, 2));
}

TEST_CASE("the capacity of a cut counts shared limits once", "[synthesis][sccl]") {
  Instance node = make_instance(*fabric_of("ndv4"));
  for (Limit& limit : node.limits) limit.units = 1;
  CHECK(rounds_cut(node, make_demand(AllGather, 8, 1)).rounds == Rational(7));
  CHECK(rounds_cut(node, make_demand(AllToAll, 8, 1)).rounds == Rational(7));
}

TEST_CASE("no schedule of a random instance is below the bounds", "[synthesis][sccl]") {
  std::mt19937 random(8);
  int tight = 0;
  for (int trial = 0; trial < 150; ++trial) {
    const Instance instance = random_instance(random);
    const Demand demand = random_demand(random, instance.ranks);
    if (demand.ranks != instance.ranks) continue;
    const int steps = 1 + static_cast<int>(random() % 3);
    for (int rounds = steps; rounds < steps + 4; ++rounds) {
      if (solve_steps(instance, demand, steps, rounds).status != SatResult::Satisfiable) continue;
      INFO("trial " << trial);
      const Rational found(rounds);
      CHECK(min_steps(instance, demand) <= steps);
      CHECK_FALSE(found < rounds_cut(instance, demand).rounds);
      const std::optional<Rational> relaxed = relaxed_rounds(instance, demand, steps);
      if (relaxed) CHECK_FALSE(found < *relaxed);
      tight += relaxed == found ? 1 : 0;
      break;
    }
  }
  CHECK(tight > 10);
}

TEST_CASE("DGX-1 AllGather: the front is (2, 3/2) and (3, 7/6)", "[synthesis][sccl]") {
  const Instance dgx1 = dgx1_instance();
  const ParetoFront front = pareto_front(dgx1, AllGather);
  CHECK(front.complete);
  CHECK(front.min_steps == 2);
  REQUIRE(front.points.size() == 2);
  CHECK(front.points[0].triple == StepTriple{2, 2, 3});
  CHECK(front.points[0].min_steps);
  CHECK(front.points[0].proof == RoundsProof::Relaxation);
  CHECK(front.points[1].triple == StepTriple{6, 3, 7});
  CHECK(front.points[1].proof == RoundsProof::Cut);
  CHECK(front.refuted.empty());
  for (const ParetoPoint& point : front.points) {
    CHECK(check_schedule(dgx1, make_demand(AllGather, 8, point.triple.chunks), point.schedule) ==
          "");
  }
}

TEST_CASE("DGX-1 AllGather without the relaxation: the same front, by proofs of the solver",
          "[synthesis][sccl]") {
  const Instance dgx1 = dgx1_instance();
  const ParetoFront front =
      pareto_front(dgx1, AllGather, 0, {.extra_rounds = 4, .relaxation = false});
  REQUIRE(front.points.size() == 2);
  CHECK(front.points[0].triple == StepTriple{2, 2, 3});
  CHECK(front.points[0].proof == RoundsProof::Search);
  CHECK(front.points[1].triple == StepTriple{6, 3, 7});
  REQUIRE_FALSE(front.refuted.empty());
  for (const StepTriple& triple : front.refuted) {
    UnsatCertificate certificate;
    INFO("(" << triple.chunks << ", " << triple.steps << ", " << triple.rounds << ")");
    REQUIRE(prove_infeasible(dgx1, make_demand(AllGather, 8, triple.chunks), triple.steps,
                             triple.rounds, certificate) == SatResult::Unsatisfiable);
    CHECK(check_rup(certificate.formula, certificate.proof) == "");
  }
}

TEST_CASE("a ring of eight has one point per collective", "[synthesis][sccl]") {
  const Instance ring = ring_instance(8);
  const ParetoFront gather_all = pareto_front(ring, AllGather);
  REQUIRE(gather_all.points.size() == 1);
  CHECK(gather_all.complete);
  CHECK(gather_all.points[0].triple == StepTriple{2, 4, 7});
  const ParetoFront scatter = pareto_front(ring, ReduceScatter);
  REQUIRE(scatter.points.size() == 1);
  CHECK(check_reduction(ring, make_demand(AllGather, 8, 2), scatter.points[0].schedule) == "");
}

TEST_CASE("fronts of random instances contain what exhaustive search finds", "[synthesis][sccl]") {
  std::mt19937 random(21);
  int compared = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const Instance instance = random_instance(random);
    if (instance.ranks != 3) continue;
    const std::vector<std::vector<int>> distance = instance.distances();
    const bool connected = std::all_of(distance.begin(), distance.end(), [](const auto& row) {
      return std::none_of(row.begin(), row.end(), [](int hops) { return hops < 0; });
    });
    if (!connected) continue;
    const ParetoFront front =
        pareto_front(instance, AllGather, 0, {.extra_rounds = 1, .max_steps = 3});
    for (const bool relaxation : {false, true}) {
      const ParetoFront other = pareto_front(
          instance, AllGather, 0, {.extra_rounds = 1, .max_steps = 3, .relaxation = relaxation});
      CHECK(other.points.size() == front.points.size());
    }
    for (const StepTriple& triple : front.refuted) {
      if (triple.chunks > 2) continue;
      const Demand demand = make_demand(AllGather, 3, triple.chunks);
      INFO("(" << triple.chunks << ", " << triple.steps << ", " << triple.rounds << ")");
      CHECK(ExhaustiveSearch(instance, demand).feasible(triple.steps, triple.rounds) != true);
    }
    for (int chunks = 1; chunks <= 2; ++chunks) {
      const Demand demand = make_demand(AllGather, 3, chunks);
      for (int steps = 1; steps <= 3; ++steps) {
        for (int rounds = steps; rounds <= steps + 1; ++rounds) {
          const std::optional<bool> feasible =
              ExhaustiveSearch(instance, demand).feasible(steps, rounds);
          if (!feasible || !*feasible) continue;
          ++compared;
          INFO("trial " << trial << ": (" << chunks << ", " << steps << ", " << rounds << ")");
          CHECK(std::any_of(front.points.begin(), front.points.end(), [&](const auto& point) {
            const StepTriple& triple = point.triple;
            return triple.steps <= steps && triple.rounds * chunks <= rounds * triple.chunks;
          }));
        }
      }
    }
  }
  CHECK(compared > 30);
}

TEST_CASE("a front from kept answers is the same, and wrong answers are searched for again",
          "[synthesis][sccl]") {
  const Instance dgx1 = dgx1_instance();
  for (const CollectiveKind collective : {AllToAll, ReduceScatter}) {
    std::vector<std::pair<StepTriple, StepAnswer>> kept;
    int searches = 0;
    ParetoOptions options;
    options.on_search = [&](const StepTriple&, const Rational&) { ++searches; };
    options.keep = [&](const StepTriple& triple, const StepAnswer& answer) {
      kept.emplace_back(triple, answer);
    };
    options.recall = [&](const StepTriple& triple) -> StepAnswer {
      for (const auto& [one, answer] : kept) {
        if (one == triple) return answer;
      }
      return {};
    };
    const ParetoFront first = pareto_front(dgx1, collective, 0, options);
    REQUIRE(first.complete);
    CHECK(searches == static_cast<int>(kept.size()));
    searches = 0;
    const ParetoFront again = pareto_front(dgx1, collective, 0, options);
    CHECK(searches == 0);
    CHECK(again.refuted == first.refuted);
    REQUIRE(again.points.size() == first.points.size());
    for (std::size_t k = 0; k < first.points.size(); ++k) {
      CHECK(again.points[k].triple == first.points[k].triple);
      CHECK(again.points[k].proof == first.points[k].proof);
      CHECK(again.points[k].schedule.sends == first.points[k].schedule.sends);
    }
    for (auto& [triple, answer] : kept) {
      if (answer.status == SatResult::Satisfiable) answer.schedule.sends.pop_back();
    }
    const ParetoFront mended = pareto_front(dgx1, collective, 0, options);
    CHECK(searches == static_cast<int>(first.points.size()));
    CHECK(mended.points.front().schedule.sends == first.points.front().schedule.sends);
  }
}

TEST_CASE("a front ends with what was found before the deadline", "[synthesis][sccl]") {
  const Instance dgx1 = dgx1_instance();
  double now_s = 0;
  ParetoOptions options{.deadline = Deadline(1, [&now_s] { return now_s; })};
  int searches = 0;
  options.on_search = [&](const StepTriple&, const Rational&) { ++searches; };
  options.keep = [&now_s](const StepTriple&, const StepAnswer&) { now_s = 1; };
  const ParetoFront part = pareto_front(dgx1, AllGather, 0, options);
  CHECK(searches == 1);
  CHECK_FALSE(part.complete);
  REQUIRE(part.points.size() == 1);
  CHECK(part.points[0].triple == StepTriple{2, 2, 3});
  // No search begins after the deadline; the bounds are known.
  const ParetoFront none = pareto_front(dgx1, AllGather, 0, options);
  CHECK(searches == 1);
  CHECK(none.points.empty());
  CHECK_FALSE(none.open.empty());
  CHECK(none.cut.rounds == Rational(7, 6));
  // On a clock that stands still, a search is never late.
  now_s = 0;
  options.keep = {};
  CHECK(pareto_front(dgx1, AllGather, 0, options).complete);
}

TEST_CASE("bad input of a search for a front", "[synthesis][sccl]") {
  const Instance ring = ring_instance(8);
  CHECK(contains(thrown([&] { return pareto_front(ring, AllReduce); }), "has no inverse"));
  CHECK(contains(thrown([&] { return pareto_front(ring, AllGather, 0, {.extra_rounds = -1}); }),
                 "-1 extra rounds"));
  CHECK(contains(thrown([&] { return pareto_front(ring, Gather, 9); }), "root 9"));
  const Instance parts = link_instance("parts", {{0, 1, 0}, {1, 0, 0}, {0, 1, 0}});
  CHECK(contains(thrown([&] { return pareto_front(parts, AllGather); }),
                 "rank 0 cannot reach rank 2"));
}

}  // namespace
}  // namespace cclgym::test
