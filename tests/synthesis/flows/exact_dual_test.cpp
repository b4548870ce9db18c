// Tests of exact certificates of linear programs.
#include "synthesis/flows/exact_dual.hpp"

#include <random>

#include "core/index.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/thrown.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

TEST_CASE("simple fractions are found within the tolerance", "[synthesis][flows]") {
  CHECK(simple_fraction(0.0, 1e-9) == Rational(0));
  CHECK(simple_fraction(-2.0 / 3.0, 1e-9) == Rational(-2, 3));
  CHECK(simple_fraction(355.0 / 113.0 + 1e-12, 1e-9) == Rational(355, 113));
  CHECK(simple_fraction(0.9999999999, 1e-9) == Rational(1));
  CHECK(simple_fraction(12345.678, 1e-6) == Rational(6172839, 500));
  CHECK_FALSE(simple_fraction(1e17, 1e-9));
}

// max 3x + 2y, x + y <= 4, x + 3y <= 7, x <= 3: optimum 11 at (3, 1).
ExactProgram corner_program() {
  ExactProgram program;
  program.add_column(-3, 0, 3);
  program.add_column(-2);
  program.add_row({{0, 1}, {1, 1}}, {}, 4);
  program.add_row({{0, 1}, {1, 3}}, {}, 7);
  return program;
}

TEST_CASE("an optimum is proved in exact arithmetic", "[synthesis][flows]") {
  const ExactOptimum optimum = solve_exactly(corner_program(), "corner");
  CHECK(optimum.solution.cost == Rational(-11));
  CHECK(optimum.certificate.bound == Rational(-11));
  CHECK(check_dual(optimum.certificate).empty());
  CHECK(check_solution(corner_program(), optimum.solution.values, Rational(-11)).empty());
  ExactProgram thirds;  // min x + y, 3x + y >= 1, x + 3y >= 1: 1/2 at (1/4, 1/4)
  thirds.add_column(1);
  thirds.add_column(1);
  thirds.add_row({{0, 3}, {1, 1}}, 1, {});
  thirds.add_row({{0, 1}, {1, 3}}, 1, {});
  CHECK(solve_exactly(thirds, "thirds").certificate.bound == Rational(1, 2));
}

TEST_CASE("altered certificates are refused", "[synthesis][flows]") {
  const DualCertificate good = solve_exactly(corner_program(), "corner").certificate;
  const auto refused = [&](auto change, const std::string& text) {
    DualCertificate bad = good;
    change(bad);
    INFO(check_dual(bad));
    CHECK(contains(check_dual(bad), text));
  };
  refused([](auto& c) { c.bound += Rational(1, 1000000); }, "the certificate states");
  refused([](auto& c) { c.duals[0] = Rational(-5, 2); }, "the dual values prove -23/2");
  refused([](auto& c) { c.duals[0] = Rational(1); }, "but no lower bound");
  refused([](auto& c) { c.duals.pop_back(); }, "1 dual values");
  refused([](auto& c) { c.program.columns[1].cost = -3; }, "column 1 has the reduced cost");
  refused([](auto& c) { c.program.rows[0].upper = 5; }, "the certificate states");
  refused([](auto& c) { c.program.rows[0].terms[0].column = 7; }, "names column 7");
  refused([](auto& c) { c.program.rows[0].terms[0].column = 1; }, "names column 1 twice");
  CHECK(contains(check_solution(corner_program(), {Rational(3), Rational(2)}, Rational(-13)),
                 "row 0 has the value 5,"));
  CHECK(contains(check_solution(corner_program(), {Rational(4), Rational(0)}, Rational(-12)),
                 "column 0 has the value"));
  CHECK(contains(check_solution(corner_program(), {Rational(3), Rational(1)}, Rational(-12)),
                 "cost -11; expected -12"));
}

TEST_CASE("a bound that does not fit into 64 bits is refused, and smaller parts of it are not",
          "[synthesis][flows]") {
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;
  ExactProgram program;  // rows without terms: the bound is the sum of the dual values
  program.add_row({}, 1, {});
  program.add_row({}, 1, {});
  const auto problem = [&](const Rational& one, const Rational& other, const Rational& bound) {
    return check_dual({.program = program, .duals = {one, other}, .bound = bound});
  };
  CHECK(contains(problem({1, kLarge}, {1, kLarge - 1}, {1, kLarge}), "does not fit"));
  CHECK(problem({1, kLarge}, {1, kLarge}, {1, kLarge / 2}) == "");
  // Large numbers in between cancel.
  CHECK(problem({kLarge - 2, kLarge - 1}, {1, kLarge - 1}, Rational(1)) == "");
}

TEST_CASE("programs without an optimum are refused", "[synthesis][flows]") {
  ExactProgram empty = corner_program();
  empty.add_row({{0, 1}}, 5, {});
  CHECK(contains(thrown([&] { return solve_exactly(empty, "this one"); }),
                 "this one has no solution"));
  ExactProgram open;
  open.add_column(-1);
  CHECK(contains(thrown([&] { return solve_exactly(open, "this one"); }), "no finite optimum"));
}

TEST_CASE("random programs: bound and solution agree exactly", "[synthesis][flows]") {
  std::mt19937_64 random(3);
  const auto number = [&](int range) {
    return static_cast<std::int64_t>(random() % at(range)) + 1;
  };
  for (int trial = 0; trial < 200; ++trial) {
    ExactProgram program;  // packing: feasible at 0, bounded by the rows
    for (int k = 0; k < 6; ++k) program.add_column(-number(9));
    for (int row = 0; row < 6; ++row) {
      std::vector<ExactTerm> terms;
      for (int k = 0; k < 6; ++k) terms.push_back({k, number(9)});
      program.add_row(terms, {}, number(50));
    }
    const ExactOptimum optimum = solve_exactly(program, "packing");
    CHECK(optimum.solution.cost == optimum.certificate.bound);
    CHECK(check_dual(optimum.certificate).empty());
    CHECK(check_solution(program, optimum.solution.values, optimum.solution.cost).empty());
  }
}

}  // namespace
}  // namespace cclgym::test
