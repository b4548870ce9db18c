// Bounds on steps and rounds, and fronts of machines and random instances.
#include "synthesis/sccl/pareto.hpp"

#include <random>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/thrown.hpp"
#include "synthesis/proofs/rup_checker.hpp"
#include "synthesis/sccl/brute_force.hpp"
#include "synthesis/sccl/inversion.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;
using enum CollectiveKind;

Instance machine(const std::string& name) {
  FabricSpec spec;
  spec.name = name;
  return make_instance(*make_fabric(spec));
}

Instance ring_of_eight() {
  std::vector<std::vector<std::int64_t>> units(8, std::vector<std::int64_t>(8, 0));
  for (std::size_t rank = 0; rank < 8; ++rank) {
    units[rank][(rank + 1) % 8] = 1;
    units[(rank + 1) % 8][rank] = 1;
  }
  return link_instance("ring", units);
}

TEST_CASE("bounds of DGX-1 and of a ring of eight", "[synthesis][sccl]") {
  const Instance dgx1 = machine("dgx1");
  const Demand gather_all = make_demand(AllGather, 8, 1);
  CHECK(min_steps(dgx1, gather_all) == 2);
  CHECK(rounds_cut(dgx1, gather_all).rounds == Fraction{7, 6});
  CHECK(rounds_cut(dgx1, make_demand(AllToAll, 8, 1)).rounds == Fraction{8, 3});
  CHECK(rounds_cut(dgx1, make_demand(Gather, 8, 1)).rounds == Fraction{7, 6});
  CHECK(relaxed_rounds(dgx1, gather_all, 1) == std::nullopt);
  CHECK(relaxed_rounds(dgx1, gather_all, 2) == Fraction{3, 2});
  CHECK(relaxed_rounds(dgx1, gather_all, 3) == Fraction{7, 6});
  const Instance ring = ring_of_eight();
  CHECK(min_steps(ring, gather_all) == 4);
  CHECK(rounds_cut(ring, gather_all).rounds == Fraction{7, 2});
  CHECK(rounds_cut(ring, make_demand(AllToAll, 8, 1)).rounds == Fraction{8, 1});
  CHECK(relaxed_rounds(ring, gather_all, 4) == Fraction{7, 2});
}

TEST_CASE("the capacity of a cut counts shared limits once", "[synthesis][sccl]") {
  Instance node = machine("ndv4");
  for (Limit& limit : node.limits) limit.units = 1;
  CHECK(rounds_cut(node, make_demand(AllGather, 8, 1)).rounds == Fraction{7, 1});
  CHECK(rounds_cut(node, make_demand(AllToAll, 8, 1)).rounds == Fraction{7, 1});
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
      const Fraction found{rounds, 1};
      CHECK(min_steps(instance, demand) <= steps);
      CHECK_FALSE(found < rounds_cut(instance, demand).rounds);
      const std::optional<Fraction> relaxed = relaxed_rounds(instance, demand, steps);
      if (relaxed) CHECK_FALSE(found < *relaxed);
      tight += relaxed == found ? 1 : 0;
      break;
    }
  }
  CHECK(tight > 10);
}

TEST_CASE("DGX-1 AllGather: the front is (2, 3/2) and (3, 7/6)", "[synthesis][sccl]") {
  const Instance dgx1 = machine("dgx1");
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
  const Instance dgx1 = machine("dgx1");
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
  const Instance ring = ring_of_eight();
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

TEST_CASE("bad input of a search for a front", "[synthesis][sccl]") {
  const Instance ring = ring_of_eight();
  CHECK(contains(thrown([&] { return pareto_front(ring, AllReduce); }), "has no inverse"));
  CHECK(contains(thrown([&] { return pareto_front(ring, AllGather, 0, {.extra_rounds = -1}); }),
                 "-1 extra rounds"));
  CHECK(contains(thrown([&] { return pareto_front(ring, AllGather, 0, {.time_limit_s = 0}); }),
                 "the time limit is 0 s"));
  CHECK(contains(thrown([&] { return pareto_front(ring, Gather, 9); }), "root 9"));
  const Instance parts = link_instance("parts", {{0, 1, 0}, {1, 0, 0}, {0, 1, 0}});
  CHECK(contains(thrown([&] { return pareto_front(parts, AllGather); }),
                 "rank 0 cannot reach rank 2"));
}

}  // namespace
}  // namespace cclgym::test
