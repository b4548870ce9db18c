// Tests of programs of several kernels: on every GPU a kernel begins when the previous kernel is
// done.
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "collectives/algorithms/kernel_fixtures.hpp"
#include "collectives/buffers.hpp"
#include "collectives/compiler/compile.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "collectives/verifier/deadlock.hpp"
#include "collectives/verifier/interpreter.hpp"
#include "collectives/verifier/mutations.hpp"
#include "collectives/verifier/numeric_oracle.hpp"
#include "collectives/verifier/verify.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/shipped_algorithms.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

ThreadBlockProgram program_of(const Contract& contract,
                              std::vector<std::vector<ThreadBlock>> blocks) {
  ThreadBlockProgram program{.name = "test", .contract = contract, .channels = 1, .gpus = {}};
  for (int rank = 0; rank < contract.ranks(); ++rank) {
    program.gpus.push_back({contract.input_chunks(rank), contract.output_chunks(rank), 2,
                            std::move(blocks[ix(rank)])});
  }
  return program;
}

Instruction send_one(Buffer buffer, int index) {
  return {Opcode::Send, {buffer, index}, {}, 1, {}};
}
Instruction recv_one(Buffer buffer, int index) {
  return {Opcode::Recv, {}, {buffer, index}, 1, {}};
}

}  // namespace

TEST_CASE(
    "kernels: next_kernel begins a kernel for the following operations, if the current one has "
    "any",
    "[collectives][kernels]") {
  ProgramBuilder p("test", anything(2, 2, 2));
  p.next_kernel();
  const ChunkRef c = p.chunk(0, kIn, 0).copy(1, kOut, 0);
  p.next_kernel();
  p.next_kernel();
  (void)c.copy(0, kOut, 0);  // references stay valid in later kernels
  p.next_kernel();
  (void)p.chunk(0, kOut, 0).copy(1, kOut, 1);
  p.next_kernel();
  const Program program = p.finish();
  CHECK(program.kernels() == 3);
  for (int i = 0; i < 3; ++i) CHECK(program.operations[ix(i)].kernel == i);
  CHECK_THROWS_AS(p.next_kernel(), UserError);
  ProgramBuilder many("many", anything(2, 1, 1));
  for (int kernel = 0; kernel < kMostKernels; ++kernel) {
    many.next_kernel();
    (void)many.chunk(0, kIn, 0).copy(1, kOut, 0);
  }
  CHECK_THROWS_AS(many.next_kernel(), UserError);
  CHECK(compile(program).kernels() == 3);
  CHECK(compile(ProgramBuilder("none", anything(2, 1, 1)).finish()).kernels() == 1);
}

TEST_CASE("kernels: each kernel is compiled separately", "[collectives][kernels]") {
  ProgramBuilder p("test", anything(3, 2, 2));
  const ChunkRef c = p.chunk(0, kIn, 0).copy(1, kScratch, 0).copy(2, kScratch, 0);
  p.next_kernel();
  // In a single kernel, this send would be fused with the receive before it, and rank 1 could not
  // send to rank 0 on channel 0.
  (void)c.copy(0, kScratch, 0).copy(1, kOut, 0);
  (void)p.chunk(1, kScratch, 0).copy(0, kOut, 0);
  const Program program = p.finish();
  const ThreadBlockProgram compiled = compile(program);
  CHECK(compiled.channels == 1);
  CHECK(verify(compiled).ok);
  using enum Opcode;
  const auto& blocks = compiled.gpus[1].thread_blocks;
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0].kernel == 0);
  CHECK(opcodes(blocks[0]) == std::vector<Opcode>{RecvCopySend});
  CHECK(blocks[1].kernel == 1);
  CHECK(opcodes(blocks[1]) == std::vector<Opcode>{Send, Recv});
  for (const GpuProgram& gpu : compiled.gpus) {
    for (const ThreadBlock& block : gpu.thread_blocks) {
      for (const Instruction& step : block.steps) CHECK(step.dependencies.empty());
    }
  }
  CHECK(compiled.gpus[2].thread_blocks.size() == 2);  // sends and receives are not fused
  CHECK(compiled.most_resident_blocks() == 2);        // in kernel 1, rank 0 has two senders
  CHECK(describe_step(compiled, 1, 1, 0) ==
        "rank 1, thread block 1 of kernel 1, step 0: send to rank 0 on channel 0");
}

TEST_CASE("kernels: a sum is stored if a later kernel needs it", "[collectives][kernels]") {
  for (const bool needed : {false, true}) {
    ProgramBuilder p("test", anything(3, 1, 1));
    const ChunkRef sum = p.chunk(1, kIn, 0).reduce(p.chunk(0, kIn, 0));
    (void)sum.copy(2, kOut, 0);
    p.next_kernel();
    (void)(needed ? sum : p.chunk(0, kIn, 0)).copy(2, kScratch, 0);
    const ThreadBlockProgram compiled = compile(p.finish());
    REQUIRE(compiled.gpus[1].thread_blocks[0].steps.size() == 1);
    CHECK(compiled.gpus[1].thread_blocks[0].steps[0].opcode ==
          (needed ? Opcode::RecvReduceCopySend : Opcode::RecvReduceSend));
    CHECK(verify(compiled).ok);
  }
}

TEST_CASE("kernels: a kernel boundary prevents a race", "[collectives][kernels]") {
  // Copies the input of rank 0 to rank 1 through a scratch place that is reused.
  const Contract contract = Contract::custom("move", 2, {1, 1}, {1, 1},
                                             [](int rank, int) -> std::optional<RequiredValue> {
                                               if (rank == 0) return std::nullopt;
                                               return RequiredValue{{0, 0}};
                                             });
  ProgramBuilder p("test", contract);
  (void)p.chunk(0, kIn, 0).copy(1, kScratch, 0);
  p.next_kernel();
  (void)p.chunk(1, kScratch, 0).copy(1, kOut, 0, {.channel = 1});
  p.next_kernel();
  (void)p.chunk(1, kIn, 0).copy(1, kScratch, 0, {.channel = 2});
  const ThreadBlockProgram program = compile(p.finish());
  CHECK(program.kernels() == 3);
  CHECK(verify(program, {.slots = 1}).ok);
  const ThreadBlockProgram early_read = without_boundary(program, 1);
  CHECK_FALSE(verify(early_read).ok);
  const VerifyReport race = verify(without_boundary(program, 2));
  REQUIRE(race.problems.size() == 1);
  CHECK(race.problems[0].starts_with("race on rank 1 scratch[0]: not ordered: "));

  CHECK_FALSE(is_harmful(program, 5, 32));
  CHECK(is_harmful(early_read, 5, 32));
  CHECK(is_harmful(without_boundary(program, 2), 5, 32));
  CHECK(execute(program, {.interleavings = 32, .slots = 1}).ok);
  CHECK_FALSE(execute(early_read, {.interleavings = 32}).ok);
  CHECK_FALSE(execute(without_boundary(program, 2), {.interleavings = 32}).ok);
}

TEST_CASE("kernels: a deadlock names the kernels that have begun", "[collectives][kernels]") {
  // In the first kernel each rank receives before it sends.
  const auto rank = [](int other) {
    return std::vector<ThreadBlock>{{other, other, 0, {recv_one(kOut, 0), send_one(kIn, 0)}},
                                    {other, -1, 0, {send_one(kIn, 0)}, 1},
                                    {-1, other, 0, {recv_one(kOut, 0)}, 1}};
  };
  const ThreadBlockProgram stuck = program_of(anything(2, 1, 1), {rank(1), rank(0)});
  CHECK(verify(stuck).problems ==
        std::vector<std::string>{"deadlock: rank 0, thread block 0, step 0: recv from rank 1 on "
                                 "channel 0: waits for message 0, 0 were sent",
                                 "deadlock: rank 1, thread block 0, step 0: recv from rank 0 on "
                                 "channel 0: waits for message 0, 0 were sent"});
  const auto position = find_deadlock(stuck, 0);
  REQUIRE(position.has_value());
  CHECK(std::tie(position->rank, position->thread_block, position->step) == std::tuple{0, 0, 0});
  CHECK(execute(stuck).problems.size() == 2);
  ThreadBlockProgram free = stuck;
  auto& steps = free.gpus[0].thread_blocks[0].steps;
  std::swap(steps[0], steps[1]);
  CHECK(verify(free, {.slots = 1}).ok);
  CHECK_FALSE(find_deadlock(free, 1).has_value());
  CHECK(execute(free, {.slots = 1}).ok);
}

TEST_CASE("kernels: a message is sent and received in the same kernel", "[collectives][kernels]") {
  const auto program = [](int sent_in, int received_in) {
    ThreadBlock sender{1, -1, 0, {send_one(kIn, 0)}, sent_in};
    ThreadBlock receiver{-1, 0, 0, {recv_one(kOut, 0)}, received_in};
    return program_of(anything(2, 1, 1), {{std::move(sender)}, {std::move(receiver)}});
  };
  CHECK(verify(program(0, 0)).ok);
  CHECK(verify(program(1, 1)).ok);
  CHECK(verify(program(0, 1)).problems ==
        std::vector<std::string>{"deadlock: rank 1, thread block 0 of kernel 1, step 0: recv from "
                                 "rank 0 on channel 0: unmatched, that rank has no sending thread "
                                 "block in kernel 1"});
  ThreadBlockProgram unmatched = program(1, 1);
  unmatched.gpus[0].thread_blocks[0].steps.push_back(send_one(kIn, 0));
  CHECK(verify(unmatched).problems ==
        std::vector<std::string>{"unmatched send: rank 0 sends 2 messages to rank 1 on channel 0 "
                                 "in kernel 1, 1 are received"});
  CHECK(execute(unmatched).problems ==
        std::vector<std::string>{
            "1 messages from rank 0 to rank 1 on channel 0 in kernel 1 are never received"});
}

TEST_CASE("kernels: form", "[collectives][kernels]") {
  const auto problems = [](ThreadBlock first, ThreadBlock second) {
    return verify(program_of(anything(2, 1, 1), {{std::move(first), std::move(second)}, {}}))
        .to_string();
  };
  const ThreadBlock nop{-1, -1, 0, {{}}, 1};
  CHECK(problems(nop, {-1, -1, 0, {}, 0}) ==
        "rank 0, thread block 1: kernel 0; expected 1 (that of the one before) to 255\n");
  CHECK(problems({-1, -1, 0, {}, -1}, nop) ==
        "rank 0, thread block 0: kernel -1; expected 0 (that of the one before) to 255\n");
  CHECK(problems(nop, {-1, -1, 0, {}, 256}) ==
        "rank 0, thread block 1: kernel 256; expected 1 (that of the one before) to 255\n");
  Instruction waits;
  waits.dependencies = {{1, 0}};
  CHECK(problems({-1, -1, 0, {waits}, 0}, nop) ==
        "rank 0, thread block 0, step 0: nop: depends on thread block 1, step 0, of a later "
        "kernel\n");
  waits.dependencies = {{0, 0}};
  CHECK(problems({-1, -1, 0, {{}}, 0}, {-1, -1, 0, {waits}, 1}).empty());  // implied
  CHECK(problems({1, -1, 0, {}, 1}, {1, -1, 0, {}, 1}) ==
        "rank 0, thread block 1: another thread block has send peer 1 on channel 0 already\n");
  CHECK(problems({1, -1, 0, {}, 0}, {1, -1, 0, {}, 1}).empty());
}

TEST_CASE("kernels: MSCCL XML has only one kernel", "[collectives][kernels]") {
  const auto program =
      build_algorithm("hierarchical-composed", composed(CollectiveKind::AllReduce, 2, 2, 1));
  std::string error;
  try {
    (void)to_msccl_xml(*program, {});
  } catch (const UserError& refused) {
    error = refused.what();
  }
  CHECK(error ==
        "program 'hierarchical-composed' cannot be written as MSCCL XML (microsoft): 3 kernels, "
        "launched one after another; a file is one kernel");
}
