// Tests of the channels of an algorithm that differ in the ranks that they connect.
#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/library/algorithm_library.hpp"
#include "collectives/outline.hpp"
#include "support/catch.hpp"
#include "support/index.hpp"
#include "support/shipped_algorithms.hpp"

namespace cclgym::test {
namespace {

// Ranks that each channel connects, in the order of its thread blocks; the channels are sorted.
std::vector<std::vector<std::pair<int, int>>> connections(const ProgramOutline& outline) {
  std::vector<std::vector<std::pair<int, int>>> of(
      ix(outline.channels));  // by channel: source and target of its messages
  for (int rank = 0; rank < outline.ranks(); ++rank) {
    for (std::uint32_t b = outline.first_block(rank); b < outline.first_block(rank + 1); ++b) {
      const OutlineBlock& block = outline.blocks[b];
      if (block.send_peer >= 0) of[ix(block.channel)].emplace_back(rank, block.send_peer);
    }
  }
  std::ranges::sort(of);
  return of;
}

TEST_CASE("algorithms: the different channels, repeated, are the channels of the whole program",
          "[collectives][algorithms]") {
  std::vector<std::vector<int>> rings{{0, 1, 2, 3, 7, 6, 5, 4, 8, 9, 10, 11},
                                      {3, 2, 1, 0, 4, 5, 6, 7, 11, 10, 9, 8},
                                      {2, 3, 0, 1, 5, 4, 7, 6, 10, 11, 8, 9}};
  int joined = 0;
  for (const char* name : {"ring", "tree"}) {
    const AlgorithmEntry& entry = AlgorithmLibrary::shipped().at(name);
    for (int different = 1; different <= 3; ++different) {
      for (int channels = 1; channels <= 24; ++channels) {
        for (const CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::Broadcast}) {
          const AlgorithmRequest request{.collective = kind,
                                         .ranks = 12,
                                         .channels = channels,
                                         .rings = {rings.begin(), rings.begin() + different},
                                         .ranks_per_server = 4};
          CAPTURE(name, to_string(kind), different, channels);
          const DifferentChannels kinds = entry.different_channels(request);
          REQUIRE(channels % kinds.count == 0);
          if (kinds.count == channels) continue;
          ++joined;
          AlgorithmRequest once = request;
          once.channels = kinds.count;
          std::vector<std::vector<std::pair<int, int>>> repeated;
          for (const auto& each : connections(outline_of(*build_algorithm(name, once)))) {
            repeated.insert(repeated.end(), ix(channels / kinds.count), each);
          }
          CHECK(repeated == connections(outline_of(*build_algorithm(name, request))));
        }
      }
    }
  }
  CHECK(joined > 150);
}

}  // namespace
}  // namespace cclgym::test
