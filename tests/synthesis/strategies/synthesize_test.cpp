// Tests of the synthesis of programs: the published fronts and optima, and the alpha-beta formula.
#include "synthesis/strategies/synthesize.hpp"

#include <algorithm>

#include "collectives/verifier/verify.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/shipped_fabric.hpp"
#include "support/thrown.hpp"
#include "synthesis/jumping_clock.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

const SynthesizedProgram* find(const Synthesis& made, const std::string& name) {
  for (const SynthesizedProgram& program : made.programs) {
    if (program.name == name) return &program;
  }
  return nullptr;
}

Synthesis steps_of(const Fabric& fabric, CollectiveKind collective) {
  return synthesize(fabric, collective, {.throughput = false});
}

TEST_CASE("AllGather on a DGX-1: the front of SCCL with its bounds", "[synthesis][strategies]") {
  const Synthesis made = steps_of(*fabric_of("dgx1"), CollectiveKind::AllGather);
  CHECK(made.min_steps == 2);
  CHECK(made.min_rounds == Rational(7, 6));
  const SynthesizedProgram* fast = find(made, "allgather-2-2-3");
  const SynthesizedProgram* wide = find(made, "allgather-6-3-7");
  REQUIRE(fast != nullptr);
  REQUIRE(wide != nullptr);
  CHECK(fast->rounds_per_chunk() == Rational(3, 2));
  CHECK(fast->optimal == "latency");
  CHECK(wide->rounds_per_chunk() == Rational(7, 6));
  CHECK(wide->optimal == "bandwidth");
  for (const SynthesizedProgram& program : made.programs) {
    INFO(program.name);
    CHECK(verify(*program.program).ok);
    CHECK(program.program->contract.kind() == CollectiveKind::AllGather);
  }
  CHECK(find(made, "allgather-6-3-7-r4")->program->channels == 4 * wide->program->channels);
}

TEST_CASE("reductions and AllReduce on a DGX-1 have the costs of Table 4",
          "[synthesis][strategies]") {
  const auto dgx1 = fabric_of("dgx1");
  CHECK(find(steps_of(*dgx1, CollectiveKind::ReduceScatter), "reducescatter-6-3-7") != nullptr);
  const Synthesis both = steps_of(*dgx1, CollectiveKind::AllReduce);
  // The diameter: an AllReduce need not be a ReduceScatter and an AllGather.
  CHECK(both.min_steps == 2);
  CHECK(both.min_rounds == Rational(7, 24));
  REQUIRE(find(both, "allreduce-16-4-6") != nullptr);
  REQUIRE(find(both, "allreduce-48-6-14") != nullptr);
  CHECK(find(both, "allreduce-48-6-14")->optimal == "bandwidth");
  const Synthesis exchange = steps_of(*dgx1, CollectiveKind::AllToAll);
  CHECK(exchange.min_rounds == Rational(1, 3));
  REQUIRE(find(exchange, "alltoall-8-2-3") != nullptr);
}

TEST_CASE("shares of any size per root beat ReduceScatter and AllGather after a failure",
          "[synthesis][strategies]") {
  // 550/7 GB/s instead of 400/7 without link gpu0-gpu4, in units of 25 GB/s: 22/7 and 16/7.
  const Synthesis made =
      synthesize(*fabric_of("dgx1", 1, "gpu0:gpu4"), CollectiveKind::AllReduce, {.pareto = false});
  CHECK(made.min_rounds == Rational(7, 22));
  const SynthesizedProgram* shares = find(made, "allreduce-shares-22");
  REQUIRE(shares != nullptr);
  CHECK(shares->rounds_per_chunk() == Rational(7, 22));
  CHECK(shares->optimal == "bandwidth");
  const SynthesizedProgram* trees = find(made, "allreduce-trees-4");
  REQUIRE(trees != nullptr);
  CHECK(trees->rounds_per_chunk() == Rational(7, 16));
}

TEST_CASE("clusters get shallow trees at the optimum", "[synthesis][strategies]") {
  const Synthesis made =
      synthesize(*fabric_of("ndv4", 4), CollectiveKind::AllGather, {.pareto = false});
  REQUIRE(made.programs.size() == 1);
  const SynthesizedProgram& rails = made.programs.front();
  CHECK(rails.name == "allgather-rails");
  CHECK(rails.steps == 3);
  CHECK(rails.rounds_per_chunk() == Rational(1, 8));
  CHECK(made.min_rounds == Rational(1, 8));
  CHECK(verify(*rails.program).ok);
}

TEST_CASE("rooted collectives and groups have trees", "[synthesis][strategies]") {
  const auto dgx1 = fabric_of("dgx1");
  const Synthesis broadcast =
      synthesize(*dgx1, CollectiveKind::Broadcast, {.root = 3, .pareto = false});
  REQUIRE(broadcast.programs.size() == 1);
  CHECK(broadcast.programs.front().program->contract.root() == 3);
  CHECK(broadcast.programs.front().rounds_per_chunk() == Rational(1, 6));
  const Synthesis four =
      synthesize(*dgx1, CollectiveKind::AllGather, {.group = {0, 1, 2, 3}, .pareto = true});
  REQUIRE_FALSE(four.programs.empty());
  CHECK(contains(four.notes.front(), "not for a group"));
  CHECK(four.min_rounds == Rational(1, 2));
}

TEST_CASE("a root with too many optimal trees gets few", "[synthesis][strategies]") {
  // 192 GB/s enter the other server through 8 NICs: 8 trees, one on each.
  const Synthesis made =
      synthesize(*fabric_of("ndv4", 2), CollectiveKind::Broadcast, {.pareto = false});
  REQUIRE(made.programs.size() == 1);
  CHECK(made.programs.front().name == "broadcast-trees-8");
  CHECK(made.programs.front().rounds_per_chunk() == Rational(1, 192));
  CHECK(made.min_rounds == Rational(1, 192));
}

TEST_CASE("AllToAll has programs of flows, also above 16 ranks", "[synthesis][strategies]") {
  const Synthesis one = synthesize(*fabric_of("dgx1"), CollectiveKind::AllToAll, {.pareto = false});
  const SynthesizedProgram* exact = find(one, "alltoall-flows-3");
  REQUIRE(exact != nullptr);
  CHECK(exact->rounds_per_chunk() == Rational(1, 3));
  CHECK(exact->optimal == "bandwidth");
  CHECK(find(one, "alltoall-flows-1")->rounds_per_chunk() == Rational(3, 8));
  // (N - 8) / 192 rounds of a GB/s pass the NICs of ndv4.
  const Synthesis many =
      synthesize(*fabric_of("ndv4", 4), CollectiveKind::AllToAll, {.pareto = false});
  REQUIRE(many.programs.size() == 1);
  CHECK(many.programs.front().rounds_per_chunk() == many.min_rounds);
  CHECK(many.min_rounds * 32 == Rational(1));
  const Synthesis four = synthesize(*fabric_of("dgx1"), CollectiveKind::AllToAll,
                                    {.group = {0, 1, 3, 5}, .pareto = false});
  REQUIRE_FALSE(four.programs.empty());
  CHECK(four.programs.back().optimal == "bandwidth");
}

TEST_CASE("AllReduce between one and two parts per root", "[synthesis][strategies]") {
  const Synthesis made =
      synthesize(*fabric_of("amd-mi250x", 2), CollectiveKind::AllReduce, {.pareto = false});
  const SynthesizedProgram* parts = find(made, "allreduce-parts-48");
  REQUIRE(parts != nullptr);
  // 0.8 % above the bound.
  CHECK(parts->rounds_per_chunk() == made.min_rounds * Rational(126, 125));
  CHECK(parts->program->channels <= 32);
}

TEST_CASE("the formula: S alpha + R L beta, and with tiles what the pipeline adds",
          "[synthesis][strategies]") {
  const Synthesis made = steps_of(*fabric_of("dgx1"), CollectiveKind::AllGather);
  const SynthesizedProgram& fast = *find(made, "allgather-2-2-3");
  // 8 ranks x 2 chunks of 25 kB: a round of 25 GB/s takes 1 us; alpha is 0.7 us.
  CHECK(fast.estimate_s(16 * 25'000) == Approx(2 * 0.7e-6 + 3 * 1e-6));
  CHECK(find(made, "allgather-2-2-3-r8")->estimate_s(16 * 25'000) == Approx(4.4e-6));
  CHECK(fast.best_tile(1 << 20) == 0);
  const Synthesis trees =
      synthesize(*fabric_of("dgx1"), CollectiveKind::AllGather, {.pareto = false});
  const SynthesizedProgram& six = *find(trees, "allgather-trees-6");
  REQUIRE(six.best_tile(std::uint64_t{1} << 30U) > 0);
  const std::uint64_t tile = six.best_tile(std::uint64_t{1} << 30U);
  // Large calls come near the bound of 1200/7 GB/s.
  const double algbw_Bps = (1ULL << 30U) / six.estimate_s(std::uint64_t{1} << 30U, tile);
  CHECK(algbw_Bps > 0.9 * 1200e9 / 7);
  CHECK(algbw_Bps < 1200e9 / 7);
}

TEST_CASE("limits and wrong requests are said", "[synthesis][strategies]") {
  const auto dgx1 = fabric_of("dgx1");
  CHECK(contains(thrown([&] { return synthesize(*dgx1, CollectiveKind::AllToNext).min_steps; }),
                 "there is no synthesis of alltonext; expected one of allreduce"));
  CHECK(
      contains(thrown([&] {
                 return synthesize(*dgx1, CollectiveKind::AllGather, {.time_limit_s = 0}).min_steps;
               }),
               "the time limit is 0 s"));
  CHECK(contains(thrown([&] {
                   return synthesize(*dgx1, CollectiveKind::AllGather, {.group = {2}}).min_steps;
                 }),
                 "a group of 1 rank"));
  CHECK(contains(
      thrown([&] { return synthesize(*dgx1, CollectiveKind::Broadcast, {.root = 8}).min_steps; }),
      "root 8"));
  const Synthesis large = synthesize(*fabric_of("ndv4", 4), CollectiveKind::AllGather);
  CHECK(contains(large.notes.front(), "up to 16 ranks"));
}

TEST_CASE("at the time limit a synthesis has its bounds and what it found, and goes on from there",
          "[synthesis][strategies]") {
  const auto dgx1 = fabric_of("dgx1");
  SearchMemory memory;
  SynthesisOptions options{.throughput = false,
                           .time_limit_s = 1,
                           .clock = late_after(1),
                           .certificates = true,
                           .memory = &memory};
  const Synthesis nothing = synthesize(*dgx1, CollectiveKind::AllReduce, options);
  CHECK(nothing.programs.empty());
  CHECK(nothing.min_rounds > Rational(0));
  CHECK(memory.decided.empty());
  options.clock = [] { return 0.0; };
  const Synthesis whole = synthesize(*dgx1, CollectiveKind::AllReduce, options);
  REQUIRE_FALSE(whole.programs.empty());
  CHECK_FALSE(memory.decided.empty());
  // The answers are there: the same programs without any search, and the same certificates.
  int searches = 0;
  options.on_search = [&](const SearchedTriple&) { ++searches; };
  options.proofs = whole.certificates;
  const Synthesis again = synthesize(*dgx1, CollectiveKind::AllReduce, options);
  CHECK(searches == 0);
  REQUIRE(again.programs.size() == whole.programs.size());
  for (std::size_t k = 0; k < whole.programs.size(); ++k) {
    CHECK(again.programs[k].name == whole.programs[k].name);
  }
  CHECK(again.certificates.size() == whole.certificates.size());
}

TEST_CASE("a part of a front says how far it is from the bound", "[synthesis][strategies]") {
  const auto dgx1 = fabric_of("dgx1");
  SearchMemory memory;
  (void)synthesize(*dgx1, CollectiveKind::AllGather, {.throughput = false, .memory = &memory});
  // As if the time had been over after the first point of the front, (2, 2, 3) of 3/2.
  REQUIRE(memory.decided.size() == 2);
  memory.decided.pop_back();
  const Synthesis part = synthesize(
      *dgx1, CollectiveKind::AllGather,
      {.throughput = false, .time_limit_s = 1, .clock = late_after(1), .memory = &memory});
  REQUIRE_FALSE(part.programs.empty());
  REQUIRE_FALSE(part.notes.empty());
  CHECK(part.programs.front().name == "allgather-2-2-3");
  CHECK(part.notes.back() ==
        "The search stopped early: the best program has R/C 3/2, 28.6 % more than the bound 7/6.");
}

}  // namespace
}  // namespace cclgym::test
