// Programs of several kernels: on every GPU one begins when the one before is done.
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>

#include "catch.hpp"
#include "collectives/algorithm.hpp"
#include "collectives/compiler/compile.hpp"
#include "collectives/deadlock.hpp"
#include "collectives/interpreter.hpp"
#include "collectives/msccl_xml.hpp"
#include "collectives/mutations.hpp"
#include "collectives/numeric_oracle.hpp"
#include "collectives/verify.hpp"
#include "core/error.hpp"

using namespace cclgym;

namespace {

constexpr Buffer kIn = Buffer::Input;
constexpr Buffer kOut = Buffer::Output;
constexpr Buffer kScratch = Buffer::Scratch;

std::size_t ix(int index) { return static_cast<std::size_t>(index); }

/// Asks for nothing, so that the verifier asks for one result in every order.
Contract anything(int ranks, int input, int output) {
  return Contract::custom("anything", ranks, std::vector<int>(ix(ranks), input),
                          std::vector<int>(ix(ranks), output),
                          [](int, int) { return std::nullopt; });
}

ThreadBlockProgram make(const Contract& contract, std::vector<std::vector<ThreadBlock>> blocks) {
  ThreadBlockProgram program{.name = "test", .contract = contract, .channels = 1, .gpus = {}};
  for (int rank = 0; rank < contract.ranks(); ++rank) {
    program.gpus.push_back({contract.input_chunks(rank), contract.output_chunks(rank), 2,
                            std::move(blocks[ix(rank)])});
  }
  return program;
}

Instruction send(Buffer buffer, int index) { return {Opcode::Send, {buffer, index}, {}, 1, {}}; }
Instruction recv(Buffer buffer, int index) { return {Opcode::Recv, {}, {buffer, index}, 1, {}}; }

/// The program with kernels `kernel` - 1 and `kernel` in one.
ThreadBlockProgram without_boundary(ThreadBlockProgram program, int kernel) {
  for (GpuProgram& gpu : program.gpus) {
    for (ThreadBlock& block : gpu.thread_blocks) {
      if (block.kernel >= kernel) --block.kernel;
    }
  }
  return program;
}

std::vector<Opcode> opcodes(const ThreadBlock& block) {
  std::vector<Opcode> result;
  for (const Instruction& step : block.steps) result.push_back(step.opcode);
  return result;
}

using Chunks = std::set<std::pair<int, int>>;  ///< rank and index of the inputs of a sum

/// Operations on buffers of four chunks, a new kernel now and then. The contract asks for what the
/// operations leave in the outputs.
Program random_program(std::mt19937_64& random, int ranks, int operations) {
  const auto below = [&random](int limit) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(limit));
  };
  ProgramBuilder p("random", anything(ranks, 4, 4));
  std::map<std::tuple<int, Buffer, int>, Chunks> held;
  for (int rank = 0; rank < ranks; ++rank) {
    for (int index = 0; index < 4; ++index) held[{rank, kIn, index}] = {{rank, index}};
  }
  while (operations > 0) {
    const auto [place, chunks] = *std::next(held.begin(), below(static_cast<int>(held.size())));
    const auto [from, source, index] = place;
    const std::tuple target{below(ranks), static_cast<Buffer>(below(3)), below(4)};
    const auto [to, buffer, to_index] = target;
    if (target == place) continue;
    const ChunkRef c = p.chunk(from, source, index);
    const OperationOptions options{.channel = below(3) - 1};
    const auto scope = p.parallelize(1 + below(2));
    if (below(2) == 0 && held.contains(target)) {
      Chunks sum = held[target];
      sum.insert(chunks.begin(), chunks.end());
      if (sum.size() < held[target].size() + chunks.size()) continue;  // a chunk twice
      (void)p.chunk(to, buffer, to_index).reduce(c, options);
      held[target] = sum;
    } else {
      (void)c.copy(to, buffer, to_index, options);
      held[target] = chunks;
    }
    --operations;
    if (below(5) == 0) p.next_kernel();
  }
  Program program = p.finish();
  program.contract = Contract::custom("random", ranks, std::vector<int>(ix(ranks), 4),
                                      std::vector<int>(ix(ranks), 4),
                                      [held](int rank, int index) -> std::optional<RequiredValue> {
                                        const auto found = held.find({rank, kOut, index});
                                        if (found == held.end()) return std::nullopt;
                                        RequiredValue value;
                                        for (const auto& [of, chunk] : found->second)
                                          value.push_back({of, chunk});
                                        return value;
                                      });
  return program;
}

/// Does the program go wrong in one of a few random orders?
bool is_harmful(const ThreadBlockProgram& program, std::uint64_t seed, int orders) {
  for (int i = 0; i < orders; ++i) {
    const std::uint64_t order = seed * 64 + static_cast<std::uint64_t>(i);
    test::NumericMemory memory(program.contract, test::scratch_of(program), order);
    if (test::interpret(program, memory, order) != test::Outcome::Right) return true;
  }
  return false;
}

AlgorithmRequest composed(CollectiveKind kind, int servers, int gpus, int channels) {
  AlgorithmRequest request;
  request.collective = kind;
  request.ranks = servers * gpus;
  request.ranks_per_server = gpus;
  request.channels = channels;
  return request;
}

}  // namespace

TEST_CASE("kernels: next_kernel begins one for the operations that follow, if there were any") {
  ProgramBuilder p("test", anything(2, 2, 2));
  p.next_kernel();
  const ChunkRef c = p.chunk(0, kIn, 0).copy(1, kOut, 0);
  p.next_kernel();
  p.next_kernel();
  (void)c.copy(0, kOut, 0);  // references stay good
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

TEST_CASE("kernels: each is compiled on its own") {
  ProgramBuilder p("test", anything(3, 2, 2));
  const ChunkRef c = p.chunk(0, kIn, 0).copy(1, kScratch, 0).copy(2, kScratch, 0);
  p.next_kernel();
  // One kernel would send on what arrives, and could not do so from rank 1 on channel 0.
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
  CHECK(compiled.gpus[2].thread_blocks.size() == 2);  // to and from: not fused
  CHECK(compiled.most_resident_blocks() == 2);        // rank 0 in kernel 1: of two senders
  CHECK(describe_step(compiled, 1, 1, 0) ==
        "rank 1, thread block 1 of kernel 1, step 0: send to rank 0 on channel 0");
}

TEST_CASE("kernels: a sum is stored if a later kernel needs it") {
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

TEST_CASE("kernels: order what would be a race") {
  // Wanted: the input of rank 0 at rank 1, by way of a scratch place that is used again.
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

TEST_CASE("kernels: a deadlock names those that have begun") {
  // In the first kernel each rank receives before it sends.
  const auto rank = [](int other) {
    return std::vector<ThreadBlock>{{other, other, 0, {recv(kOut, 0), send(kIn, 0)}},
                                    {other, -1, 0, {send(kIn, 0)}, 1},
                                    {-1, other, 0, {recv(kOut, 0)}, 1}};
  };
  const ThreadBlockProgram stuck = make(anything(2, 1, 1), {rank(1), rank(0)});
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

TEST_CASE("kernels: what is sent in a kernel is received in the same") {
  const auto program = [](int sent_in, int received_in) {
    ThreadBlock sender{1, -1, 0, {send(kIn, 0)}, sent_in};
    ThreadBlock receiver{-1, 0, 0, {recv(kOut, 0)}, received_in};
    return make(anything(2, 1, 1), {{std::move(sender)}, {std::move(receiver)}});
  };
  CHECK(verify(program(0, 0)).ok);
  CHECK(verify(program(1, 1)).ok);
  CHECK(verify(program(0, 1)).problems ==
        std::vector<std::string>{"deadlock: rank 1, thread block 0 of kernel 1, step 0: recv from "
                                 "rank 0 on channel 0: unmatched, that rank has no sending thread "
                                 "block in kernel 1"});
  ThreadBlockProgram unmatched = program(1, 1);
  unmatched.gpus[0].thread_blocks[0].steps.push_back(send(kIn, 0));
  CHECK(verify(unmatched).problems ==
        std::vector<std::string>{"unmatched send: rank 0 sends 2 messages to rank 1 on channel 0 "
                                 "in kernel 1, 1 are received"});
  CHECK(execute(unmatched).problems ==
        std::vector<std::string>{
            "1 messages from rank 0 to rank 1 on channel 0 in kernel 1 are never received"});
}

TEST_CASE("kernels: form") {
  const auto problems = [](ThreadBlock first, ThreadBlock second) {
    return verify(make(anything(2, 1, 1), {{std::move(first), std::move(second)}, {}})).to_string();
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
  CHECK(problems({-1, -1, 0, {{}}, 0}, {-1, -1, 0, {waits}, 1}).empty());  // follows anyway
  CHECK(problems({1, -1, 0, {}, 1}, {1, -1, 0, {}, 1}) ==
        "rank 0, thread block 1: another thread block has send peer 1 on channel 0 already\n");
  CHECK(problems({1, -1, 0, {}, 0}, {1, -1, 0, {}, 1}).empty());
}

TEST_CASE("kernels: MSCCL XML has one") {
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

TEST_CASE("kernels: composed programs run at any slots, and only with their boundaries") {
  for (const auto& [name, kind] : {std::pair("hierarchical-composed", CollectiveKind::AllReduce),
                                   std::pair("two-step-composed", CollectiveKind::AllToAll)}) {
    for (const auto& [servers, gpus] : {std::pair(2, 2), std::pair(3, 4), std::pair(2, 8)}) {
      for (const bool fuse : {false, true}) {
        auto request = composed(kind, servers, gpus, 2);
        request.compile = {.fuse = fuse, .share_blocks = fuse};
        const auto program = build_algorithm(name, request);  // verifies
        REQUIRE(program->kernels() == 3);
        REQUIRE(program->runtime == Runtime::Nccl);
        INFO(name << " " << servers << " x " << gpus);
        for (std::int32_t slots = fuse ? 2 : 1; slots <= 8; ++slots) {
          REQUIRE(execute(*program, {.interleavings = 4, .slots = slots}).ok);
        }
        for (const int boundary : {1, 2}) {
          const ThreadBlockProgram merged = without_boundary(*program, boundary);
          REQUIRE_FALSE(verify(merged).ok);
          if (name == std::string("two-step-composed") && gpus == 2) {
            CHECK_FALSE(execute(merged, {.interleavings = 64}).ok);
          }
        }
      }
    }
  }
}

TEST_CASE("kernels: the composed hierarchical AllReduce is NCCL's three collectives") {
  const auto program =
      build_algorithm("hierarchical-composed", composed(CollectiveKind::AllReduce, 3, 4, 2));
  const auto ring = [](CollectiveKind kind, int ranks) {
    return build_algorithm("ring", composed(kind, 1, ranks, 2));
  };
  const std::vector<std::shared_ptr<const ThreadBlockProgram>> parts{
      ring(CollectiveKind::ReduceScatter, 4), ring(CollectiveKind::AllReduce, 3),
      ring(CollectiveKind::AllGather, 4)};
  for (const GpuProgram& gpu : program->gpus) {
    REQUIRE(gpu.thread_blocks.size() == 6);
    for (int id = 0; id < 6; ++id) {
      const ThreadBlock& block = gpu.thread_blocks[ix(id)];
      CHECK(block.kernel == id / 2);
      CHECK(block.channel == id % 2);
      CHECK(opcodes(block) == opcodes(parts[ix(id / 2)]->gpus[0].thread_blocks[ix(id % 2)]));
    }
  }
}

TEST_CASE("kernels: Two-Step by hand copies in a kernel of its own") {
  const auto program =
      build_algorithm("two-step-composed", composed(CollectiveKind::AllToAll, 3, 4, 2));
  for (int rank = 0; rank < 12; ++rank) {
    std::vector<std::vector<int>> counts(3);  // by kernel: of the chunks sent
    int copies = 0;
    for (const ThreadBlock& block : program->gpus[ix(rank)].thread_blocks) {
      for (const Instruction& step : block.steps) {
        if (block.kernel == 1) {
          REQUIRE(step.opcode == Opcode::Copy);
          CHECK(step.source.buffer != kOut);
          CHECK(step.target.buffer == kScratch);
          CHECK(block.steps.size() == 1);  // each copy on a block of its own
          ++copies;
        } else if (sends(step.opcode)) {
          CHECK((block.send_peer / 4 == rank / 4) == (block.kernel == 0));
          CHECK((block.send_peer % 4 == rank % 4) == (block.kernel == 2));
          counts[ix(block.kernel)].push_back(step.count);
        }
      }
    }
    // Every chunk that is not its own, to each of three others; four at a time to two servers.
    CHECK(counts[0] == std::vector<int>(3 * 3 * 2, 1));
    CHECK(copies == 2 * 4 * 2);
    CHECK(counts[2] == std::vector<int>(2 * 2, 4));
  }
}

TEST_CASE("kernels: random programs have the effect of their trace, with all their boundaries") {
  std::mt19937_64 random(3);
  int several = 0;
  int harmful = 0;
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const int ranks = 2 + static_cast<int>(seed % 3);
    const Program program = random_program(random, ranks, 4 + static_cast<int>(seed % 30));
    const bool fuse = seed % 2 == 0;
    const int instances = 1 + static_cast<int>(seed % 4) / 3;
    const ThreadBlockProgram compiled = compile(program, {.fuse = fuse, .instances = instances});
    REQUIRE(compiled.kernels() == program.kernels());
    REQUIRE(verify(program).ok);
    several += program.kernels() > 2 ? 1 : 0;
    const VerifyReport report = verify(compiled, {.slots = fuse ? 2 : 1});
    INFO("seed " << seed << "\n" << report.to_string());
    REQUIRE(report.ok);
    for (const std::int32_t slots : {fuse ? 2 : 1, 3, 8}) {
      REQUIRE(execute(compiled, {.interleavings = 4, .seed = seed, .slots = slots}).ok);
    }
    REQUIRE_FALSE(is_harmful(compiled, seed, 6));
    for (int boundary = 1; boundary < compiled.kernels(); ++boundary) {
      const ThreadBlockProgram merged = without_boundary(compiled, boundary);
      const VerifyReport verdict = verify(merged);
      refused += verdict.ok ? 0 : 1;
      if (verdict.to_string().find("already") != std::string::npos) continue;  // form
      if (!is_harmful(merged, seed, 6)) continue;
      REQUIRE_FALSE(verdict.ok);
      ++harmful;
    }
  }
  CHECK(several > 100);
  CHECK(refused > 200);
  CHECK(harmful > 20);
}

TEST_CASE("kernels: harmful mutants of composed programs are rejected") {
  std::mt19937_64 random(9);
  std::vector<std::shared_ptr<const ThreadBlockProgram>> programs;
  for (const int gpus : {2, 3}) {
    for (const bool fuse : {false, true}) {
      for (const auto& [name, kind] :
           {std::pair("hierarchical-composed", CollectiveKind::AllReduce),
            std::pair("two-step-composed", CollectiveKind::AllToAll)}) {
        auto request = composed(kind, 2, gpus, 1);
        request.compile = {.fuse = fuse};
        programs.push_back(build_algorithm(name, request));
      }
    }
  }
  int harmful = 0;
  for (int round = 0; round < 1500; ++round) {
    const auto& program = *programs[random() % programs.size()];
    const auto mutant = test::mutate(program, random);
    if (!mutant) continue;
    if (!is_harmful(mutant->program, random(), 4)) continue;
    INFO(mutant->what << " of " << program.name);
    REQUIRE_FALSE(verify(mutant->program).ok);
    ++harmful;
  }
  CHECK(harmful > 300);
}
