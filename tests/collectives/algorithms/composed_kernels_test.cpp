// Tests of complete programs of several kernels: those of the library, random ones, and mutants of
// them.
#include <map>
#include <optional>
#include <random>
#include <set>
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

using Chunks = std::set<std::pair<int, int>>;  ///< ranks and indices of the inputs in a sum

/// Operations on buffers of four chunks, with an occasional new kernel. The contract requires the
/// outputs that the operations produce.
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
      if (sum.size() < held[target].size() + chunks.size()) continue;  // duplicate chunk
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

}  // namespace

TEST_CASE("kernels: composed programs run with any number of slots, and only with their boundaries",
          "[collectives][composed-kernels]") {
  for (const auto& [name, kind] : {std::pair("hierarchical-composed", CollectiveKind::AllReduce),
                                   std::pair("two-step-composed", CollectiveKind::AllToAll)}) {
    for (const auto& [servers, gpus] : {std::pair(2, 2), std::pair(3, 4), std::pair(2, 8)}) {
      for (const bool fuse : {false, true}) {
        auto request = composed(kind, servers, gpus, 2);
        request.compile = {.fuse = fuse, .share_blocks = fuse};
        const auto program = build_algorithm(name, request);  // the build verifies the program
        REQUIRE(program->kernels() == 3);
        REQUIRE(program->traits.runtime == Runtime::Nccl);
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

TEST_CASE("kernels: the composed hierarchical AllReduce consists of NCCL's three collectives",
          "[collectives][composed-kernels]") {
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

TEST_CASE("kernels: hand-written Two-Step copies in a separate kernel",
          "[collectives][composed-kernels]") {
  const auto program =
      build_algorithm("two-step-composed", composed(CollectiveKind::AllToAll, 3, 4, 2));
  for (int rank = 0; rank < 12; ++rank) {
    std::vector<std::vector<int>> counts(3);  // chunks of each message, by kernel
    int copies = 0;
    for (const ThreadBlock& block : program->gpus[ix(rank)].thread_blocks) {
      for (const Instruction& step : block.steps) {
        if (block.kernel == 1) {
          REQUIRE(step.opcode == Opcode::Copy);
          CHECK(step.source.buffer != kOut);
          CHECK(step.target.buffer == kScratch);
          CHECK(block.steps.size() == 1);  // each copy has its own block
          ++copies;
        } else if (sends(step.opcode)) {
          CHECK((block.send_peer / 4 == rank / 4) == (block.kernel == 0));
          CHECK((block.send_peer % 4 == rank % 4) == (block.kernel == 2));
          counts[ix(block.kernel)].push_back(step.count);
        }
      }
    }
    // Kernel 0 sends single chunks, one for each of three nodes to each of three peers, on each
    // channel. Kernel 2 sends four chunks at a time to each of two other nodes, on each channel.
    CHECK(counts[0] == std::vector<int>(3 * 3 * 2, 1));
    CHECK(copies == 2 * 4 * 2);
    CHECK(counts[2] == std::vector<int>(2 * 2, 4));
  }
}

TEST_CASE("kernels: random programs have the effect of their trace, with all their boundaries",
          "[collectives][composed-kernels]") {
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
      if (verdict.to_string().find("already") != std::string::npos) continue;  // ill-formed
      if (!is_harmful(merged, seed, 6)) continue;
      REQUIRE_FALSE(verdict.ok);
      ++harmful;
    }
  }
  CHECK(several > 100);
  CHECK(refused > 200);
  CHECK(harmful > 20);
}

TEST_CASE("kernels: harmful mutants of composed programs are rejected",
          "[collectives][composed-kernels]") {
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
