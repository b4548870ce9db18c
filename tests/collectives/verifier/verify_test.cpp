#include "collectives/verifier/verify.hpp"

#include <string>

#include "collectives/buffers.hpp"
#include "collectives/ir.hpp"
#include "support/catch.hpp"

using namespace cclgym;

namespace {

Instruction send(Buffer buffer, int index, int count = 1, std::vector<StepRef> after = {}) {
  return {Opcode::Send, {buffer, index}, {}, count, std::move(after)};
}
Instruction recv(Buffer buffer, int index, int count = 1, std::vector<StepRef> after = {}) {
  return {Opcode::Recv, {}, {buffer, index}, count, std::move(after)};
}
Instruction local(Opcode opcode, BufferSlice source, BufferSlice target,
                  std::vector<StepRef> after = {}) {
  return {opcode, source, target, 1, std::move(after)};
}

ThreadBlockProgram make(const Contract& contract, std::vector<std::vector<ThreadBlock>> blocks,
                        int scratch = 0) {
  ThreadBlockProgram program{"test", contract, 1, {}};
  for (int rank = 0; rank < contract.ranks(); ++rank) {
    program.gpus.push_back({contract.input_chunks(rank), contract.output_chunks(rank), scratch,
                            std::move(blocks[static_cast<std::size_t>(rank)])});
  }
  return program;
}

/// Rank 0's only chunk must reach rank 1.
const Contract kNext = Contract::make(CollectiveKind::AllToNext, 2, 1);
const Contract kNext2 = Contract::make(CollectiveKind::AllToNext, 2, 2);

std::string problems(const ThreadBlockProgram& program, VerifyOptions options = {}) {
  const VerifyReport report = verify(program, options);
  CHECK(report.ok == report.problems.empty());
  return report.to_string();
}

}  // namespace

TEST_CASE("verify: accepts correct programs", "[collectives][verify]") {
  CHECK(problems(make(kNext, {{{1, -1, 0, {send(kIn, 0)}}}, {{-1, 0, 0, {recv(kOut, 0)}}}})) == "");
}

TEST_CASE("verify: fused instructions", "[collectives][verify]") {
  // A chain of sums: rank 2 must hold the sum of all three inputs, rank 1 the sum of the first two.
  const auto post = [](int rank, int) -> std::optional<RequiredValue> {
    if (rank == 0) return std::nullopt;
    RequiredValue value{{0, 0}, {1, 0}};
    if (rank == 2) value.push_back({2, 0});
    return value;
  };
  const Contract prefix = Contract::custom("prefix", 3, {1, 1, 1}, {1, 1, 1}, post);
  const auto chain = [&](Opcode opcode) {
    return make(prefix, {{{1, -1, 0, {send(kIn, 0)}}},
                         {{2, 0, 0, {local(opcode, {kIn, 0}, {kOut, 0})}}},
                         {{-1, 1, 0, {local(Opcode::RecvReduceCopy, {kIn, 0}, {kOut, 0})}}}});
  };
  CHECK(problems(chain(Opcode::RecvReduceCopySend)) == "");
  CHECK(problems(chain(Opcode::RecvReduceSend)) ==
        "wrong output: rank 1 output[0] holds nothing, must hold {input[0] of ranks 0-1}\n");
  CHECK(problems(chain(Opcode::RecvCopySend)) ==
        "wrong output: rank 1 output[0] holds {input[0] of rank 0}, must hold {input[0] of ranks "
        "0-1}\n"
        "wrong output: rank 2 output[0] holds {input[0] of rank 0, input[0] of rank 2}, must hold "
        "{input[0] of ranks 0-2}\n");
}

TEST_CASE("verify: double counting and foreign chunks", "[collectives][verify]") {
  const Contract all = Contract::make(CollectiveKind::AllReduce, 2, 1, true);
  const auto program = make(all, {{{1, -1, 0, {send(kIn, 0), send(kIn, 0)}}},
                                  {{-1,
                                    0,
                                    0,
                                    {local(Opcode::RecvReduceCopy, {kIn, 0}, {kIn, 0}),
                                     local(Opcode::RecvReduceCopy, {kIn, 0}, {kIn, 0})}}}});
  CHECK(problems(program) ==
        "wrong output: rank 0 output[0] holds {input[0] of rank 0}, must hold {input[0] of ranks "
        "0-1}\n"
        "wrong output: rank 1 output[0] holds {input[0] of rank 0 2 times, input[0] of rank 1}, "
        "must hold {input[0] of ranks 0-1}\n");
}

TEST_CASE("verify: a deadlock names the waits, the cause first", "[collectives][verify]") {
  // Rank 1's second block waits for the first, which waits for a message that is never sent.
  const auto program = make(kNext2, {{{1, -1, 0, {send(kIn, 0)}}},
                                     {{-1, -1, 0, {local(Opcode::Nop, {}, {}, {{1, 1}})}},
                                      {-1, 0, 0, {recv(kOut, 0), recv(kOut, 1)}}}});
  CHECK(problems(program) ==
        "deadlock: rank 1, thread block 1, step 1: recv from rank 0 on channel 0: unmatched, waits "
        "for message 1, 1 were sent\n"
        "deadlock: rank 1, thread block 0, step 0: nop: waits for thread block 1, step 1\n");
  const auto circle = make(kNext, {{{1, 1, 0, {recv(kOut, 0), send(kIn, 0)}}},
                                   {{0, 0, 0, {recv(kOut, 0), send(kIn, 0)}}}});
  CHECK(
      problems(circle) ==
      "deadlock: rank 0, thread block 0, step 0: recv from rank 1 on channel 0: waits for message "
      "0, 0 were sent\n"
      "deadlock: rank 1, thread block 0, step 0: recv from rank 0 on channel 0: waits for message "
      "0, 0 were sent\n");
  const auto own = make(kNext, {{{1, -1, 0, {send(kIn, 0, 1, {{0, 0}})}}}, {}});
  CHECK(problems(own) ==
        "deadlock: rank 0, thread block 0, step 0: send to rank 1 on channel 0: waits for thread "
        "block 0, step 0, which is no earlier step of its own\n");
}

TEST_CASE("verify: unmatched sends and receives, and different counts", "[collectives][verify]") {
  CHECK(problems(make(
            kNext, {{{1, -1, 0, {send(kIn, 0), send(kIn, 0)}}}, {{-1, 0, 0, {recv(kOut, 0)}}}})) ==
        "unmatched send: rank 0 sends 2 messages to rank 1 on channel 0, 1 are received\n");
  CHECK(
      problems(make(kNext2, {{{1, -1, 0, {send(kIn, 0, 1)}}}, {{-1, 0, 0, {recv(kOut, 0, 2)}}}})) ==
      "count mismatch: rank 1, thread block 0, step 0: recv from rank 0 on channel 0 expects 2 "
      "chunks in message 0, which has 1\n");
  CHECK(problems(make(kNext, {{}, {{-1, 0, 0, {recv(kOut, 0)}}}})) ==
        "deadlock: rank 1, thread block 0, step 0: recv from rank 0 on channel 0: unmatched, that "
        "rank has no sending thread block\n");
}

TEST_CASE("verify: room for messages on a connection", "[collectives][verify]") {
  // Both ranks send two messages before they receive any, so one slot is too few and two are
  // enough.
  const Contract swap = Contract::make(CollectiveKind::AllReduce, 2, 2, true);
  const auto add = [](int index) {
    return local(Opcode::RecvReduceCopy, {kIn, index}, {kIn, index});
  };
  const std::vector<Instruction> steps{send(kIn, 0), send(kIn, 1), add(0), add(1)};
  const auto program = make(swap, {{{1, 1, 0, steps}}, {{0, 0, 0, steps}}});
  CHECK(problems(program) == "");
  CHECK(problems(program, {.slots = 2}) == "");
  CHECK(problems(program, {.slots = 1}) ==
        "deadlock: rank 0, thread block 0, step 1: send to rank 1 on channel 0: waits for one of "
        "the 1 slots of the connection\n"
        "deadlock: rank 1, thread block 0, step 1: send to rank 0 on channel 0: waits for one of "
        "the 1 slots of the connection\n");
}

TEST_CASE("verify: uninitialised data is reported once, where it is read",
          "[collectives][verify]") {
  const auto program =
      make(kNext, {{{1, -1, 0, {send(kScratch, 0)}}}, {{-1, 0, 0, {recv(kOut, 0)}}}}, 1);
  CHECK(
      problems(program) ==
      "uninitialised data: rank 0, thread block 0, step 0: send to rank 1 on channel 0 reads rank "
      "0 scratch[0], which holds nothing\n");
}

TEST_CASE("verify: races", "[collectives][verify]") {
  // Rank 0 prepares scratch in one block and sends it in another.
  const auto program = [](std::vector<StepRef> after) {
    return make(kNext,
                {{{-1, -1, 0, {local(Opcode::Copy, {kIn, 0}, {kScratch, 0})}},
                  {1, -1, 0, {send(kScratch, 0, 1, std::move(after))}}},
                 {{-1, 0, 0, {recv(kOut, 0)}}}},
                1);
  };
  CHECK(problems(program({{0, 0}})) == "");
  CHECK(problems(program({})) ==
        "race on rank 0 scratch[0]: not ordered: rank 0, thread block 0, step 0: copy; and rank 0, "
        "thread block 1, step 0: send to rank 1 on channel 0\n");
}

TEST_CASE("verify: a message there and back orders two blocks of a GPU", "[collectives][verify]") {
  // Block 0 sends input[0]; block 1 overwrites it after rank 1 has answered.
  const Contract swap = Contract::custom("swap", 2, {1, 1}, {1, 1}, [](int rank, int) {
    return rank == 1 ? std::optional(RequiredValue{{0, 0}}) : std::nullopt;
  });
  const auto program = [&](bool answer_first) {
    ThreadBlock answering{0, 0, 0, {recv(kOut, 0), send(kIn, 0)}};
    if (answer_first) std::swap(answering.steps[0], answering.steps[1]);
    return make(swap, {{{1, -1, 0, {send(kIn, 0)}}, {-1, 1, 0, {recv(kIn, 0)}}}, {answering}});
  };
  CHECK(problems(program(false)) == "");
  const std::string text = problems(program(true));
  INFO(text);
  CHECK(text.find("race on rank 0 input[0]") == 0);
}

TEST_CASE("verify: two reads are not a race, and a dependency orders all earlier steps too",
          "[collectives][verify]") {
  const Contract two = Contract::custom("two", 1, {1}, {2}, [](int, int) {
    return std::optional(RequiredValue{{0, 0}});
  });
  CHECK(problems(make(two, {{{-1, -1, 0, {local(Opcode::Copy, {kIn, 0}, {kOut, 0})}},
                             {-1, -1, 0, {local(Opcode::Copy, {kIn, 0}, {kOut, 1})}}}})) == "");
  // Block 2 waits only for block 1, which has waited for block 0.
  const auto chain = [&](bool first_link) {
    return make(two,
                {{{-1, -1, 0, {local(Opcode::Copy, {kIn, 0}, {kScratch, 0})}},
                  {-1,
                   -1,
                   0,
                   {local(Opcode::Nop, {}, {},
                          first_link ? std::vector<StepRef>{{0, 0}} : std::vector<StepRef>{}),
                    local(Opcode::Copy, {kIn, 0}, {kOut, 0})}},
                  {-1, -1, 0, {local(Opcode::Copy, {kScratch, 0}, {kOut, 1}, {{1, 1}})}}}},
                1);
  };
  CHECK(problems(chain(true)) == "");
  const std::string text = problems(chain(false));
  INFO(text);
  CHECK(text.find("race on rank 0 scratch[0]") != std::string::npos);
}

TEST_CASE("verify: harmless races are not reported", "[collectives][verify]") {
  const Contract two = Contract::custom("two", 3, {1, 1, 1}, {1, 0, 0}, [](int, int) {
    return std::optional(RequiredValue{{1, 0}});
  });
  const auto copy = [](BufferSlice from, BufferSlice to, std::vector<StepRef> after = {}) {
    return local(Opcode::Copy, from, to, std::move(after));
  };
  // Rank 0 receives rank 1's chunk twice into the same place, once through rank 2.
  const auto twice = [&](int relayed) {
    return make(two,
                {{{-1, 1, 0, {recv(kOut, 0)}}, {-1, 2, 0, {recv(kOut, 0)}}},
                 {{0, -1, 0, {send(kIn, 0)}}, {2, -1, 0, {send(kIn, 0)}}},
                 {{-1, 1, 0, {recv(kScratch, 0)}},
                  {0, -1, 0, {send(relayed == 1 ? kScratch : kIn, 0, 1, {{0, 0}})}}}},
                1);
  };
  CHECK(problems(twice(1)) == "");
  CHECK(problems(twice(2)).find("race on rank 0 output[0]: not ordered: rank 0, thread block") !=
        std::string::npos);
  // Rank 2 passes on two chunks and leaves both in the same scratch place, which is never read.
  const Contract pass = Contract::custom("pass", 3, {2, 0, 0}, {0, 2, 0}, [](int, int index) {
    return std::optional(RequiredValue{{0, index}});
  });
  const auto relay = [&](bool reads) {
    const Instruction on = local(Opcode::RecvCopySend, {}, {kScratch, 0});
    ThreadBlock block{};
    block.steps = {copy({kScratch, 0}, {kScratch, 1}, {{0, 0}, {1, 0}})};
    std::vector<ThreadBlock> passing{{1, 0, 0, {on}}, {1, 0, 1, {on}}};
    if (reads) passing.push_back(block);
    auto program = make(pass,
                        {{{2, -1, 0, {send(kIn, 0)}}, {2, -1, 1, {send(kIn, 1)}}},
                         {{-1, 2, 0, {recv(kOut, 0)}}, {-1, 2, 1, {recv(kOut, 1)}}},
                         passing},
                        2);
    program.channels = 2;
    return program;
  };
  CHECK(problems(relay(false)) == "");
  CHECK(problems(relay(true)) ==
        "race on rank 2 scratch[0]: not ordered: rank 2, thread block 0, step 0: recvCopySend from "
        "rank 0 to rank 1 on channel 0; and rank 2, thread block 1, step 0: recvCopySend from rank "
        "0 to rank 1 on channel 1\n");
  // Block 1 reads its own copy; block 0 writes the same value again, before or after it.
  const Contract own = Contract::custom("own", 1, {2}, {1}, [](int, int) {
    return std::optional(RequiredValue{{0, 0}});
  });
  const auto again = [&](int value) {
    return make(own,
                {{{-1, -1, 0, {copy({kIn, value}, {kScratch, 0})}},
                  {-1, -1, 0, {copy({kIn, 0}, {kScratch, 0}), copy({kScratch, 0}, {kOut, 0})}}}},
                1);
  };
  CHECK(problems(again(0)) == "");
  CHECK(problems(again(1)) ==
        "race on rank 0 scratch[0]: not ordered: rank 0, thread block 0, step 0: copy; and rank 0, "
        "thread block 1, step 1: copy\n");
  // The second of two ordered writes hides the first, even if another block also writes the value
  // of the second.
  const auto hidden = [&](bool ordered) {
    const std::vector<StepRef> after =
        ordered ? std::vector<StepRef>{{0, 0}} : std::vector<StepRef>{};
    return make(
        own,
        {{{-1, -1, 0, {copy({kIn, 1}, {kScratch, 0})}},
          {-1, -1, 0, {copy({kIn, 0}, {kScratch, 0}, {{0, 0}}), copy({kScratch, 0}, {kOut, 0})}},
          {-1, -1, 0, {copy({kIn, 0}, {kScratch, 0}, after)}}}},
        1);
  };
  CHECK(problems(hidden(true)) == "");
  CHECK(problems(hidden(false)) == "");
  // Two additions to one place can lose one of the sums, although addition commutes.
  const Contract sum = Contract::custom("sum", 1, {3}, {1}, [](int, int) {
    return std::optional(RequiredValue{{0, 0}, {0, 1}, {0, 2}});
  });
  const auto add = [](int chunk) {
    return local(Opcode::Reduce, {kIn, chunk}, {kOut, 0}, {{0, 0}});
  };
  CHECK(problems(make(sum, {{{-1, -1, 0, {copy({kIn, 0}, {kOut, 0})}},
                             {-1, -1, 0, {add(1)}},
                             {-1, -1, 0, {add(2)}}}}))
            .find("race on rank 0 output[0]") == 0);
}

TEST_CASE("verify: form", "[collectives][verify]") {
  const auto blocks = [](ThreadBlock first) {
    return make(kNext, {{std::move(first)}, {{-1, 0, 0, {recv(kOut, 0)}}}});
  };
  CHECK(
      problems(blocks({1, -1, 0, {send(kIn, 1)}})) ==
      "rank 0, thread block 0, step 0: send to rank 1 on channel 0: source rank 0 input[1] out of "
      "range: the input buffer has 1 chunks\n");
  CHECK(problems(blocks({0, -1, 0, {send(kIn, 0)}})) ==
        "rank 0, thread block 0: send peer 0; expected another rank or none\n");
  CHECK(problems(blocks({-1, -1, 0, {send(kIn, 0)}})).find("no send peer") != std::string::npos);
  CHECK(problems(blocks({1, -1, 3, {send(kIn, 0)}})) ==
        "rank 0, thread block 0: channel 3; expected 0 to 0\n");
  CHECK(problems(blocks({1, -1, 0, {send(kIn, 0, 0)}})).find("count 0") != std::string::npos);
  CHECK(problems(blocks({1, -1, 0, {send(kIn, 0, 1, {{4, 0}})}})) ==
        "rank 0, thread block 0, step 0: send to rank 1 on channel 0: depends on thread block 4, "
        "step 0, which does not exist\n");
  auto twice = blocks({1, -1, 0, {send(kIn, 0)}});
  twice.gpus[0].thread_blocks.push_back({1, -1, 0, {}});
  CHECK(problems(twice) ==
        "rank 0, thread block 1: another thread block has send peer 1 on channel 0 already\n");
  auto small = blocks({1, -1, 0, {send(kIn, 0)}});
  small.gpus[1].output_chunks = 2;
  CHECK(problems(small).find("rank 1: buffers of 1 input, 2 output") == 0);
  small.gpus.pop_back();
  CHECK(problems(small) == "the program is for 1 GPUs, its contract for 2 ranks\n");
  const auto overlap = make(kNext2,
                            {{{-1,
                               -1,
                               0,
                               {{Opcode::Copy, {kIn, 0}, {kScratch, 0}, 2, {}},
                                {Opcode::Copy, {kScratch, 0}, {kScratch, 1}, 2, {}}}}},
                             {}},
                            3);
  CHECK(problems(overlap).find(
            "source rank 0 scratch[0..1] and target rank 0 scratch[1..2] overlap") !=
        std::string::npos);
}

TEST_CASE("verify: problems beyond the limit are counted", "[collectives][verify]") {
  const Contract many = Contract::make(CollectiveKind::AllToNext, 2, 9);
  const VerifyReport report = verify(make(many, {{}, {}}), {.most_problems = 3});
  REQUIRE(report.problems.size() == 4);
  CHECK(report.problems.back() == "… and 6 more");
}
