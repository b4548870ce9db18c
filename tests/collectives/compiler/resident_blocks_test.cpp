// Compares the count of thread blocks with the blocks of compiled programs.
#include "collectives/compiler/resident_blocks.hpp"

#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/shipped_algorithms.hpp"

using namespace cclgym;

TEST_CASE("resident blocks: the count is that of the compiled program", "[collectives][compiler]") {
  int programs = 0;
  for (const AlgorithmEntry& algorithm : shipped_algorithms()) {
    for (const CollectiveKind kind : algorithm.collectives) {
      for (const int ranks : {2, 3, 8, 16}) {
        if (check_ranks(algorithm, ranks)) continue;
        for (const int channels : {1, 3}) {
          AlgorithmRequest request;
          request.collective = kind;
          request.ranks = ranks;
          request.channels = channels;
          const Program traced = trace_algorithm(algorithm, request);
          const CompileOptions all[] = {
              {},
              deployed_compile_options(algorithm),
              {.fuse = false, .share_blocks = false, .join_forwarding = false},
              {.share_blocks = false, .slots = 1, .instances = 2}};
          for (const CompileOptions& options : all) {
            INFO(algorithm.name << ' ' << to_string(kind) << " ranks " << ranks << " channels "
                                << channels << " fuse " << options.fuse << " instances "
                                << options.instances);
            REQUIRE(compiled_resident_blocks(traced, options) ==
                    compile(traced, options).most_resident_blocks());
          }
          ++programs;
        }
      }
    }
  }
  CHECK(programs > 100);
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
  CHECK(compiled_resident_blocks(program) == 3);
  CHECK(compile(program).most_resident_blocks() == 3);
  CHECK_THROWS_AS(compiled_resident_blocks(program, {.slots = 0}), UserError);
}
