#include "collectives/program.hpp"

#include <functional>
#include <string>

#include "collectives/buffers.hpp"
#include "collectives/compiler/compile.hpp"
#include "collectives/verifier/verify.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"

using namespace cclgym;

namespace {

/// The message of the UserError that `body` throws.
std::string error_of(const Contract& contract, const std::function<void(ProgramBuilder&)>& body) {
  ProgramBuilder p("test", contract);
  try {
    body(p);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

const Contract kAllReduce = Contract::make(CollectiveKind::AllReduce, 3, 4);

}  // namespace

TEST_CASE("program: operations are traced as written", "[collectives][program]") {
  ProgramBuilder p("test", kAllReduce);
  const ChunkRef c = p.chunk(0, kIn, 1, 2).copy(1, kScratch, 5, {.channel = 2});
  CHECK(c.rank() == 1);
  CHECK(c.buffer() == kScratch);
  CHECK(c.index() == 5);
  CHECK(c.count() == 2);
  const ChunkRef sum = p.chunk(2, kIn, 0, 2).reduce(c);
  CHECK(sum.rank() == 2);
  CHECK(sum.index() == 0);
  const Program program = p.finish();
  CHECK(program.name == "test");
  CHECK(program.channels == 3);
  CHECK(program.scratch_chunks == std::vector<std::int32_t>{0, 7, 0});
  REQUIRE(program.operations.size() == 2);
  CHECK(program.operations[0] ==
        Operation{OperationKind::Copy, 2, 2, {0, kIn, 1}, {1, kScratch, 5}});
  CHECK(program.operations[1] ==
        Operation{OperationKind::Reduce, kAutoChannel, 2, {1, kScratch, 5}, {2, kIn, 0}});
}

TEST_CASE("program: the freshness rule", "[collectives][program]") {
  CHECK(error_of(kAllReduce,
                 [](ProgramBuilder& p) {
                   const ChunkRef old = p.chunk(2, kIn, 3);
                   (void)p.chunk(2, kIn, 3).reduce(p.chunk(0, kIn, 3));
                   (void)p.chunk(1, kIn, 3).reduce(old);
                 }) ==
        "program 'test', operation 1: reduce of rank 2 input[3] into rank 1 input[3]: stale "
        "reference, rank 2 input[3] was overwritten by operation 0 (reduce of rank 0 input[3] into "
        "rank 2 input[3])");
  // The target of a reduction is also a use.
  CHECK(
      error_of(kAllReduce,
               [](ProgramBuilder& p) {
                 const ChunkRef old = p.chunk(2, kIn, 0, 4);
                 (void)p.chunk(0, kIn, 0).copy(2, kIn, 2);
                 (void)old.reduce(p.chunk(1, kIn, 0, 4));
               }) ==
      "program 'test', operation 1: reduce of rank 1 input[0..3] into rank 2 input[0..3]: stale "
      "reference, rank 2 input[2] was overwritten by operation 0 (copy of rank 0 input[0] to rank "
      "2 input[2])");
  // In place, Output is another name of the place.
  CHECK(error_of(Contract::make(CollectiveKind::AllReduce, 3, 4, true),
                 [](ProgramBuilder& p) {
                   const ChunkRef old = p.chunk(2, kIn, 3);
                   (void)p.chunk(0, kIn, 3).copy(2, kOut, 3);
                   (void)old.copy(1, kOut, 0);
                 })
            .find("stale reference, rank 2 input[3] was overwritten by operation 0") !=
        std::string::npos);
}

TEST_CASE("program: neither reads nor writes elsewhere make a reference stale",
          "[collectives][program]") {
  CHECK(error_of(kAllReduce, [](ProgramBuilder& p) {
          const ChunkRef c = p.chunk(0, kIn, 0);
          (void)c.copy(1, kOut, 0);
          (void)c.copy(2, kOut, 0);
          const ChunkRef d = c.copy(0, kOut, 0);
          (void)c.copy(0, kOut, 1);
          (void)d.copy(1, kOut, 1);
        }) == "no error");
}

TEST_CASE("program: every misuse is an error that names the operation", "[collectives][program]") {
  const auto expect = [](const std::function<void(ProgramBuilder&)>& body,
                         const std::string& text) {
    CHECK(error_of(kAllReduce, body) == "program 'test', operation " + text);
  };
  expect([](ProgramBuilder& p) { (void)p.chunk(1, kOut, 2); },
         "0: chunk of rank 1 output[2]: nothing has been written to rank 1 output[2] yet");
  expect([](ProgramBuilder& p) { (void)p.chunk(1, kScratch, 2, 3); },
         "0: chunk of rank 1 scratch[2..4]: nothing has been written to rank 1 scratch[2] yet");
  expect([](ProgramBuilder& p) { (void)p.chunk(1, kIn, 3, 2); },
         "0: chunk of rank 1 input[3..4]: index out of range: the input buffer of rank 1 has 4 "
         "chunks");
  expect([](ProgramBuilder& p) { (void)p.chunk(1, kIn, -1); },
         "0: chunk of rank 1 input[-1]: index out of range: the input buffer of rank 1 has 4 "
         "chunks");
  expect([](ProgramBuilder& p) { (void)p.chunk(3, kIn, 0); }, "0: no rank 3; expected 0 to 2");
  expect([](ProgramBuilder& p) { (void)p.chunk(0, kIn, 0, 0); },
         "0: chunk of rank 0 input[0]: count 0; expected at least 1");
  expect(
      [](ProgramBuilder& p) {
        (void)p.chunk(0, kIn, 0).copy(1, kOut, 0);
        (void)p.chunk(0, kIn, 0).copy(-1, kOut, 0);
      },
      "1: copy of rank 0 input[0] to rank -1 output[0]: no rank -1; expected 0 to 2");
  expect([](ProgramBuilder& p) { (void)p.chunk(0, kIn, 0, 2).copy(1, kOut, 3); },
         "0: copy of rank 0 input[0..1] to rank 1 output[3..4]: index out of range: the output "
         "buffer of rank 1 has 4 chunks");
  expect(
      [](ProgramBuilder& p) { (void)p.chunk(0, kIn, 0).copy(1, kScratch, 1 << 30); },
      "0: copy of rank 0 input[0] to rank 1 scratch[1073741824]: index out of range: the scratch "
      "buffer of rank 1 has 16777216 chunks");
  expect([](ProgramBuilder& p) { (void)p.chunk(0, kIn, 0).copy(0, kIn, 0); },
         "0: copy of rank 0 input[0] to rank 0 input[0]: source and target are the same place");
  expect([](ProgramBuilder& p) { (void)p.chunk(0, kIn, 0, 2).copy(0, kIn, 1); },
         "0: copy of rank 0 input[0..1] to rank 0 input[1..2]: source and target overlap");
  expect(
      [](ProgramBuilder& p) {
        const ChunkRef c = p.chunk(0, kIn, 0);
        (void)c.reduce(c);
      },
      "0: reduce of rank 0 input[0] into rank 0 input[0]: source and target are the same place");
  expect([](ProgramBuilder& p) { (void)p.chunk(0, kIn, 0, 2).reduce(p.chunk(1, kIn, 0)); },
         "0: reduce of rank 1 input[0..1] into rank 0 input[0..1]: 1 chunks added to 2; expected "
         "equal counts");
  expect([](ProgramBuilder& p) { (void)p.chunk(0, kIn, 0).copy(1, kOut, 0, {.channel = -2}); },
         "0: copy of rank 0 input[0] to rank 1 output[0]: channel -2; expected at least 0");
}

TEST_CASE("program: a reference belongs to one builder, which can finish only once",
          "[collectives][program]") {
  ProgramBuilder a("a", kAllReduce);
  ProgramBuilder b("b", kAllReduce);
  CHECK_THROWS_AS(a.chunk(0, kIn, 0).reduce(b.chunk(1, kIn, 0)), UserError);
  const ChunkRef c = a.chunk(0, kIn, 0);
  (void)c.copy(1, kOut, 0);
  (void)a.finish();
  CHECK_THROWS_AS(c.copy(1, kOut, 1), UserError);
  CHECK_THROWS_AS(a.chunk(0, kIn, 0), UserError);
  CHECK_THROWS_AS(a.finish(), UserError);
}

TEST_CASE("program: a Broadcast's input is initialised at the root only",
          "[collectives][program]") {
  const Contract broadcast = Contract::make(CollectiveKind::Broadcast, 3, 1, true, 1);
  CHECK(error_of(broadcast, [](ProgramBuilder& p) { (void)p.chunk(0, kIn, 0); }) ==
        "program 'test', operation 0: chunk of rank 0 input[0]: nothing has been written to rank 0 "
        "input[0] yet");
  CHECK(error_of(broadcast, [](ProgramBuilder& p) { (void)p.chunk(1, kIn, 0); }) == "no error");
}
