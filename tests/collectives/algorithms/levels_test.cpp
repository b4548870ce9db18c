// Tests of collectives over levels of ranks.
#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/algorithms/levels/level_phases.hpp"
#include "collectives/algorithms/levels/level_plan.hpp"
#include "collectives/compiler/compile.hpp"
#include "collectives/expand_parallel.hpp"
#include "collectives/library/algorithm_library.hpp"
#include "collectives/verifier/numeric_oracle.hpp"
#include "collectives/verifier/verify.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "support/shipped_algorithms.hpp"

namespace cclgym::test {

namespace {

using algorithms::LevelLayout;
using algorithms::LevelPlan;
using Kind = CollectiveKind;

const std::vector<std::string> kLevelNames{"ring", "recursive", "bruck", "broadcast-reduce",
                                           "all-pairs"};
const std::vector<std::string> kShuffles{"after", "before", "avoided", "overlapped"};

AlgorithmEntry spelled(const std::string& name) {
  AlgorithmLibrary library;
  library.add_spelled(name);
  return library.at(name);
}

AlgorithmRequest levels_request(Kind kind, int ranks, int channels = 1, int node = 0) {
  AlgorithmRequest request;
  request.collective = kind;
  request.ranks = ranks;
  request.channels = channels;
  request.ranks_per_server = node;
  return request;
}

int product(const std::vector<int>& factors) {
  int ranks = 1;
  for (const int factor : factors) ranks *= factor;
  return ranks;
}

std::string name_of(const std::vector<int>& factors, const std::vector<std::string>& levels,
                    const std::string& shuffle = "after") {
  return fmt::format("hierarchical:{}:{}:{}", fmt::join(factors, "x"), fmt::join(levels, "+"),
                     shuffle);
}

std::string error_of_name(const std::string& name) {
  try {
    (void)spelled(name);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

std::string error_of_build(const AlgorithmEntry& entry, const AlgorithmRequest& request) {
  try {
    (void)build_algorithm(entry, request);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

// Verifies a program with and without fusion.
void require_right(const AlgorithmEntry& entry, const AlgorithmRequest& request) {
  INFO(entry.name << " " << to_string(request.collective) << " channels " << request.channels);
  const Program traced = trace_algorithm(entry, request);
  REQUIRE(verify(traced).ok);
  for (const bool fuse : {false, true}) {
    const VerifyReport report = verify(compile(traced, {.fuse = fuse}), {.slots = fuse ? 2 : 1});
    INFO(report.to_string());
    REQUIRE(report.ok);
  }
}

// Messages that the slowest slice of a power-of-two scheme waits for: the maximum number of bits of
// a distance.
int most_bits_below(int number) {
  int most = 0;
  for (unsigned i = 0; i < static_cast<unsigned>(number); ++i)
    most = std::max(most, std::popcount(i));
  return most;
}

int steps_of_level(const std::string& level, int factor) {
  if (level == "ring") return factor - 1;
  if (level == "all-pairs") return factor > 1 ? 1 : 0;
  return most_bits_below(factor);
}

// Messages on the longest chain of dependent messages.
int longest_chain(const Program& program) {
  std::map<std::tuple<int, Buffer, int>, int> depth;
  int longest = 0;
  for (const Operation& operation : program.operations) {
    int before = 0;
    const auto place = [&](const Location& location, int k) -> int& {
      const Location at = program.contract.resolve(location);
      return depth[{at.rank, at.buffer, at.index + k}];
    };
    for (int k = 0; k < operation.count; ++k) {
      before = std::max(before, place(operation.source, k));
      if (operation.kind == OperationKind::Reduce) {
        before = std::max(before, place(operation.target, k) - (operation.remote() ? 1 : 0));
      }
    }
    const int after = before + (operation.remote() ? 1 : 0);
    for (int k = 0; k < operation.count; ++k) place(operation.target, k) = after;
    longest = std::max(longest, after);
  }
  return longest;
}

}  // namespace

TEST_CASE("levels: two levels are right for all pairs of algorithms and shuffles",
          "[collectives][levels]") {
  int programs = 0;
  for (const auto& factors : std::vector<std::vector<int>>{
           {2, 2}, {4, 2}, {2, 4}, {3, 2}, {3, 5}, {4, 4}, {2, 8}, {5, 3}}) {
    for (const std::string& inner : kLevelNames) {
      for (const std::string& outer : kLevelNames) {
        for (const std::string& shuffle : kShuffles) {
          const AlgorithmEntry entry = spelled(name_of(factors, {inner, outer}, shuffle));
          for (const Kind kind : {Kind::AllGather, Kind::ReduceScatter, Kind::AllReduce}) {
            const auto request = levels_request(kind, product(factors), 1 + programs % 2);
            if (check_request(entry, request)) continue;
            if (kind == Kind::AllReduce && shuffle != "after") continue;  // it has no shuffle
            ++programs;
            if (!kSanitized || programs % 8 == 0) require_right(entry, request);
          }
        }
      }
    }
  }
  CHECK(programs > 1000);
}

TEST_CASE("levels: any number of levels is right", "[collectives][levels]") {
  for (const auto& factors : std::vector<std::vector<int>>{{7},
                                                           {8},
                                                           {2, 2, 2},
                                                           {2, 3, 2},
                                                           {4, 2, 2},
                                                           {2, 1, 4},
                                                           {1, 6},
                                                           {3, 2, 3},
                                                           {2, 2, 2, 2},
                                                           {2, 2, 2, 2, 2}}) {
    const std::size_t count = factors.size();
    for (std::size_t first = 0; first < kLevelNames.size(); ++first) {
      std::vector<std::string> levels;
      for (std::size_t level = 0; level < count; ++level) {
        levels.push_back(kLevelNames[(first + level) % kLevelNames.size()]);
      }
      for (const std::string& shuffle : kShuffles) {
        const AlgorithmEntry entry = spelled(name_of(factors, levels, shuffle));
        for (const Kind kind : {Kind::AllGather, Kind::ReduceScatter, Kind::AllReduce}) {
          const auto request =
              levels_request(kind, product(factors), 1 + static_cast<int>(first % 3));
          if (!check_request(entry, request)) require_right(entry, request);
        }
      }
    }
  }
}

TEST_CASE("levels: programs compute the right numbers in every order tried",
          "[collectives][levels]") {
  for (const std::string name :
       {"hierarchical:2x4:ring+recursive", "hierarchical:3x2:bruck+ring:overlapped",
        "hierarchical:2x3:all-pairs+bruck:before", "hierarchical:2x2x2:recursive:avoided",
        "hierarchical:2x4:broadcast-reduce+recursive:overlapped"}) {
    const AlgorithmEntry entry = spelled(name);
    for (const Kind kind : {Kind::AllGather, Kind::ReduceScatter, Kind::AllReduce}) {
      const int ranks = name.find("3") == std::string::npos ? 8 : 6;
      const auto program = build_algorithm(entry, levels_request(kind, ranks, 2));
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        INFO(name << " " << to_string(kind) << " seed " << seed);
        NumericMemory memory(program->contract, scratch_of(*program), seed);
        REQUIRE(interpret(*program, memory, seed) == Outcome::Right);
      }
    }
  }
}

TEST_CASE("levels: the packed order is the permutation that gathering level by level makes",
          "[collectives][levels]") {
  for (const auto& factors :
       std::vector<std::vector<int>>{{5}, {2, 3}, {8, 4}, {3, 2, 4}, {2, 1, 5}, {2, 3, 2, 3}}) {
    const int ranks = product(factors);
    LevelPlan plan{.factors = factors, .algorithms = {algorithms::LevelAlgorithm::Ring}};
    const LevelLayout layout(plan, levels_request(Kind::AllGather, ranks));
    // The oracle: buffers of ranks, joined group by group from the outermost level.
    std::vector<std::vector<int>> held;
    for (int rank = 0; rank < ranks; ++rank) held.push_back({rank});
    int stride = ranks;
    for (auto factor = factors.rbegin(); factor != factors.rend(); ++factor) {
      stride /= *factor;
      const auto before = held;
      for (int rank = 0; rank < ranks; ++rank) {
        auto& mine = held[static_cast<std::size_t>(rank)];
        mine.clear();
        const int first = rank - rank / stride % *factor * stride;
        for (int i = 0; i < *factor; ++i) {
          const auto& theirs = before[static_cast<std::size_t>(first + i * stride)];
          mine.insert(mine.end(), theirs.begin(), theirs.end());
        }
      }
    }
    for (int rank = 0; rank < ranks; ++rank) {
      const auto& order = held[static_cast<std::size_t>(rank)];
      REQUIRE(std::ssize(order) == ranks);
      for (int position = 0; position < ranks; ++position) {
        REQUIRE(layout.packed(order[static_cast<std::size_t>(position)]) == position);
      }
    }
    // The shuffle moves every slice but the rank's own to its place, each once.
    for (int rank = 0; rank < ranks; ++rank) {
      std::set<int> moved;
      for (const auto& [packed, slice] : algorithms::shuffle_copies(layout, 0, rank, true)) {
        CHECK(held[0][static_cast<std::size_t>(packed)] == slice);
        CHECK(moved.insert(slice).second);
      }
      CHECK(std::ssize(moved) == ranks - 1);
      CHECK(!moved.contains(rank));
    }
  }
}

TEST_CASE("levels: steps and bytes are those of the closed forms", "[collectives][levels]") {
  for (const auto& factors :
       std::vector<std::vector<int>>{{4, 8}, {2, 16}, {8, 4}, {2, 4, 4}, {16, 2}, {3, 5}}) {
    const int ranks = product(factors);
    for (const std::string& inner : kLevelNames) {
      for (const std::string& outer : kLevelNames) {
        std::vector<std::string> levels(factors.size(), outer);
        levels.front() = inner;
        int steps = 0;
        for (std::size_t level = 0; level < factors.size(); ++level) {
          steps += steps_of_level(levels[level], factors[level]);
        }
        for (const std::string shuffle : {"after", "avoided"}) {
          const AlgorithmEntry entry = spelled(name_of(factors, levels, shuffle));
          for (const Kind kind : {Kind::AllGather, Kind::ReduceScatter, Kind::AllReduce}) {
            const auto request = levels_request(kind, ranks);
            if (check_request(entry, request)) continue;
            const Program program = trace_algorithm(entry, request);
            INFO(entry.name << " " << to_string(kind));
            const int phases = kind == Kind::AllReduce ? 2 : 1;
            CHECK(longest_chain(program) == phases * steps);
            std::vector<int> received(static_cast<std::size_t>(ranks));  // slices, by rank
            int sum = 0;
            for (const Operation& operation : program.operations) {
              if (!operation.remote()) continue;
              received[static_cast<std::size_t>(operation.target.rank)] += operation.count;
              sum += operation.count;
            }
            // Every rank receives (p - 1) / p of the buffer in each phase; trees that reduce send
            // as much in total, but not to every rank.
            CHECK(sum == phases * ranks * (ranks - 1));
            const bool trees = inner == "broadcast-reduce" || outer == "broadcast-reduce";
            if (trees && kind != Kind::AllGather) continue;
            for (const int slices : received) CHECK(slices == phases * (ranks - 1));
          }
        }
      }
    }
  }
}

TEST_CASE("levels: only the nodes' ranks exchange data between nodes, one group for each",
          "[collectives][levels]") {
  for (const std::string name : {"pccl-ring", "pccl-rec"}) {
    for (const Kind kind : {Kind::AllGather, Kind::ReduceScatter}) {
      const auto request = levels_request(kind, 32, 1, 8);
      const Program program = trace_algorithm(name, request);
      CHECK(program.kernels() == 3);
      const int across_kernel = kind == Kind::AllGather ? 0 : 2;
      for (const Operation& operation : program.operations) {
        const bool across = operation.source.rank / 8 != operation.target.rank / 8;
        CHECK(across == (operation.remote() && operation.kernel == across_kernel));
        if (across) CHECK(operation.source.rank % 8 == operation.target.rank % 8);
      }
    }
  }
}

TEST_CASE("levels: rings in nodes follow the request's rings", "[collectives][levels]") {
  using Next = std::map<int, int>;
  const std::vector<Next> next{{{1, 3}, {3, 2}, {2, 0}, {0, 1}}, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}};
  for (const Kind kind : {Kind::AllGather, Kind::ReduceScatter, Kind::AllReduce}) {
    for (const std::string& shuffle : kShuffles) {
      const AlgorithmEntry entry = spelled("hierarchical:4x2:ring:" + shuffle);
      for (const int channels : {1, 2, 3}) {
        auto request = levels_request(kind, 8, channels, 4);
        request.rings = {{1, 3, 2, 0, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}};
        CHECK(entry.different_channels(request).count == 2);
        const Program program = expand_parallel(trace_algorithm(entry, request));
        REQUIRE(verify(program).ok);
        std::set<int> used;
        for (const Operation& operation : program.operations) {
          const int source = operation.source.rank;
          const int target = operation.target.rank;
          if (!operation.remote() || source / 4 != target / 4) continue;
          used.insert(operation.channel);
          CHECK(target % 4 == next[static_cast<std::size_t>(operation.channel % 2)].at(source % 4));
        }
        CHECK(std::ssize(used) == channels);
      }
    }
  }
}

TEST_CASE("levels: rings that differ only in where they cross nodes are one in a node",
          "[collectives][levels]") {
  const AlgorithmEntry entry = spelled("hierarchical:4x2:ring");
  auto request = levels_request(Kind::AllGather, 8, 2, 4);
  request.rings = {{0, 1, 3, 2, 4, 5, 7, 6}, {3, 2, 0, 1, 7, 6, 4, 5}};
  CHECK(entry.different_channels(request).count == 1);
  for (const Operation& operation : trace_algorithm(entry, request).operations) {
    CHECK(operation.instance_step == 1);
  }
}

TEST_CASE("levels: the presets are collectives over the nodes", "[collectives][levels]") {
  const auto same = [](const std::string& preset, const std::string& name, int node, int ranks) {
    for (const Kind kind : {Kind::AllGather, Kind::ReduceScatter, Kind::AllReduce}) {
      const auto request = levels_request(kind, ranks, 2, node);
      CHECK(trace_algorithm(preset, request).operations ==
            trace_algorithm(spelled(name), request).operations);
    }
  };
  same("pccl-ring", "hierarchical:4x3:ring", 4, 12);
  same("pccl-rec", "hierarchical:4x8:ring+recursive", 4, 32);
  same("pccl-rec", "hierarchical:nodes:ring+recursive:after", 4, 32);
  same("pccl-rec", "hierarchical:8:ring", 8, 8);
  same("pccl-rec", "hierarchical:1x8:recursive", 1, 8);
}

TEST_CASE("levels: options are read in any order", "[collectives][levels]") {
  const LevelPlan plan = algorithms::parse_level_plan(
      "nodes:ring+bruck:reduce=host:avoided:nic=round-robin:subcomms=4:transport=library");
  CHECK(plan.shuffle == algorithms::ShuffleOption::Avoided);
  CHECK(plan.subcomms == 4);
  CHECK(plan.traits == CostTraits{.runtime = Runtime::Nccl,
                                  .transport = Transport::Library,
                                  .reducer = Reducer::Host,
                                  .nic = NicUse::RoundRobin});
  const AlgorithmEntry entry = spelled("hierarchical:4x2:ring:nic=topology-aware:before");
  CHECK(entry.traits == CostTraits{.runtime = Runtime::Nccl,
                                   .transport = Transport::Mpi,
                                   .nic = NicUse::TopologyAware});
  CHECK(shipped_algorithm("pccl-ring").traits.transport == Transport::Mpi);
  CHECK(spelled("hierarchical:4x2:ring:nic=single-nic").traits.nic == NicUse::SingleNic);
}

TEST_CASE("levels: options that are wrong are refused", "[collectives][levels]") {
  const auto says = [](const std::string& options, const std::string& expected) {
    const std::string name = "hierarchical:4x8:ring:" + options;
    CHECK(error_of_name(name) == "algorithm '" + name + "': " + expected);
  };
  says("subcomm=4",
       "unknown option 'subcomm='; expected one of after, before, avoided, overlapped, subcomms=, "
       "reduce=, nic=, transport= (did you mean 'subcomms='?)");
  says("nic=round_robin",
       "unknown NIC binding 'round_robin'; expected one of fabric, round-robin, topology-aware, "
       "single-nic (did you mean 'round-robin'?)");
  says("reduce=cpu", "unknown reducer 'cpu'; expected one of gpu, host (did you mean 'gpu'?)");
  says("transport=", "unknown transport ''; expected one of mpi, library");
  says("subcomms=0",
       "subcomms '0'; expected the number of groups across nodes that run at once on a node, e.g. "
       "subcomms=4");
  says("after:avoided", "a second shuffle in 'avoided'; expected each option at most once");
  says("nic=fabric:before:nic=fabric",
       "a second nic in 'nic=fabric'; expected each option at most once");
  const AlgorithmEntry five = spelled("hierarchical:4x8:ring:subcomms=5");
  CHECK(error_of_build(five, levels_request(Kind::AllGather, 32, 1, 4)) ==
        "hierarchical:4x8:ring:subcomms=5: subcomms=5, but a node of 4 ranks has 4 groups across "
        "nodes; expected 1 to 4");
  CHECK(error_of_build(five, levels_request(Kind::AllGather, 32)) ==
        "hierarchical:4x8:ring:subcomms=5: subcomms=5, but all ranks are on one node; it has no "
        "groups across nodes");
}

TEST_CASE("levels: errors name what was found and expected", "[collectives][levels]") {
  CHECK(error_of_name("hierarchical:4x8") ==
        "algorithm 'hierarchical:4x8': found '4x8'; expected FACTORS:ALGORITHMS or "
        "FACTORS:ALGORITHMS:OPTION:OPTION..., innermost level first, e.g. 8x256:ring+recursive or "
        "nodes:ring+bruck:avoided:subcomms=2");
  CHECK(error_of_name("hierarchical:4x8:ring+recursiv") ==
        "algorithm 'hierarchical:4x8:ring+recursiv': unknown algorithm of a level 'recursiv'; "
        "expected one of ring, recursive, bruck, broadcast-reduce, all-pairs (did you mean "
        "'recursive'?)");
  CHECK(error_of_name("hierarchical:4x8:ring:befor") ==
        "algorithm 'hierarchical:4x8:ring:befor': unknown option 'befor'; expected one of after, "
        "before, avoided, overlapped, subcomms=, reduce=, nic=, transport= (did you mean "
        "'before'?)");
  CHECK(error_of_name("hierarchical:4x8x2:ring+ring") ==
        "algorithm 'hierarchical:4x8x2:ring+ring': 2 algorithms for 3 levels; expected one for "
        "each, or one for all");
  CHECK(error_of_name("hierarchical:4x0:ring") ==
        "algorithm 'hierarchical:4x0:ring': factor '0'; expected numbers of ranks from 1 to "
        "1048576, innermost level first, e.g. 8x256");
  for (const std::string text : {"", ":", "4x:ring", "x:ring", "-4x2:ring", "4,2:ring", "1x1:ring",
                                 "1048576x2:ring", "99999999999:ring", "4:", "4:ring:", "4::after",
                                 "4:ring:after:4", "nodes:ring+ring+ring", "4 x2:ring"}) {
    INFO(text);
    CHECK(error_of_name("hierarchical:" + text).starts_with("algorithm 'hierarchical:"));
  }
  const AlgorithmEntry entry = spelled("hierarchical:4x8:ring+recursive");
  CHECK(error_of_build(entry, levels_request(Kind::AllGather, 16)) ==
        "hierarchical:4x8:ring+recursive does not run on 16 ranks: it needs exactly 32 ranks, the "
        "product of its factors 4x8");
  CHECK(error_of_build(entry, levels_request(Kind::AllGather, 32, 1, 8)) ==
        "hierarchical:4x8:ring+recursive: level 2 of 8 ranks is partly inside nodes of 8; expected "
        "that the product of the first factors is 8");
  CHECK(error_of_build(entry, levels_request(Kind::AllToAll, 32)) ==
        "hierarchical:4x8:ring+recursive has no alltoall; expected one of allgather, "
        "reducescatter, allreduce");
  CHECK(error_of_build(shipped_algorithm("pccl-rec"), levels_request(Kind::AllGather, 12, 1, 4)) ==
        "pccl-rec: recursive on level 2 needs a power of two of ranks, found 3");
}

}  // namespace cclgym::test
