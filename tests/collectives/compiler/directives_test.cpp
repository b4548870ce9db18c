// Tests of the directives of the chunk DSL: parallel scopes, some of their instances, instances of
// a program.
#include <string>

#include "collectives/buffers.hpp"
#include "collectives/compiler/compile.hpp"
#include "collectives/library/algorithm_library.hpp"
#include "collectives/verifier/verify.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/shipped_algorithms.hpp"

namespace cclgym::test {

TEST_CASE("directives: a scope of some instances moves their parts on their channels",
          "[collectives][compiler]") {
  // Five parts of a slice: the even ones go around the ring one way and the odd ones the other.
  const auto trace = [](int first_of_odd) {
    ProgramBuilder p("test", Contract::make(CollectiveKind::ReduceScatter, 3, 1, true));
    for (const bool odd : {false, true}) {
      const auto scope = p.parallelize(5, odd ? first_of_odd : 0, 2);
      for (int slice = 0; slice < 3; ++slice) {
        ChunkRef c = p.chunk((slice + (odd ? 2 : 1)) % 3, kIn, slice);
        for (const int step : {2, 3}) {
          const int next = (slice + (odd ? 6 - step : step)) % 3;
          c = p.chunk(next, kIn, slice).reduce(c, {.channel = 0});
        }
      }
    }
    return p.finish();
  };
  const Program program = trace(1);
  CHECK(program.channels == 5);
  CHECK(verify(program).ok);
  for (const bool fuse : {false, true}) {
    const ThreadBlockProgram compiled = compile(program, {.fuse = fuse, .share_blocks = false});
    CHECK(verify(compiled).ok);
    for (int rank = 0; rank < 3; ++rank) {
      for (const ThreadBlock& block :
           compiled.gpus.at(static_cast<std::size_t>(rank)).thread_blocks) {
        const int next = block.channel % 2 == 0 ? 1 : 2;
        if (block.send_peer >= 0) CHECK(block.send_peer == (rank + next) % 3);
        for (const Instruction& step : block.steps) CHECK(step.count == 1);
      }
    }
  }
  // Without the parts 1 and 3, their sums are missing; with part 2 both ways, it is added twice.
  CHECK_FALSE(verify(trace(2)).ok);
  CHECK_FALSE(verify(compile(trace(2))).ok);
}

TEST_CASE("directives: scopes of some instances that mean nothing are refused",
          "[collectives][compiler]") {
  ProgramBuilder p("test", Contract::make(CollectiveKind::AllToNext, 2, 1));
  const auto error = [&p](int instances, int first, int step) -> std::string {
    try {
      (void)p.parallelize(instances, first, step);
    } catch (const UserError& refused) {
      return refused.what();
    }
    return "no error";
  };
  const auto says = [](const std::string& message, const char* part) {
    INFO(message);
    return message.find(part) != std::string::npos;
  };
  CHECK(says(error(4, 4, 1), "expected a first instance of 0 to 3"));
  CHECK(says(error(4, -1, 1), "parallelize(4, -1, 1)"));
  CHECK(says(error(4, 0, 0), "a step of at least 1"));
  {
    const auto scope = p.parallelize(4, 1, 2);
    CHECK(says(error(2, 0, 1), "cannot be nested"));
  }
  const auto scope = p.parallelize(2);
  CHECK(says(error(4, 1, 2), "cannot be nested"));
  CHECK(error(2, 0, 1) == "no error");
}

TEST_CASE("directives: parallel scopes and instances get separate channels",
          "[collectives][compiler]") {
  ProgramBuilder p("test", Contract::make(CollectiveKind::AllToNext, 2, 1));
  {
    const auto scope = p.parallelize(2);
    const auto inner = p.parallelize(3);
    (void)p.chunk(0, kIn, 0).copy(1, kOut, 0, {.channel = 1});
  }
  const Program program = p.finish();
  CHECK(program.channels == 7);
  CHECK(program.operations.at(0).parallel == 6);
  const ThreadBlockProgram once = compile(program);
  CHECK(verify(once).ok);
  CHECK(once.gpus[0].thread_blocks.size() == 6);
  CHECK(once.gpus[0].input_chunks == 6);
  for (const auto policy : {InstancePolicy::Interleaved, InstancePolicy::Batched}) {
    const ThreadBlockProgram twice = compile(program, {.instances = 2, .policy = policy});
    CHECK(verify(twice).ok);
    CHECK(twice.channels == 14);
    CHECK(twice.gpus[0].thread_blocks.size() == 12);
    CHECK(twice.gpus[0].input_chunks == 12);
    CHECK(twice.gpus[0].thread_blocks[1].channel == 2);
    CHECK(twice.gpus[0].thread_blocks[1].steps.at(0).source.index ==
          (policy == InstancePolicy::Interleaved ? 2 : 1));
  }
  CHECK_THROWS_AS(compile(program, {.instances = 0}), UserError);
  CHECK_THROWS_AS(compile(program, {.slots = 0}), UserError);
  AlgorithmRequest request;
  request.collective = CollectiveKind::AllGather;
  request.ranks = 2;
  request.compile.instances = 2;
  CHECK(build_algorithm("ring", request)->contract.chunks() == 2);
  request.compile.policy = InstancePolicy::Batched;
  CHECK_THROWS_AS(build_algorithm("ring", request), UserError);
}

}  // namespace cclgym::test
