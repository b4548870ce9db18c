// Tests of the solvers' wrappers, against closed forms and brute force.
#include <random>

#include "support/catch.hpp"
#include "synthesis/jumping_clock.hpp"
#include "synthesis/solvers/deadline.hpp"
#include "synthesis/solvers/linear_program.hpp"
#include "synthesis/solvers/mixed_integer_program.hpp"
#include "synthesis/solvers/sat_solver.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

TEST_CASE("at most k of n literals: exactly the assignments that brute force allows",
          "[synthesis][solvers]") {
  for (int count = 1; count <= 6; ++count) {
    for (int bound = 0; bound <= count; ++bound) {
      SatSolver solver;
      std::vector<Literal> literals;
      for (int k = 0; k < count; ++k) literals.push_back(solver.new_variable());
      add_at_most(solver, literals, bound);
      for (int mask = 0; mask < (1 << count); ++mask) {
        std::vector<Literal> assumed;
        int true_ones = 0;
        for (int k = 0; k < count; ++k) {
          const bool set = (mask >> k & 1) != 0;
          true_ones += set ? 1 : 0;
          assumed.push_back(set ? literals[static_cast<std::size_t>(k)]
                                : -literals[static_cast<std::size_t>(k)]);
        }
        INFO("n " << count << " k " << bound << " mask " << mask);
        CHECK((solver.solve(assumed) == SatResult::Satisfiable) == (true_ones <= bound));
      }
    }
  }
}

TEST_CASE("a linear program gives value, solution and duals, and takes further rows",
          "[synthesis][solvers]") {
  // max 3x + 2y, x + y <= 4, x + 3y <= 7, x <= 3: optimum 11 at (3, 1).
  LinearProgram lp;
  const int x = lp.add_column(-3, 0, 3);
  const int y = lp.add_column(-2);
  const std::vector<Term> first{{x, 1}, {y, 1}};
  const std::vector<Term> second{{x, 1}, {y, 3}};
  lp.add_row(first, -kUnbounded, 4);
  lp.add_row(second, -kUnbounded, 7);
  REQUIRE(lp.solve() == LpStatus::Optimal);
  CHECK(lp.objective() == Approx(-11));
  CHECK(lp.solution()[0] == Approx(3));
  CHECK(lp.duals()[0] == Approx(-2));
  const std::vector<Term> cut{{y, 1}};
  lp.add_row(cut, -kUnbounded, 0.5);
  REQUIRE(lp.solve() == LpStatus::Optimal);
  CHECK(lp.objective() == Approx(-10));
  lp.add_row(cut, 1, kUnbounded);
  CHECK(lp.solve() == LpStatus::Infeasible);
}

TEST_CASE("a linear program ends with its iterations", "[synthesis][solvers]") {
  // A transport of 6 x 6 amounts takes more than one iteration.
  constexpr int kSites = 6;
  const auto transport = [](LinearProgram& lp) {
    std::vector<std::vector<Term>> rows(2 * kSites);
    for (int from = 0; from < kSites; ++from) {
      for (int to = 0; to < kSites; ++to) {
        const int column = lp.add_column(1 + from * to % 5);
        rows[static_cast<std::size_t>(from)].push_back({column, 1});
        rows[static_cast<std::size_t>(kSites + to)].push_back({column, 1});
      }
    }
    for (const std::vector<Term>& row : rows) lp.add_row(row, 1, 1);
  };
  LinearProgram whole;
  transport(whole);
  whole.limit_iterations(1'000);
  CHECK(whole.solve() == LpStatus::Optimal);
  LinearProgram cut;
  transport(cut);
  cut.limit_iterations(1);
  CHECK(cut.solve() == LpStatus::Unknown);
  CHECK(cut.solve() == LpStatus::Unknown);  // none are left
}

TEST_CASE("a mixed-integer program equals brute force on random knapsacks",
          "[synthesis][solvers]") {
  std::mt19937 random(7);
  for (int trial = 0; trial < 20; ++trial) {
    MixedIntegerProgram program;
    std::vector<Term> weights;
    std::vector<int> value;
    std::vector<int> weight;
    for (int k = 0; k < 8; ++k) {
      value.push_back(static_cast<int>(random() % 20) + 1);
      weight.push_back(static_cast<int>(random() % 15) + 1);
      weights.push_back(
          {program.add_column(-value.back(), 0, 1, true), static_cast<double>(weight.back())});
    }
    program.add_row(weights, -kUnbounded, 30);
    int best = 0;
    for (int mask = 0; mask < 256; ++mask) {
      int total_value = 0;
      int total_weight = 0;
      for (std::size_t k = 0; k < 8; ++k) {
        if ((mask >> k & 1) == 0) continue;
        total_value += value[k];
        total_weight += weight[k];
      }
      if (total_weight <= 30) best = std::max(best, total_value);
    }
    const MipSolution solution = program.solve();
    REQUIRE(solution.status == MipStatus::Optimal);
    CHECK(solution.objective == Approx(-best));
  }
  MixedIntegerProgram none;
  const std::vector<Term> half{{none.add_column(1, 0, 5, true), 2.0}};
  none.add_row(half, 3, 3);
  CHECK(none.solve().status == MipStatus::Infeasible);
}

TEST_CASE("a deadline comes on its own clock, and never without a limit", "[synthesis][solvers]") {
  double now_s = 5;
  const Clock clock = [&now_s] { return now_s; };
  const Deadline deadline(8, clock);
  const Deadline half = deadline.after_part(0.5);
  CHECK(half.limit_s() == 4);
  now_s = 9;
  CHECK(half.over());
  CHECK(deadline.left_s() == 4);
  CHECK(deadline.within(1, 3).left_s() == 3);
  CHECK(half.within(1, 3).left_s() == 1);
  CHECK(deadline.solver_limit_s() == 0);  // CLP and CBC cannot read this clock
  CHECK(Deadline(0).over());
  CHECK(Deadline(0).solver_limit_s() > 0);
  for (const Deadline& never :
       {Deadline(), Deadline(kNoTimeLimit), Deadline(kNoTimeLimit, clock)}) {
    CHECK(never.left_s() == kNoTimeLimit);
    CHECK(never.after_part(0.5).left_s() == kNoTimeLimit);
    CHECK(never.within(1, 3).left_s() == kNoTimeLimit);
    CHECK(never.solver_limit_s() == 0);
  }
}

TEST_CASE("no solver begins after its deadline, and SAT solvers end with it",
          "[synthesis][solvers]") {
  const Deadline late(0);
  LinearProgram lp;
  (void)lp.add_column(1);
  CHECK(lp.solve(late) == LpStatus::Unknown);
  CHECK(lp.solve(Deadline(1, [] { return 0.0; })) == LpStatus::Optimal);
  MixedIntegerProgram mip;
  (void)mip.add_column(1, 0, 1, true);
  CHECK(mip.solve(late).status == MipStatus::Unknown);
  // More pigeons than holes: too hard to be refuted soon.
  constexpr int kHoles = 16;
  SatSolver sat;
  std::vector<std::vector<Literal>> holes(kHoles);
  for (int pigeon = 0; pigeon <= kHoles; ++pigeon) {
    std::vector<Literal> places;
    for (std::vector<Literal>& hole : holes) {
      places.push_back(sat.new_variable());
      for (const Literal other : hole) sat.add_clause({-other, -places.back()});
      hole.push_back(places.back());
    }
    sat.add_clause(places);
  }
  CHECK(sat.solve({}, late) == SatResult::Unknown);
  CHECK(sat.solve({}, Deadline(1, late_after(100))) == SatResult::Unknown);
}

}  // namespace
}  // namespace cclgym::test
