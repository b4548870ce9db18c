#include "collectives/verifier/interpreter.hpp"

#include <random>

#include "collectives/compiler/compile.hpp"
#include "collectives/verifier/mutations.hpp"
#include "collectives/verifier/numeric_oracle.hpp"
#include "collectives/verifier/verify.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/shipped_algorithms.hpp"

using namespace cclgym;

namespace {

AlgorithmRequest request_for(CollectiveKind kind, int ranks) {
  AlgorithmRequest request;
  request.collective = kind;
  request.ranks = ranks;
  request.channels = 1 + ranks % 2;
  request.root = ranks / 3;
  request.compile = {};
  return request;
}

}  // namespace

TEST_CASE("interpreter: shipped programs are right in every order and with any slots",
          "[collectives][interpreter]") {
  for (const AlgorithmEntry& algorithm : shipped_algorithms()) {
    for (const CollectiveKind kind : algorithm.collectives) {
      for (const int ranks : {2, 3, 8}) {
        if (check_ranks(algorithm.name, ranks)) continue;
        const auto program = build_algorithm(algorithm.name, request_for(kind, ranks));
        for (const std::int32_t slots : {2, 3, 8}) {
          const ExecuteReport report =
              execute(*program, {.interleavings = 8, .seed = 5, .slots = slots});
          INFO(algorithm.name << " " << to_string(kind) << " " << ranks << "\n"
                              << report.to_string());
          REQUIRE(report.ok);
          CHECK(report.interleavings == 8);
        }
        auto single = request_for(kind, ranks);
        single.compile.slots = 1;
        REQUIRE(execute(*build_algorithm(algorithm.name, single), {.slots = 1}).ok);
      }
    }
  }
}

TEST_CASE("interpreter: finds and names deadlocks, races and wrong data",
          "[collectives][interpreter]") {
  const auto ring = build_algorithm("ring", request_for(CollectiveKind::AllReduce, 4));
  const ExecuteReport stuck = execute(*ring, {.slots = 1});
  CHECK_FALSE(stuck.ok);
  CHECK(stuck.interleavings == 1);
  CHECK(stuck.problems.at(0).starts_with("deadlock: rank 0, thread block 0, step 1: recv"));

  ThreadBlockProgram wrong = *ring;
  for (Instruction& step : wrong.gpus[2].thread_blocks[0].steps) {
    if (step.opcode == Opcode::RecvReduceSend) step.opcode = Opcode::RecvReduceCopySend;
    if (step.opcode == Opcode::RecvReduceCopySend) step.source.index ^= 1;
  }
  const ExecuteReport data = execute(wrong);
  CHECK_FALSE(data.ok);
  CHECK(data.to_string().find("wrong output: rank") != std::string::npos);

  // Two blocks add to one place, which is correct only if one is done before the other begins.
  ThreadBlockProgram racy;
  racy.name = "racy";
  racy.contract = Contract::make(CollectiveKind::Reduce, 3, 1, true);
  racy.gpus.resize(3);
  for (GpuProgram& gpu : racy.gpus) gpu.input_chunks = gpu.output_chunks = 1;
  for (const int from : {1, 2}) {
    racy.gpus[0].thread_blocks.push_back({-1, from, 0, {{Opcode::RecvReduceCopy, {}, {}, 1, {}}}});
    racy.gpus[static_cast<std::size_t>(from)].thread_blocks.push_back(
        {0, -1, 0, {{Opcode::Send, {}, {}, 1, {}}}});
  }
  CHECK_FALSE(verify(racy).ok);
  CHECK_FALSE(execute(racy, {.interleavings = 64}).ok);
  racy.gpus[0].thread_blocks[1].steps[0].dependencies = {{0, 0}};
  CHECK(verify(racy).ok);
  CHECK(execute(racy, {.interleavings = 64}).ok);

  // Unconstrained outputs must still be the same in every order.
  racy.contract = Contract::custom("anything", 3, {1, 1, 1}, {1, 1, 1}, nullptr);
  racy.gpus[0].thread_blocks[0].steps[0].target = {Buffer::Output, 0};
  racy.gpus[0].thread_blocks[1].steps[0].target = {Buffer::Output, 0};
  racy.gpus[0].thread_blocks[1].steps[0].dependencies = {};
  CHECK_FALSE(verify(racy).ok);
  CHECK(execute(racy, {.interleavings = 64}).to_string().find("race: rank 0 output[0] holds ") ==
        0);
  racy.gpus[0].thread_blocks[1].steps[0].dependencies = {{0, 0}};
  CHECK(verify(racy).ok);
  CHECK(execute(racy, {.interleavings = 64}).ok);

  CHECK_THROWS_AS(execute(racy, {.slots = 9}), UserError);
  CHECK_THROWS_AS(execute(racy, {.interleavings = 0}), UserError);
}

TEST_CASE("interpreter: agrees with the tests' oracle, and the verifier finds the same errors",
          "[collectives][interpreter]") {
  std::mt19937_64 random(11);
  int found = 0;
  for (int round = 0; round < 600; ++round) {
    const AlgorithmEntry& algorithm = shipped_algorithms()[random() % shipped_algorithms().size()];
    const CollectiveKind kind = algorithm.collectives[random() % algorithm.collectives.size()];
    const int ranks = 2 << (random() % 2);
    const auto program = build_algorithm(algorithm.name, request_for(kind, ranks));
    const auto mutant = test::mutate(*program, random);
    if (!mutant) continue;
    const VerifyReport report = verify(mutant->program);
    if (report.to_string().find("out of range") != std::string::npos) continue;
    if (report.to_string().find("peer") != std::string::npos) continue;
    const ExecuteReport executed =
        execute(mutant->program, {.interleavings = 8, .seed = random(), .slots = 8});
    INFO(mutant->what << " of " << algorithm.name << " " << to_string(kind) << "\n"
                      << executed.to_string());
    if (!executed.ok) {
      REQUIRE_FALSE(verify(mutant->program, {.slots = 8}).ok);
      ++found;
    } else if (report.ok) {
      test::NumericMemory memory(program->contract, test::scratch_of(mutant->program), 1);
      REQUIRE(test::interpret(mutant->program, memory, random()) == test::Outcome::Right);
    }
  }
  CHECK(found > 100);
}
