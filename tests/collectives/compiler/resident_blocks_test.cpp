// Compares the count of thread blocks with the blocks of compiled programs.
#include "collectives/compiler/resident_blocks.hpp"

#include "core/error.hpp"
#include "core/random.hpp"
#include "support/catch.hpp"
#include "support/shipped_algorithms.hpp"

using namespace cclgym;

TEST_CASE("resident blocks: the count is that of the compiled program", "[collectives][compiler]") {
  int programs = 0;
  for (const AlgorithmEntry& algorithm : shipped_algorithms()) {
    for (const CollectiveKind kind : algorithm.collectives) {
      for (const int ranks : {2, 3, 8, 16}) {
        if (check_ranks(algorithm, ranks)) continue;
        for (const int channels : {1, 3, 4}) {
          AlgorithmRequest request;
          request.collective = kind;
          request.ranks = ranks;
          request.channels = channels;
          const Program traced = trace_algorithm(algorithm, request);
          const CompileOptions all[] = {
              {},
              deployed_compile_options(algorithm),
              {.fuse = false, .share_blocks = false, .join_forwarding = false},
              {.share_blocks = false, .slots = 1, .instances = 2},
              {.join_forwarding = false, .instances = 3},
              {.share_blocks = false, .keep_order = true, .instances = 3}};
          for (const CompileOptions& options : all) {
            INFO(algorithm.name << ' ' << to_string(kind) << " ranks " << ranks << " channels "
                                << channels << " fuse " << options.fuse << " instances "
                                << options.instances);
            REQUIRE(compiled_resident_blocks(traced, options).count ==
                    compile(traced, options).most_resident_blocks());
          }
          ++programs;
        }
      }
    }
  }
  CHECK(programs > 100);
}

namespace {

// Every rank sends a chunk to every other one, half of them through scratch of a third rank. The
// operations are split into different numbers of parts, and have channels of their own or the
// compiler's.
Program random_exchange(Random& random, int ranks) {
  const auto below = [&](int n) { return static_cast<int>(random.integer(0, n - 1)); };
  ProgramBuilder p("exchange", Contract::make(CollectiveKind::AllToAll, ranks, ranks));
  const bool alike = below(2) == 0;
  const int parts = 1 + below(4);
  const int channel = below(3) - 1;
  const auto copy = [&](const ChunkRef& chunk, int rank, Buffer buffer, int index) {
    const auto scope = p.parallelize(alike ? parts : 1 + below(4));
    return chunk.copy(rank, buffer, index, {.channel = alike ? channel : below(4) - 1});
  };
  for (int source = 0; source < ranks; ++source) {
    for (int target = 0; target < ranks; ++target) {
      ChunkRef chunk = p.chunk(source, Buffer::Input, target);
      if (below(2) == 0) {
        chunk = copy(chunk, below(ranks), Buffer::Scratch, source * ranks + target);
      }
      (void)copy(chunk, target, Buffer::Output, source);
      if (below(20) == 0) p.next_kernel();
    }
  }
  return p.finish();
}

}  // namespace

TEST_CASE("resident blocks: parts and instances that are alike are counted once, others are not",
          "[collectives][compiler]") {
  Random random(4);
  int alike = 0;
  int others = 0;
  for (int i = 0; i < 200; ++i) {
    const Program program = random_exchange(random, 2 + i % 5);
    CompileOptions options;
    options.instances = 1 + i % 3;
    options.fuse = i % 2 == 0;
    options.join_forwarding = i % 4 < 2;
    options.share_blocks = i % 8 < 4;
    options.keep_order = i % 16 < 8;
    options.slots = 1 + i % 7 % 2;
    INFO("program " << i);
    const ResidentBlocks blocks = compiled_resident_blocks(program, options);
    REQUIRE(blocks.count == compile(program, options).most_resident_blocks());
    ++(blocks.by_instance ? alike : others);
    if (!blocks.by_instance) continue;
    options.instances = 1;
    REQUIRE(blocks.count == (1 + i % 3) * compile(program, options).most_resident_blocks());
  }
  CHECK(alike > 30);
  CHECK(others > 30);
}

TEST_CASE("resident blocks: of several kernels, the largest counts", "[collectives][compiler]") {
  // Rank 0 sends to one rank in the first kernel and to three in the second: 1 and 3 blocks, not 4.
  ProgramBuilder p("fan", Contract::make(CollectiveKind::AllToAll, 4, 4));
  (void)p.chunk(0, Buffer::Input, 1).copy(1, Buffer::Output, 0);
  p.next_kernel();
  for (int rank = 1; rank < 4; ++rank) {
    (void)p.chunk(0, Buffer::Input, rank).copy(rank, Buffer::Output, 0);
  }
  const Program program = p.finish();
  CHECK(compiled_resident_blocks(program).count == 3);
  CHECK(compile(program).most_resident_blocks() == 3);
  CHECK_THROWS_AS(compiled_resident_blocks(program, {.slots = 0}), UserError);
}
