#include "collectives/algorithms/algorithms.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "collectives/compiler/compile.hpp"
#include "collectives/verifier/numeric_oracle.hpp"
#include "collectives/verifier/verify.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/index.hpp"
#include "support/sanitized.hpp"
#include "support/shipped_algorithms.hpp"
#include "support/thorough.hpp"

using namespace cclgym;

namespace {

AlgorithmRequest request_for(CollectiveKind kind, int ranks, int channels, int root = 0) {
  AlgorithmRequest request;
  request.collective = kind;
  request.ranks = ranks;
  request.channels = channels;
  request.root = root;
  return request;
}

std::string error_of(std::string_view name, const AlgorithmRequest& request) {
  try {
    (void)build_algorithm(name, request);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("algorithms: every shipped program is right for 2 to 64 ranks",
          "[collectives][algorithms][thorough]") {
  const int most = test::kSanitized ? 28 : 64;
  test::Sample sample(12);
  int programs = 0;
  for (const AlgorithmEntry& algorithm : shipped_algorithms()) {
    for (const CollectiveKind kind : algorithm.collectives) {
      for (int ranks = 2; ranks <= most; ++ranks) {
        if (check_ranks(algorithm.name, ranks)) continue;
        if (ranks > 9 && sample.skips()) continue;
        for (int channels = 1; channels <= (ranks <= 24 ? 3 : 1); ++channels) {
          const auto request = request_for(kind, ranks, channels, (ranks - 1) * channels / 3);
          const Program traced = trace_algorithm(algorithm.name, request);
          INFO(algorithm.name << " " << to_string(kind) << " ranks " << ranks << " channels "
                              << channels);
          REQUIRE(verify(traced).ok);
          // The compiler promises that one slot is enough, or two if instructions are fused.
          for (const bool fuse : {false, true}) {
            const VerifyReport report =
                verify(compile(traced, {.fuse = fuse}), {.slots = fuse ? 2 : 1});
            INFO(report.to_string());
            REQUIRE(report.ok);
          }
          ++programs;
        }
      }
    }
  }
  CHECK(programs > (test::thorough() && !test::kSanitized ? 3000 : 300));
}

TEST_CASE("algorithms: every collective has an algorithm, with the right counts",
          "[collectives][algorithms]") {
  std::set<CollectiveKind> seen;
  for (const AlgorithmEntry& algorithm : shipped_algorithms()) {
    for (const CollectiveKind kind : algorithm.collectives) {
      seen.insert(kind);
      for (const int ranks : {2, 3, 4, 7, 8}) {
        if (check_ranks(algorithm.name, ranks)) continue;
        for (int root = 0; root < ranks; root += 3) {
          const auto program = build_algorithm(algorithm.name, request_for(kind, ranks, 2, root));
          CHECK(program->name == algorithm.name);
          // The two phases have separate channels.
          const bool phases =
              algorithm.name == "hierarchical" ||
              (kind == CollectiveKind::AllReduce &&
               (algorithm.name == "nvls" || algorithm.name.starts_with("symmetric-ldst")));
          CHECK(program->channels == (phases || algorithm.name == "nvls-tree" ? 4 : 2));
          CHECK(program->contract.kind() == kind);
          for (std::uint64_t seed = 0; seed < 4; ++seed) {
            test::NumericMemory memory(program->contract, test::scratch_of(*program), seed);
            REQUIRE(test::interpret(*program, memory, seed) == test::Outcome::Right);
          }
        }
      }
    }
  }
  CHECK(seen.size() == all_collectives().size());
}

TEST_CASE("algorithms: on several nodes, and in several instances",
          "[collectives][algorithms][thorough]") {
  test::Sample sample(6);
  for (const auto& [name, kind] : {std::pair("hierarchical", CollectiveKind::AllReduce),
                                   std::pair("hierarchical-composed", CollectiveKind::AllReduce),
                                   std::pair("two-step", CollectiveKind::AllToAll),
                                   std::pair("two-step-composed", CollectiveKind::AllToAll),
                                   std::pair("three-step", CollectiveKind::AllToAll),
                                   std::pair("hierarchical-all-pairs", CollectiveKind::AllReduce),
                                   std::pair("nvls", CollectiveKind::AllReduce),
                                   std::pair("nvls-tree", CollectiveKind::AllReduce),
                                   std::pair("collnet-chain", CollectiveKind::AllReduce),
                                   std::pair("collnet-direct", CollectiveKind::AllReduce),
                                   std::pair("collnet-direct", CollectiveKind::AllGather),
                                   std::pair("collnet-direct", CollectiveKind::ReduceScatter),
                                   std::pair("all-to-next", CollectiveKind::AllToNext)}) {
    for (const int servers : {1, 2, 3, 4}) {
      for (const int gpus : {1, 2, 3, 4, 8}) {
        if (servers * gpus < 2 || (test::kSanitized && servers * gpus > 16)) continue;
        for (int channels = 1; channels <= 3; ++channels) {
          auto request = request_for(kind, servers * gpus, channels);
          request.ranks_per_server = gpus;
          if (check_request(shipped_algorithm(name), request)) continue;
          if (servers * gpus > 6 && sample.skips()) continue;
          INFO(name << " " << servers << " x " << gpus << " channels " << channels);
          REQUIRE(build_algorithm(name, request) != nullptr);  // the build verifies the program
          request.compile = {.instances = 1 + channels % 2};
          const auto program = build_algorithm(name, request);
          if (servers * gpus > (test::kSanitized ? 9 : 16)) continue;
          for (std::uint64_t seed = 0; seed < 2; ++seed) {
            test::NumericMemory memory(program->contract, test::scratch_of(*program), seed);
            REQUIRE(test::interpret(*program, memory, seed) == test::Outcome::Right);
          }
        }
      }
    }
  }
  auto request = request_for(CollectiveKind::AllReduce, 6, 1);
  request.ranks_per_server = 4;
  CHECK(error_of("hierarchical", request) ==
        "6 ranks on nodes of 4; expected the same number on each");
}

TEST_CASE("algorithms: messages between nodes", "[collectives][algorithms]") {
  const auto crossing = [](const char* name, CollectiveKind kind, int servers) {
    auto request = request_for(kind, servers * 8, 1);
    request.ranks_per_server = 8;
    std::multiset<int> counts;  // number of chunks of each message
    const auto program = build_algorithm(name, request);
    for (int rank = 0; const GpuProgram& gpu : program->gpus) {
      for (const ThreadBlock& block : gpu.thread_blocks) {
        for (const Instruction& step : block.steps) {
          if (sends(step.opcode) && block.send_peer / 8 != rank / 8) counts.insert(step.count);
        }
      }
      ++rank;
    }
    return counts;
  };
  // Each rank sends one message of eight chunks to its counterpart on each other node.
  const auto two_step = crossing("two-step", CollectiveKind::AllToAll, 3);
  CHECK(two_step.size() == 24 * 2);
  CHECK(two_step.count(8) == two_step.size());
  // Each rank of a node sends an eighth of the data.
  CHECK(crossing("all-to-next", CollectiveKind::AllToNext, 3).size() == 16);
  // There is a ring AllReduce of two chunks in each of eight pairs.
  CHECK(crossing("hierarchical", CollectiveKind::AllReduce, 2).size() == 8 * 4);
}

TEST_CASE("algorithms: a ring moves size / (ranks * channels) per step and channel",
          "[collectives][algorithms]") {
  for (const int ranks : {2, 3, 8}) {
    for (const int channels : {1, 2, 3}) {
      const auto all =
          build_algorithm("ring", request_for(CollectiveKind::AllReduce, ranks, channels));
      CHECK(all->contract.chunks_per_call() == ranks * channels);
      for (const GpuProgram& gpu : all->gpus) {
        CHECK(std::ssize(gpu.thread_blocks) == channels);
        for (const ThreadBlock& block : gpu.thread_blocks) {
          CHECK(std::ssize(block.steps) == 4 * (ranks - 1));
          for (const Instruction& step : block.steps) CHECK(step.count == 1);
        }
      }
      for (const auto kind : {CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
        const auto half = build_algorithm("ring", request_for(kind, ranks, channels));
        CHECK(half->contract.chunks_per_call() == ranks * channels);
        CHECK(half->instructions() == std::int64_t{2} * (ranks - 1) * ranks * channels);
        // Two ranks have nothing to pass on, so sends and receives stay separate.
        CHECK(half->thread_blocks() == std::int64_t{ranks == 2 ? 2 : 1} * ranks * channels);
      }
    }
  }
}

TEST_CASE("algorithms: recursive doubling and halving send one message per step and channel",
          "[collectives][algorithms]") {
  for (const auto& [name, kind] : {std::pair("recursive-doubling", CollectiveKind::AllGather),
                                   std::pair("recursive-halving", CollectiveKind::ReduceScatter)}) {
    const auto program = build_algorithm(name, request_for(kind, 8, 3));
    std::vector<int> chunks_sent(4, 0);  // by log2 of the message's slices
    for (const GpuProgram& gpu : program->gpus) {
      for (const ThreadBlock& block : gpu.thread_blocks) {
        for (const Instruction& step : block.steps) {
          if (step.opcode != Opcode::Send) continue;
          REQUIRE((step.count == 1 || step.count == 2 || step.count == 4));
          ++chunks_sent[ix(step.count / 2)];
        }
      }
    }
    // Each rank sends one message of each size on each channel.
    CHECK(chunks_sent == std::vector<int>{24, 24, 24, 0});
  }
}

TEST_CASE("algorithms: PAT has one message per step, the largest to the nearest rank",
          "[collectives][algorithms]") {
  for (const CollectiveKind kind : {CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
    for (const int ranks : {2, 3, 5, 8, 11, 16, 37}) {
      const auto program = build_algorithm("pat", request_for(kind, ranks, 1));
      for (int rank = 0; rank < ranks; ++rank) {
        std::map<int, int> chunks_to;  // by distance
        for (const ThreadBlock& block : program->gpus[ix(rank)].thread_blocks) {
          for (const Instruction& step : block.steps) {
            if (!sends(step.opcode)) continue;
            const int distance = kind == CollectiveKind::AllGather
                                     ? (block.send_peer - rank + ranks) % ranks
                                     : (rank - block.send_peer + ranks) % ranks;
            REQUIRE(chunks_to.emplace(distance, step.count).second);
          }
        }
        int steps = 0;
        for (int distance = 1; distance < ranks; distance *= 2, ++steps) {
          // Number of multiples m of 2 * distance for which there is a rank m + distance.
          REQUIRE(chunks_to[distance] == (ranks - distance + 2 * distance - 1) / (2 * distance));
        }
        CHECK(std::ssize(chunks_to) == steps);
      }
    }
  }
}

TEST_CASE("algorithms: requested rings are used, channel by channel", "[collectives][algorithms]") {
  auto request = request_for(CollectiveKind::AllGather, 4, 3);
  request.rings = {{0, 1, 2, 3}, {2, 0, 3, 1}};
  const auto program = build_algorithm("ring", request);
  const auto& blocks = program->gpus[0].thread_blocks;
  REQUIRE(blocks.size() == 3);
  CHECK(blocks[0].send_peer == 1);
  CHECK(blocks[1].send_peer == 3);
  CHECK(blocks[2].send_peer == 1);
  request.rings = {{0, 1, 2, 2}};
  CHECK(error_of("ring", request) == "ring 0-1-2-2; expected each of the ranks 0 to 3 once");
}

TEST_CASE("algorithms: Rabenseifner's sends the largest messages to the nearest ranks",
          "[collectives][algorithms]") {
  for (const auto& [name, kind] : {std::pair("rabenseifner", CollectiveKind::AllReduce),
                                   std::pair("rabenseifner", CollectiveKind::Reduce),
                                   std::pair("butterfly", CollectiveKind::ReduceScatter)}) {
    const auto program = build_algorithm(name, request_for(kind, 8, 1, 0));
    std::map<std::pair<int, int>, int> messages;  // number of messages by distance and chunks
    for (int rank = 0; rank < 8; ++rank) {
      for (const ThreadBlock& block : program->gpus[ix(rank)].thread_blocks) {
        for (const Instruction& step : block.steps) {
          if (sends(step.opcode)) ++messages[{rank ^ block.send_peer, step.count}];
        }
      }
    }
    INFO(name << " " << to_string(kind));
    // In the second phase of AllReduce all ranks send; in Reduce, four ranks, then two, then one.
    const bool all = kind == CollectiveKind::AllReduce;
    const bool root = kind == CollectiveKind::Reduce;
    CHECK(messages[{1, 4}] == 8 + (all ? 8 : 0) + (root ? 1 : 0));
    CHECK(messages[{2, 2}] == 8 + (all ? 8 : 0) + (root ? 2 : 0));
    CHECK(messages[{4, 1}] == 8 + (all ? 8 : 0) + (root ? 4 : 0));
    // Slices 1, 3, 4 and 6 end at the ranks whose bits are reversed.
    CHECK(messages[{5, 1}] == (kind == CollectiveKind::ReduceScatter ? 4 : 0));
  }
}

TEST_CASE("algorithms: thread blocks of the busiest GPU are known before compiling",
          "[collectives][algorithms][thorough]") {
  test::Sample sample(4);
  // Fewer blocks suffice where runs are forwarded, so the number is an upper bound that is not far
  // off.
  const auto is_bound = [](const std::string& name, const AlgorithmRequest& request) {
    return name == "recursive-halving" || name == "pat" || name == "nvls-tree" ||
           name == "halving-doubling" || name == "two-step" || name == "hierarchical" ||
           name == "three-step" || name == "hierarchical-all-pairs" || name == "linear" ||
           name == "rabenseifner" || name == "butterfly" || name == "scatter-allgather" ||
           name == "bruck" || name == "neighbor-exchange" ||
           (name == "tree" && request.collective == CollectiveKind::AllReduce) ||
           (name == "recursive-doubling" && request.collective == CollectiveKind::AllGather) ||
           (name == "spread-ring" && request.ranks == 2);
  };
  const auto check = [&](const std::string& name, const AlgorithmRequest& request) {
    const auto program = compile(trace_algorithm(name, request), request.compile);
    const std::int64_t most = program.most_resident_blocks();
    const int told = thread_blocks_per_gpu(name, request);
    CAPTURE(name, to_string(request.collective), request.ranks, request.channels, request.root,
            request.ranks_per_server, told, most);
    if (is_bound(name, request)) {
      REQUIRE(told >= most);
      REQUIRE(told <= (name == "tree" ? 3 : 2) * most);
    } else {
      REQUIRE(told == most);
    }
  };
  for (const AlgorithmEntry& algorithm : shipped_algorithms()) {
    for (const CollectiveKind kind : algorithm.collectives) {
      for (int ranks = 2; ranks <= (test::kSanitized ? 9 : 24); ++ranks) {
        if (check_ranks(algorithm.name, ranks)) continue;
        for (const int channels : {1, 2, 3, 8}) {
          if (ranks > 16 && channels > 2) continue;
          if (ranks > 9 && sample.skips()) continue;
          auto request = request_for(kind, ranks, channels, (ranks - 1) * channels / 8);
          check(algorithm.name, request);
          for (int servers = 2; servers <= ranks; ++servers) {
            if (ranks % servers != 0) continue;
            request.ranks_per_server = ranks / servers;
            if (!check_request(algorithm, request)) check(algorithm.name, request);
          }
        }
      }
    }
  }
  for (const std::array<int, 2> children : {std::array{0, 0}, std::array{1, 1}}) {
    for (int nodes = 2; nodes <= 9; ++nodes) {
      for (int each = 2; each <= 4; ++each) {
        auto request = request_for(CollectiveKind::AllReduce, nodes * each, 2);
        request.ranks_per_server = each;
        request.tree_children = children;
        check("tree", request);
      }
    }
  }
  auto request = request_for(CollectiveKind::AllReduce, 5, 4);
  request.rings = {{0, 3, 1, 4, 2}, {2, 1, 0, 4, 3}, {0, 1, 2, 3, 4}};
  check("ring", request);
  check("spread-ring", request);
  CHECK_THROWS_AS(thread_blocks_per_gpu("rinq", request), UserError);
  CHECK(thread_blocks_per_gpu("all-pairs",
                              request_for(CollectiveKind::AllReduce, 1 << 20, 1 << 20)) ==
        std::numeric_limits<int>::max());
}

TEST_CASE("algorithms: errors", "[collectives][algorithms]") {
  CHECK(error_of("rnig", request_for(CollectiveKind::AllReduce, 4, 1)) ==
        "unknown algorithm 'rnig'; expected one of ring, recursive-doubling, recursive-halving, "
        "halving-doubling, tree, all-pairs, naive, spread-ring, hierarchical, "
        "hierarchical-composed, two-step, two-step-composed, all-to-next, one-step, "
        "hierarchical-all-pairs, chain, three-step, pat, nvls, nvls-tree, collnet-chain, "
        "collnet-direct, symmetric-ll, symmetric-llmc, symmetric-ldst, symmetric-ldstmc, "
        "linear, pipeline, "
        "four-chains, binary-tree, binomial-tree, knomial-tree, scatter-allgather, "
        "scatter-allgather-ring, rabenseifner, butterfly, bruck, neighbor-exchange, pairwise, "
        "pccl-ring, pccl-rec (did you mean 'ring'?)");
  CHECK(error_of("ring", request_for(CollectiveKind::AllToAll, 4, 1)) ==
        "ring has no alltoall; expected one of allreduce, allgather, reducescatter, broadcast, "
        "reduce");
  CHECK(error_of("halving-doubling", request_for(CollectiveKind::AllReduce, 6, 1)) ==
        "halving-doubling does not run on 6 ranks: it needs a power of two >= 2");
  CHECK(error_of("ring", request_for(CollectiveKind::AllReduce, 1, 1)) ==
        "ring does not run on 1 rank: it needs any number of ranks >= 2");
  CHECK(error_of("ring", request_for(CollectiveKind::AllReduce, 4, 0)) ==
        "0 channels; expected at least 1");
  CHECK(error_of("tree", request_for(CollectiveKind::Broadcast, 4, 1, 4)) ==
        "broadcast: root 4; expected 0 to 3");
  CHECK_THROWS_AS(shipped_algorithm("bogus"), UserError);
  CHECK(supports(shipped_algorithm("tree"), CollectiveKind::Reduce));
  CHECK_FALSE(supports(shipped_algorithm("tree"), CollectiveKind::AllGather));
}
