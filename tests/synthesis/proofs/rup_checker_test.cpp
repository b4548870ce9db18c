// Tests of the checker of proofs: proofs of CaDiCaL, and altered ones.
#include "synthesis/proofs/rup_checker.hpp"

#include <fmt/format.h>
#include <random>

#include "core/index.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "synthesis/published_instances.hpp"
#include "synthesis/sccl/solve_steps.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

/// `holes` + 1 pigeons do not fit into `holes` holes.
UnsatCertificate pigeonholes(int holes) {
  SatSolver solver;
  solver.trace_proof();
  std::vector<std::vector<Literal>> in(at(holes + 1));
  for (std::vector<Literal>& pigeon : in) {
    for (int hole = 0; hole < holes; ++hole) pigeon.push_back(solver.new_variable());
    solver.add_clause(pigeon);
  }
  for (int hole = 0; hole < holes; ++hole) {
    for (std::size_t one = 0; one < in.size(); ++one) {
      for (std::size_t other = 0; other < one; ++other) {
        solver.add_clause({-in[one][at(hole)], -in[other][at(hole)]});
      }
    }
  }
  REQUIRE(solver.solve() == SatResult::Unsatisfiable);
  return {solver.dimacs(), solver.close_proof()};
}

TEST_CASE("proofs that pigeons do not fit are accepted", "[synthesis][proofs]") {
  for (int holes = 1; holes <= 8; ++holes) {
    const UnsatCertificate certificate = pigeonholes(holes);
    INFO("holes " << holes << ", proof " << certificate.proof.size() << " bytes");
    CHECK(check_rup(certificate.formula, certificate.proof) == "");
  }
}

TEST_CASE("a proof for a formula with one clause fewer is refused", "[synthesis][proofs]") {
  // Every clause of this formula is needed, so that the rest is satisfiable and has no proof.
  const UnsatCertificate certificate = pigeonholes(4);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < certificate.formula.size();) {
    const std::size_t end = certificate.formula.find('\n', begin);
    lines.push_back(certificate.formula.substr(begin, end - begin + 1));
    begin = end + 1;
  }
  for (std::size_t left_out = 1; left_out < lines.size(); ++left_out) {
    std::string formula = fmt::format("p cnf 20 {}\n", lines.size() - 2);
    for (std::size_t k = 1; k < lines.size(); ++k) {
      if (k != left_out) formula += lines[k];
    }
    INFO("without " << lines[left_out]);
    CHECK_FALSE(check_rup(formula, certificate.proof).empty());
  }
}

TEST_CASE("faults of formulas and proofs are named", "[synthesis][proofs]") {
  const std::string formula = "c two units\np cnf 2 3\n1 2 0\n-1 0\n-2 0\n";
  const std::string empty_clause{"a\0", 2};
  CHECK(check_rup(formula, empty_clause).empty());
  const auto problem = [&](const std::string& proof) { return check_rup(formula, proof); };
  CHECK(contains(problem(""), "does not contain the empty clause"));
  CHECK(contains(problem("a"), "cut off"));
  CHECK(contains(problem("x"), "neither an addition nor a deletion"));
  CHECK(contains(problem(std::string("a\x06\0", 3)), "has variable 3, but the formula has 2"));
  CHECK(contains(problem(std::string("a\x01\0", 3)), "has variable 0"));
  CHECK(contains(problem(std::string("d\x02\x05\0", 4)), "deletes a clause that does not exist"));
  CHECK(problem(empty_clause + empty_clause).empty());
  CHECK(contains(problem(empty_clause + "a"), "line 2 of the proof: it is cut off"));
  // The same lines with a proper deletion: the units stay implied.
  CHECK(problem(std::string("d\x02\x04\0a\0", 6)).empty());
  const std::string weaker = "p cnf 2 2\n1 2 0\n-1 0\n";
  CHECK(
      contains(check_rup(weaker, empty_clause), "line 1 of the proof: its lemma does not follow"));
  CHECK(check_rup(weaker, std::string("a\x04\0", 3)).find("empty clause") != std::string::npos);
  CHECK(contains(check_rup("p cnf 2 3\n1 2 0\n", empty_clause), "its header says 3"));
  CHECK(contains(check_rup("p cnf 1 1\n2 0\n", empty_clause), "clause 1 of the formula"));
  CHECK(contains(check_rup("p cnf x 1\n", empty_clause), "two counts"));
  CHECK(contains(check_rup("1 2 0\n", empty_clause), "p cnf"));
}

TEST_CASE(
    "proofs of random formulas: accepted, and refused with lemmas of literals that do not "
    "follow",
    "[synthesis][proofs]") {
  std::mt19937 random(5);
  int unsatisfiable = 0;
  for (int trial = 0; trial < 200; ++trial) {
    SatSolver solver;
    solver.trace_proof();
    const int variables = 12;
    for (int k = 0; k < variables; ++k) static_cast<void>(solver.new_variable());
    for (int k = 0; k < 56; ++k) {
      std::vector<Literal> clause;
      for (int j = 0; j < 3; ++j) {
        const int variable = 1 + static_cast<int>(random() % 12);
        clause.push_back(random() % 2 == 0 ? variable : -variable);
      }
      solver.add_clause(clause);
    }
    const SatResult result = solver.solve();
    const std::string proof = solver.close_proof();
    INFO("trial " << trial);
    if (result == SatResult::Unsatisfiable) {
      ++unsatisfiable;
      CHECK(check_rup(solver.dimacs(), proof) == "");
    } else {
      // No proof can be accepted for a satisfiable formula.
      const std::string with_empty_clause = proof + std::string{"a\0", 2};
      CHECK_FALSE(check_rup(solver.dimacs(), proof).empty());
      CHECK_FALSE(check_rup(solver.dimacs(), with_empty_clause).empty());
    }
  }
  CHECK(unsatisfiable > 40);
  CHECK(unsatisfiable < 160);
}

TEST_CASE("DGX-1: no AllGather with less than 3/2 rounds per chunk in two steps",
          "[synthesis][proofs]") {
  const Instance instance = dgx1_instance();
  for (const auto& [chunks, rounds] : {std::pair(2, 2), {3, 4}, {4, 5}}) {
    const Demand demand = make_demand(CollectiveKind::AllGather, 8, chunks);
    UnsatCertificate certificate;
    INFO(chunks << " chunks in " << rounds << " rounds");
    REQUIRE(prove_infeasible(instance, demand, 2, rounds, certificate) == SatResult::Unsatisfiable);
    CHECK(check_rup(certificate.formula, certificate.proof).empty());
    // The proof is cut short: it must not be accepted.
    const std::string part = certificate.proof.substr(0, certificate.proof.size() / 2);
    CHECK_FALSE(check_rup(certificate.formula, part).empty());
  }
}

}  // namespace
}  // namespace cclgym::test
