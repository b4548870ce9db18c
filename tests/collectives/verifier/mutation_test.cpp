// The verifier must reject every mutant of a correct program that gives a wrong result, or stops,
// in some order of execution. The numeric interpreter determines wrong results.
#include <map>
#include <string>

#include "collectives/compiler/compile.hpp"
#include "collectives/verifier/mutations.hpp"
#include "collectives/verifier/numeric_oracle.hpp"
#include "collectives/verifier/verify.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "support/shipped_algorithms.hpp"

using namespace cclgym;

namespace {

std::vector<Program> correct_programs() {
  std::vector<Program> programs;
  for (const AlgorithmEntry& algorithm : shipped_algorithms()) {
    for (const CollectiveKind kind : algorithm.collectives) {
      for (const int ranks : {2, 3, 4, 5, 8}) {
        if (check_ranks(algorithm.name, ranks)) continue;
        AlgorithmRequest request;
        request.collective = kind;
        request.ranks = ranks;
        request.channels = 1 + ranks % 2;
        request.root = ranks / 3;
        programs.push_back(trace_algorithm(algorithm.name, request));
      }
    }
  }
  return programs;
}

/// True if the program fails in one of a few random orders of execution.
bool fails_in_an_order(const ThreadBlockProgram& program, int orders, std::uint64_t seed) {
  for (int i = 0; i < orders; ++i) {
    const std::uint64_t order = seed * 16 + static_cast<std::uint64_t>(i);
    test::NumericMemory memory(program.contract, test::scratch_of(program), order);
    if (test::interpret(program, memory, order) != test::Outcome::Right) return true;
  }
  return false;
}

struct Tally {
  int mutants = 0;
  int harmful = 0;
  int rejected = 0;
};

}  // namespace

TEST_CASE("mutations: every harmful single mutation is rejected", "[collectives][mutation]") {
  const std::vector<Program> programs = correct_programs();
  std::mt19937_64 random(20240611);
  std::map<std::string, Tally> tallies;
  Tally all;
  const auto judge = [&](const std::string& what, const ThreadBlockProgram& mutant, int orders) {
    const VerifyReport report = verify(mutant);
    const bool harmful = fails_in_an_order(mutant, orders, random());
    Tally& tally = tallies[what];
    for (Tally* each : {&tally, &all}) {
      ++each->mutants;
      each->harmful += harmful ? 1 : 0;
      each->rejected += report.ok ? 0 : 1;
    }
    INFO(what << " of " << mutant.name << " " << mutant.contract.name() << " on "
              << mutant.contract.ranks() << " ranks");
    if (harmful) REQUIRE_FALSE(report.ok);
  };
  for (int round = 0; round < (test::kSanitized ? 1000 : 4000); ++round) {
    const Program& program = programs[random() % programs.size()];
    if (const auto mutant = test::mutate(program, random)) {
      const ThreadBlockProgram compiled = compile(mutant->program);
      judge(mutant->what, compiled, 2);
      // Compiled programs behave like their trace in any order: both checks must agree.
      REQUIRE(verify(mutant->program).ok == verify(compiled).ok);
    }
    if (const auto mutant = test::mutate(compile(program), random)) {
      judge(mutant->what, mutant->program, 8);
    }
  }
  for (const auto& [what, tally] : tallies) {
    INFO(what << ": " << tally.mutants << " mutants, " << tally.harmful << " harmful, "
              << tally.rejected << " rejected");
    CHECK(tally.mutants >= (test::kSanitized ? 10 : 60));
    if (what == "operation: copied twice") {  // this mutation changes nothing, and must pass
      CHECK(tally.rejected == 0);
    } else {
      CHECK(tally.harmful >= (test::kSanitized ? 5 : 40));
    }
  }
  INFO(all.mutants << " mutants, " << all.harmful << " harmful, " << all.rejected << " rejected");
  CHECK(all.harmful >= (test::kSanitized ? 200 : 1000));
}

TEST_CASE("mutations: the unchanged programs are right in every order tried",
          "[collectives][mutation]") {
  for (const Program& program : correct_programs()) {
    const ThreadBlockProgram compiled = compile(program);
    REQUIRE(verify(compiled).ok);
    REQUIRE_FALSE(fails_in_an_order(compiled, 8, 1));
  }
}
