#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <tuple>

#include "collectives/algorithms/kernel_fixtures.hpp"
#include "collectives/buffers.hpp"
#include "collectives/compiler/channels.hpp"
#include "collectives/compiler/chunk_dag.hpp"
#include "collectives/compiler/compile.hpp"
#include "collectives/compiler/replicate.hpp"
#include "collectives/compiler/schedule.hpp"
#include "collectives/compiler/wait_reducer.hpp"
#include "collectives/expand_parallel.hpp"
#include "collectives/verifier/deadlock.hpp"
#include "collectives/verifier/numeric_oracle.hpp"
#include "collectives/verifier/verify.hpp"
#include "support/catch.hpp"
#include "support/index.hpp"
#include "support/shipped_algorithms.hpp"

using namespace cclgym;

namespace {

using test::anything;
using test::opcodes;

/// If `parallel`, some operations are in parallel scopes and some on channels that the compiler
/// chooses.
Program random_program(std::uint64_t seed, int ranks, int operations, Contract contract,
                       bool parallel = false) {
  std::mt19937_64 random(seed);
  const auto below = [&random](int limit) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(limit));
  };
  constexpr int kChunks = 4;
  ProgramBuilder p("random", std::move(contract));
  std::set<std::tuple<int, Buffer, int>> written;
  const auto is_written = [&](int rank, Buffer buffer, int index, int count) {
    for (int k = 0; k < count; ++k) {
      if (buffer != kIn && !written.contains({rank, buffer, index + k})) return false;
    }
    return true;
  };
  for (int i = 0; i < operations;) {
    const int count = 1 + below(2);
    const int from = below(ranks);
    const int to = below(ranks);
    const auto source = static_cast<Buffer>(below(3));
    const auto target = static_cast<Buffer>(below(3));
    const int source_index = below(kChunks - 1);
    const int target_index = below(kChunks - 1);
    const bool reduce = below(2) == 0;
    if (!is_written(from, source, source_index, count)) continue;
    if (reduce && !is_written(to, target, target_index, count)) continue;
    if (from == to && source == target && std::abs(source_index - target_index) < count) continue;
    const ChunkRef c = p.chunk(from, source, source_index, count);
    const OperationOptions options{.channel = below(parallel ? 4 : 3) - (parallel ? 1 : 0)};
    const auto scope = p.parallelize(parallel ? 1 + below(3) : 1);
    if (reduce) {
      (void)p.chunk(to, target, target_index, count).reduce(c, options);
    } else {
      (void)c.copy(to, target, target_index, options);
    }
    for (int k = 0; k < count; ++k) written.insert({to, target, target_index + k});
    ++i;
  }
  return p.finish();
}

}  // namespace

TEST_CASE("chunk DAG: true, anti and output dependencies, each on its end",
          "[collectives][compiler]") {
  ProgramBuilder p("test", anything(2, 2, 2));
  (void)p.chunk(0, kIn, 0).copy(1, kOut, 0);             // 0
  (void)p.chunk(1, kOut, 0).copy(0, kOut, 0);            // 1 reads the result of 0
  (void)p.chunk(0, kIn, 1).copy(1, kOut, 0);             // 2 overwrites what 1 reads
  (void)p.chunk(0, kIn, 0).copy(1, kOut, 0);             // 3 overwrites the result of 2
  (void)p.chunk(1, kOut, 0).reduce(p.chunk(1, kIn, 0));  // 4 adds to the result of 3
  (void)p.chunk(1, kOut, 0).copy(0, kIn, 0);             // 5 overwrites the input of 0 and 3
  const ChunkDag dag = trace_dependencies(p.finish());
  const auto edges = [&dag](std::size_t operation) {
    std::vector<std::tuple<int, OperationEnd, DependenceKind>> result;
    for (const ChunkEdge& edge : dag.predecessors(operation)) {
      result.emplace_back(edge.operation, edge.end, edge.kind);
    }
    return result;
  };
  using Edges = decltype(edges(0));
  using enum DependenceKind;
  CHECK(edges(0).empty());
  CHECK(edges(1) == Edges{{0, OperationEnd::Source, True}});
  CHECK(edges(2) == Edges{{1, OperationEnd::Target, Anti}});
  CHECK(edges(3) == Edges{{2, OperationEnd::Target, Output}});
  CHECK(edges(4) == Edges{{3, OperationEnd::Target, True}});
  CHECK(edges(5) == Edges{{0, OperationEnd::Target, Anti},
                          {3, OperationEnd::Target, Anti},
                          {4, OperationEnd::Source, True}});
}

TEST_CASE("schedule: levels match the closed forms", "[collectives][compiler]") {
  const auto levels = [](const char* name, CollectiveKind kind, int ranks, int channels) {
    AlgorithmRequest request;
    request.collective = kind;
    request.ranks = ranks;
    request.channels = channels;
    const Program program = trace_algorithm(name, request);
    const Schedule schedule = make_schedule(program, trace_dependencies(program));
    return *std::ranges::max_element(schedule.level) + 1;
  };
  for (const int n : {2, 5, 8, 16}) {
    for (const int channels : {1, 3}) {
      CHECK(levels("ring", CollectiveKind::AllReduce, n, channels) == 2 * (n - 1));
      CHECK(levels("ring", CollectiveKind::AllGather, n, channels) == n - 1);
      CHECK(levels("ring", CollectiveKind::ReduceScatter, n, channels) == n - 1);
      CHECK(levels("ring", CollectiveKind::Broadcast, n, channels) == 2 * n - 2);
      CHECK(levels("all-pairs", CollectiveKind::AllGather, n, channels) == 1);
      CHECK(levels("naive", CollectiveKind::AllToAll, n, channels) == 1);
    }
  }
  // Each step has a level for communication and, if entire vectors are exchanged, one for the local
  // addition.
  CHECK(levels("recursive-doubling", CollectiveKind::AllReduce, 16, 2) == 8);
  CHECK(levels("recursive-doubling", CollectiveKind::AllGather, 16, 2) == 4);
  CHECK(levels("recursive-halving", CollectiveKind::ReduceScatter, 16, 2) == 4);
  CHECK(levels("halving-doubling", CollectiveKind::AllReduce, 16, 2) == 8);
  // One level of sends to the other ranks, n - 1 levels of local additions, one level of sends
  // back.
  CHECK(levels("all-pairs", CollectiveKind::AllReduce, 8, 2) == 1 + 7 + 1);
}

TEST_CASE("thread blocks: a ring has one block per rank and channel, without dependencies",
          "[collectives][compiler]") {
  AlgorithmRequest request;
  request.ranks = 4;
  request.channels = 2;
  request.rings = {{0, 1, 2, 3}, {0, 3, 2, 1}};
  const auto program = build_algorithm("ring", request);
  CHECK(program->channels == 2);
  for (int rank = 0; rank < 4; ++rank) {
    const auto& blocks = program->gpus[ix(rank)].thread_blocks;
    REQUIRE(blocks.size() == 2);
    CHECK(blocks[0].channel == 0);
    CHECK(blocks[0].send_peer == (rank + 1) % 4);
    CHECK(blocks[0].recv_peer == (rank + 3) % 4);
    CHECK(blocks[1].channel == 1);
    CHECK(blocks[1].send_peer == (rank + 3) % 4);
    CHECK(blocks[1].recv_peer == (rank + 1) % 4);
    for (const ThreadBlock& block : blocks) {
      // The block sends before it waits for the neighbour's message of the same step.
      using enum Opcode;
      CHECK(opcodes(block) == std::vector<Opcode>{Send, RecvReduceCopy, Send, RecvReduceCopy, Send,
                                                  RecvReduceCopy, Send, Recv, Send, Recv, Send,
                                                  Recv});
      for (const Instruction& step : block.steps) CHECK(step.dependencies.empty());
    }
  }
}

TEST_CASE("thread blocks: local instructions go where their data is, or to a block without peers",
          "[collectives][compiler]") {
  ProgramBuilder p("test", anything(2, 4, 4));
  (void)p.chunk(0, kIn, 0).copy(1, kScratch, 0);   // received by a block of rank 1 ...
  (void)p.chunk(1, kScratch, 0).copy(1, kOut, 0);  // ... and used by that block
  const ChunkRef prepared = p.chunk(1, kIn, 1).copy(1, kOut, 1);  // used by a send of rank 1
  (void)prepared.copy(0, kOut, 1);
  (void)p.chunk(1, kIn, 2).copy(1, kOut, 2);  // result not used
  (void)p.chunk(1, kIn, 3).copy(1, kOut, 3, {.channel = 1});
  const ThreadBlockProgram program = compile(p.finish(), {.share_blocks = false});
  CHECK(verify(program).ok);
  const auto& blocks = program.gpus[1].thread_blocks;
  REQUIRE(blocks.size() == 4);
  using enum Opcode;
  std::multiset<std::vector<Opcode>> seen;
  for (const ThreadBlock& block : blocks) {
    seen.insert(opcodes(block));
    if (block.recv_peer == 0) CHECK(opcodes(block) == std::vector<Opcode>{Recv, Copy});
    if (block.send_peer == 0) CHECK(opcodes(block) == std::vector<Opcode>{Copy, Send});
    if (block.channel == 1) CHECK((block.send_peer == -1 && block.recv_peer == -1));
    for (const Instruction& step : block.steps) CHECK(step.dependencies.empty());
  }
  CHECK(seen.count({Copy}) == 2);
}

TEST_CASE("thread blocks: the two directions of a peer share a block", "[collectives][compiler]") {
  ProgramBuilder p("test", anything(3, 1, 1));
  (void)p.chunk(0, kIn, 0).copy(1, kOut, 0);
  (void)p.chunk(1, kIn, 0).copy(0, kOut, 0);
  (void)p.chunk(2, kIn, 0).copy(0, kScratch, 0);
  const Program program = p.finish();
  const auto blocks_of = [&](bool share, std::size_t rank) {
    return compile(program, {.share_blocks = share}).gpus[rank].thread_blocks.size();
  };
  CHECK(blocks_of(true, 0) == 2);
  CHECK(blocks_of(false, 0) == 3);
  CHECK(blocks_of(true, 1) == 1);
  CHECK(blocks_of(false, 1) == 2);
}

TEST_CASE("thread blocks: a step waits once for the latest step of each other block",
          "[collectives][compiler]") {
  ProgramBuilder p("test", anything(3, 4, 4));
  // Rank 0 receives two chunks from rank 1 (one block) and sends both on from another channel.
  (void)p.chunk(1, kIn, 0).copy(0, kScratch, 0, {.channel = 0});
  (void)p.chunk(1, kIn, 1).copy(0, kScratch, 1, {.channel = 0});
  (void)p.chunk(0, kScratch, 0, 2).copy(2, kOut, 0, {.channel = 1});
  (void)p.chunk(0, kScratch, 1).copy(2, kOut, 2, {.channel = 1});
  const ThreadBlockProgram program = compile(p.finish());
  CHECK(verify(program).ok);
  const auto& blocks = program.gpus[0].thread_blocks;
  REQUIRE(blocks.size() == 2);
  REQUIRE(blocks[1].steps.size() == 2);
  CHECK(blocks[1].steps[0].dependencies == std::vector<StepRef>{{0, 1}});
  CHECK(blocks[1].steps[1].dependencies.empty());
}

TEST_CASE("compiler: any order of execution has the effect of the trace",
          "[collectives][compiler]") {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const int ranks = 2 + static_cast<int>(seed % 4);
    const Program program =
        random_program(seed, ranks, 5 + static_cast<int>(seed % 40), anything(ranks, 4, 4));
    const ThreadBlockProgram compiled = compile(program, {.fuse = false});
    const VerifyReport report = verify(compiled, {.slots = 1});
    INFO("seed " << seed << "\n" << report.to_string());
    REQUIRE(report.ok);
    REQUIRE(verify(program).ok);
    const std::vector<int> scratch = test::scratch_of(compiled);
    test::NumericMemory expected(program.contract, scratch, seed);
    test::execute_in_order(program, expected);
    for (std::uint64_t order = 0; order < 6; ++order) {
      test::NumericMemory memory(program.contract, scratch, seed);
      REQUIRE(test::interpret(compiled, memory, order) == test::Outcome::Right);
      REQUIRE(memory == expected);
    }
  }
}

TEST_CASE("compiler: directives and fusion do not change the outputs", "[collectives][compiler]") {
  int fused = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const int ranks = 2 + static_cast<int>(seed % 4);
    // Constrains every output, so that none may be dropped.
    const Contract contract = Contract::custom("outputs", ranks, std::vector<int>(ix(ranks), 4),
                                               std::vector<int>(ix(ranks), 4), [](int, int) {
                                                 return RequiredValue{{0, 0}};
                                               });
    const Program program =
        random_program(seed, ranks, 5 + static_cast<int>(seed % 40), contract, seed % 2 == 0);
    const int instances = 1 + static_cast<int>(seed % 3);
    const ThreadBlockProgram compiled = compile(program, {.instances = instances});
    for (const GpuProgram& gpu : compiled.gpus) {
      for (const ThreadBlock& block : gpu.thread_blocks) {
        fused += static_cast<int>(std::ranges::count_if(block.steps, [](const Instruction& step) {
          return sends(step.opcode) && receives(step.opcode);
        }));
      }
    }
    const VerifyReport report = verify(compiled, {.slots = 2, .most_problems = 1000});
    INFO("seed " << seed << "\n" << report.to_string());
    for (const std::string& problem : report.problems) {
      REQUIRE((problem.starts_with("wrong output") || problem.starts_with("… and")));
    }
    // The expected result is from the trace, with its chunks cut as the compiler cuts them.
    const Program whole = replicate(expand_parallel(program), instances, {});
    const std::vector<int> scratch = test::scratch_of(compiled);
    REQUIRE(whole.contract.input_chunks(0) == compiled.contract.input_chunks(0));
    test::NumericMemory expected(whole.contract, scratch, seed);
    test::execute_in_order(whole, expected);
    for (std::uint64_t order = 0; order < 4; ++order) {
      test::NumericMemory memory(whole.contract, scratch, seed);
      REQUIRE(test::interpret(compiled, memory, order) != test::Outcome::Stuck);
      for (int rank = 0; rank < ranks; ++rank) {
        for (int index = 0; index < whole.contract.output_chunks(rank); ++index) {
          REQUIRE(memory.at({rank, kOut, index}) == expected.at({rank, kOut, index}));
        }
      }
    }
  }
  CHECK(fused > 100);
}

TEST_CASE("fusion: rings, and sums that are needed locally", "[collectives][compiler]") {
  AlgorithmRequest request;
  request.ranks = 4;
  request.compile = {};
  using enum Opcode;
  const auto all_reduce = build_algorithm("ring", request);
  for (const GpuProgram& gpu : all_reduce->gpus) {
    REQUIRE(gpu.thread_blocks.size() == 1);
    CHECK(opcodes(gpu.thread_blocks[0]) == std::vector<Opcode>{Send, RecvReduceSend, RecvReduceSend,
                                                               RecvReduceCopySend, RecvCopySend,
                                                               RecvCopySend, Recv});
  }
  // The program needs two slots: with one, all ranks would wait for each other.
  CHECK(verify(*all_reduce, {.slots = 2}).ok);
  CHECK_FALSE(verify(*all_reduce, {.slots = 1}).ok);
  CHECK(find_deadlock(*all_reduce, 1).has_value());
  request.compile.slots = 1;
  CHECK(verify(*build_algorithm("ring", request), {.slots = 1}).ok);
}

TEST_CASE("fusion: of several sends, the one on the longest path", "[collectives][compiler]") {
  ProgramBuilder p("test", anything(5, 1, 1));
  const ChunkRef c = p.chunk(0, kIn, 0).copy(1, kOut, 0);
  (void)c.copy(2, kOut, 0);
  (void)c.copy(3, kOut, 0).copy(4, kOut, 0);
  const ThreadBlockProgram program = compile(p.finish());
  using enum Opcode;
  const auto& blocks = program.gpus[1].thread_blocks;
  REQUIRE(blocks.size() == 2);
  CHECK(opcodes(blocks[0]) == std::vector<Opcode>{RecvCopySend});
  CHECK(blocks[0].send_peer == 3);
  CHECK(opcodes(blocks[1]) == std::vector<Opcode>{Send});
  CHECK(opcodes(program.gpus[3].thread_blocks.at(0)) == std::vector<Opcode>{RecvCopySend});
}

TEST_CASE("channels: the lowest one on which a chain stays together", "[collectives][compiler]") {
  // Rank 1 passes rank 0's data on to rank 2 and to rank 3: two pairs of peers, two channels.
  ProgramBuilder p("test", anything(4, 2, 2));
  for (const int to : {2, 3, 2})
    (void)p.chunk(0, kIn, to % 2).copy(1, kScratch, to).copy(to, kOut, 0);
  (void)p.chunk(3, kIn, 0).copy(0, kOut, 0, {.channel = 3});
  Program program = p.finish();
  assign_channels(program, trace_dependencies(program), true);
  std::vector<int> channels;
  for (const Operation& operation : program.operations) channels.push_back(operation.channel);
  CHECK(channels == std::vector<int>{0, 0, 1, 1, 0, 0, 3});
  CHECK(program.channels == 4);
}

TEST_CASE("waits: implied waits are removed", "[collectives][compiler]") {
  WaitReducer reducer(3);
  using Wait = WaitReducer::Wait;
  std::vector<Wait> waits;
  reducer.add_step(0, 0, true, waits);
  waits = {{0, 0}};
  reducer.add_step(1, 0, true, waits);
  CHECK(waits == std::vector<Wait>{{0, 0}});
  waits = {{0, 0}, {1, 0}};  // block 1 has waited for block 0
  reducer.add_step(2, 0, false, waits);
  CHECK(waits == std::vector<Wait>{{1, 0}});
  waits = {{0, 0}};  // known since the previous step
  reducer.add_step(2, 1, false, waits);
  CHECK(waits.empty());
}

TEST_CASE("compiler: same program, same bits", "[collectives][compiler]") {
  const Program program = random_program(7, 4, 60, anything(4, 4, 4));
  const ThreadBlockProgram a = compile(program);
  const ThreadBlockProgram b = compile(program);
  REQUIRE(a.instructions() == b.instructions());
  for (std::size_t rank = 0; rank < a.gpus.size(); ++rank) {
    REQUIRE(a.gpus[rank].thread_blocks.size() == b.gpus[rank].thread_blocks.size());
    for (std::size_t i = 0; i < a.gpus[rank].thread_blocks.size(); ++i) {
      const ThreadBlock& x = a.gpus[rank].thread_blocks[i];
      const ThreadBlock& y = b.gpus[rank].thread_blocks[i];
      CHECK(opcodes(x) == opcodes(y));
      CHECK(std::tie(x.send_peer, x.recv_peer, x.channel) ==
            std::tie(y.send_peer, y.recv_peer, y.channel));
    }
  }
}
