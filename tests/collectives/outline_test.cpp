// Tests of outlines: loops found in programs, and programs written directly as outlines.
#include "collectives/outline.hpp"

#include <fmt/format.h>
#include <numeric>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/random.hpp"
#include "support/catch.hpp"
#include "support/shipped_algorithms.hpp"
#include "support/thorough.hpp"

using namespace cclgym;

namespace {

/// Complete text of an outline, one line per step, without loops.
std::string text(const ProgramOutline& folded) {
  const ProgramOutline program = folded.unrolled();
  std::string result =
      fmt::format("{} {} {} {}\n", program.name, program.channels,
                  program.contract.chunks_per_call(), to_string(program.traits.runtime));
  for (const KernelGate& gate : program.gates) {
    result += fmt::format("gate {} {} after {}\n", gate.rank, gate.kernel, gate.after);
  }
  for (int rank = 0; rank < program.ranks(); ++rank) {
    result += fmt::format("rank {}\n", rank);
    for (std::uint32_t b = program.first_block(rank); b < program.first_block(rank + 1); ++b) {
      const OutlineBlock& block = program.blocks[b];
      result += fmt::format("  block to {} from {} channel {} kernel {}\n", block.send_peer,
                            block.recv_peer, block.channel, block.kernel);
      for (const OutlineLoop& loop : program.loops_of(b)) {
        for (std::int32_t i = 0; i < loop.body; ++i) {
          const std::uint32_t step = loop.first + static_cast<std::uint32_t>(i);
          result += fmt::format("    {} {}", to_string(program.steps[step].opcode),
                                program.steps[step].count);
          for (const OutlineWait& wait : program.waits_of(step)) {
            result += fmt::format(" after {}.{}", wait.thread_block, wait.step);
          }
          result += "\n";
        }
      }
    }
  }
  return result;
}

AlgorithmRequest request_of(CollectiveKind collective, int ranks, int ranks_per_server = 0) {
  AlgorithmRequest request;
  request.collective = collective;
  request.ranks = ranks;
  request.ranks_per_server = ranks_per_server;
  return request;
}

int between(Random& random, int low, int high) {
  return static_cast<int>(random.integer(low, high));
}

std::vector<std::vector<int>> random_rings(Random& random, int ranks) {
  std::vector<std::vector<int>> rings(random() % 4);
  for (auto& ring : rings) {
    ring.resize(static_cast<std::size_t>(ranks));
    std::iota(ring.begin(), ring.end(), 0);
    for (std::size_t i = ring.size(); i-- > 1;) std::swap(ring[i], ring[random() % (i + 1)]);
  }
  return rings;
}

/// The compile options that the simulator uses, and the compiler's defaults.
std::vector<CompileOptions> ways() {
  return {{.fuse = false, .share_blocks = false},
          {.share_blocks = false, .join_forwarding = false},
          {}};
}

}  // namespace

TEST_CASE("outlines of collectives over levels equal the compiler's result",
          "[collectives][outline][levels][thorough]") {
  Random random = Random::stream(12, {});
  test::Sample sample(6);
  int compared = 0;
  for (const std::string factors : {"8", "3", "2x2", "3x4", "4x3", "8x4", "2x3x4", "4x16"}) {
    for (const std::string algorithms :
         {"ring", "recursive", "bruck", "broadcast-reduce", "all-pairs", "ring+recursive",
          "all-pairs+ring", "bruck+broadcast-reduce", "recursive+ring+bruck"}) {
      for (const std::string shuffle : {"after", "before", "avoided", "overlapped"}) {
        const std::string name = "hierarchical:" + factors + ":" + algorithms + ":" + shuffle +
                                 (factors == "2x3x4" ? ":subcomms=1"
                                  : factors == "8x4" ? ":subcomms=3"
                                                     : "");
        AlgorithmLibrary library;
        try {
          library.add_spelled(name);
        } catch (const UserError&) {
          continue;  // another number of levels
        }
        const AlgorithmEntry& entry = library.at(name);
        int ranks = 2;
        while (check_ranks(entry, ranks)) ++ranks;
        for (const CollectiveKind collective : entry.collectives) {
          for (const CompileOptions& way : ways()) {
            AlgorithmRequest request = request_of(collective, ranks);
            request.channels = 1 + compared % 3;
            request.compile = way;
            request.rings = random_rings(random, ranks);
            const std::size_t times = factors.find('x');
            if (times != std::string::npos) request.ranks_per_server = std::stoi(factors);
            if (check_request(entry, request)) continue;
            if (ranks > 12 && sample.skips()) continue;
            const auto written = outline_algorithm(entry, request);
            REQUIRE(written);
            const auto compiled = build_algorithm(entry, request);
            CAPTURE(name, to_string(collective), request.channels, way.fuse, way.share_blocks);
            const std::string expected = text(outline_of(*compiled, false));
            const bool written_right = text(*written) == expected;
            REQUIRE(written_right);
            // Folding loses nothing, also where steps without waits come before a loop.
            const bool folded_right = text(outline_of(*compiled)) == expected;
            REQUIRE(folded_right);
            ++compared;
          }
        }
      }
    }
  }
  CHECK(compared > (test::thorough() ? 800 : 350));
}

TEST_CASE("a program written as an outline equals the compiler's result",
          "[collectives][outline][thorough]") {
  Random random = Random::stream(11, {});
  test::Sample sample(4);
  int compared = 0;
  for (const AlgorithmEntry& algorithm : shipped_algorithms()) {
    for (const CollectiveKind collective : algorithm.collectives) {
      for (int ranks = 2; ranks <= 24; ++ranks) {
        if (check_ranks(algorithm.name, ranks)) continue;
        for (const CompileOptions& way : ways()) {
          AlgorithmRequest request = request_of(collective, ranks);
          do {
            request.ranks_per_server = between(random, 1, ranks);
          } while (ranks % request.ranks_per_server != 0);
          request.channels = between(random, 1, 5);
          request.root = between(random, 0, ranks - 1);
          request.rings = random_rings(random, ranks);
          request.compile = way;
          request.compile.instances = between(random, 1, 3);
          if (check_request(algorithm, request)) continue;
          if (ranks > 9 && sample.skips()) continue;
          const auto written = outline_algorithm(algorithm.name, request);
          if (!written) continue;
          CAPTURE(algorithm.name, to_string(collective), ranks, request.ranks_per_server,
                  request.channels, request.root, way.fuse, way.share_blocks, way.join_forwarding,
                  request.compile.instances);
          const auto compiled = build_algorithm(algorithm.name, request);
          REQUIRE(text(*written) == text(outline_of(*compiled, false)));
          REQUIRE(written->instructions() == compiled->instructions());
          REQUIRE(written->most_resident_blocks() == compiled->most_resident_blocks());
          ++compared;
        }
      }
    }
  }
  CHECK(compared > (test::thorough() ? 600 : 250));
}

TEST_CASE("hierarchical outlines for many node shapes", "[collectives][outline]") {
  for (const int gpus : {3, 4, 8}) {
    for (const int servers : {3, 4, 7}) {
      for (const int channels : {1, 2, 3, 4, 8, 9}) {
        for (const CompileOptions& way : ways()) {
          AlgorithmRequest request = request_of(CollectiveKind::AllReduce, gpus * servers, gpus);
          request.channels = channels;
          request.compile = way;
          CAPTURE(gpus, servers, channels, way.fuse, way.share_blocks, way.join_forwarding);
          const auto written = outline_algorithm("hierarchical", request);
          REQUIRE(written);
          REQUIRE(text(*written) ==
                  text(outline_of(*build_algorithm("hierarchical", request), false)));
        }
      }
    }
  }
}

TEST_CASE("loops are found, and unrolling them gives the program again", "[collectives][outline]") {
  for (const AlgorithmEntry& algorithm : shipped_algorithms()) {
    for (const CollectiveKind collective : algorithm.collectives) {
      for (const int ranks : {8, 16}) {
        for (const CompileOptions& way : ways()) {
          AlgorithmRequest request = request_of(collective, ranks, 4);
          request.channels = 2;
          request.compile = way;
          CAPTURE(algorithm.name, to_string(collective), ranks, way.fuse, way.join_forwarding);
          if (check_request(algorithm, request)) request.ranks_per_server = ranks;
          const auto program = build_algorithm(algorithm.name, request);
          const ProgramOutline folded = outline_of(*program);
          REQUIRE(text(folded) == text(outline_of(*program, false)));
          REQUIRE(folded.instructions() == program->instructions());
          REQUIRE(folded.kernels() == program->kernels());
        }
      }
    }
  }
  // A ring has only a handful of steps, regardless of its number of ranks.
  for (const int ranks : {16, 48}) {
    for (const CompileOptions& way : ways()) {
      AlgorithmRequest request = request_of(CollectiveKind::AllReduce, ranks);
      request.compile = way;
      const ProgramOutline folded = outline_of(*build_algorithm("ring", request));
      CHECK(folded.has_loops());
      CHECK(std::ssize(folded.steps) <= 6 * ranks + 1);
    }
  }
}

TEST_CASE("steps of an outline have the numbers under which the block runs them",
          "[collectives][outline]") {
  AlgorithmRequest request = request_of(CollectiveKind::AllReduce, 12);
  request.compile = {.fuse = false, .share_blocks = false};
  const auto program = build_algorithm("ring", request);
  const ProgramOutline outline = outline_of(*program);
  REQUIRE(outline.has_loops());
  for (int rank = 0; rank < 12; ++rank) {
    const auto& steps = program->gpus[static_cast<std::size_t>(rank)].thread_blocks[0].steps;
    const std::uint32_t block = outline.first_block(rank);
    for (std::int32_t number = 0; number < std::ssize(steps); ++number) {
      const OutlineLoop& loop = outline.loop_at(block, number);
      const std::int32_t offset = number - loop.first_step;
      const std::uint32_t step = loop.first + static_cast<std::uint32_t>(offset % loop.body);
      REQUIRE(outline.number_of(block, step, offset / loop.body) == number);
      REQUIRE(outline.step_at(block, number).opcode ==
              steps[static_cast<std::size_t>(number)].opcode);
      REQUIRE(describe_step(outline, rank, 0, number) == describe_step(*program, rank, 0, number));
    }
  }
}
