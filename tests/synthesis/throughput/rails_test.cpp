// Tests of trees along rails.
#include "synthesis/throughput/rails.hpp"

#include <algorithm>
#include <bit>

#include "support/catch.hpp"
#include "support/shipped_fabric.hpp"
#include "synthesis/throughput/pack.hpp"
#include "synthesis/throughput/published_graphs.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

void check_rails(const FlowGraph& graph, int gpus, const Rational& value, int depth) {
  INFO(graph.name << " of " << graph.ranks);
  const std::optional<RailTrees> rails = pack_rails(graph, gpus);
  REQUIRE(rails);
  CHECK(rails->bound.value == value);
  CHECK(check_cut(graph, {}, rails->bound) == "");
  CHECK(check_packing(graph, rails->packing) == "");
  CHECK(rounds_per_chunk(rails->packing) == value);
  CHECK(rails->packing.depth() == depth);
  CHECK(rails->packing.trees.size() == static_cast<std::size_t>(graph.ranks));
}

FlowGraph ndv4(int servers) { return make_flow_graph(*fabric_of("ndv4", servers)); }

TEST_CASE("trees along rails are optimal on clusters of equal servers", "[synthesis][throughput]") {
  check_rails(a100_graph(1), 8, Rational(7, 300), 1);
  check_rails(a100_graph(4), 8, Rational(3, 25), 3);
  check_rails(a100_graph(5), 8, Rational(4, 25), 3);
  check_rails(a100_graph(16), 8, Rational(3, 5), 5);
  for (const int servers : {3, 4, 7, 16}) {
    // A server's depth is the number of ones of its distance from the root.
    int depth = 0;
    for (int server = 0; server < servers; ++server) {
      depth = std::max(depth, 1 + std::popcount(static_cast<unsigned>(server)));
    }
    check_rails(ndv4(servers), 8, Rational(servers - 1, 24), depth);
  }
}

TEST_CASE("trees along rails for 1,024 GPUs", "[synthesis][throughput]") {
  check_rails(ndv4(128), 8, Rational(127, 24), 8);
}

TEST_CASE("no trees along rails where they are not optimal", "[synthesis][throughput]") {
  CHECK_FALSE(pack_rails(ndv4(2), 8));           // NVLink is the limit
  CHECK_FALSE(pack_rails(a100_graph(4, 0), 8));  // a GPU without its NIC
  CHECK_FALSE(pack_rails(dgx1_graph(), 8));      // GPUs of a server without a link
  CHECK_FALSE(pack_rails(ring_graph(8), 1));
  CHECK_FALSE(pack_rails(a100_graph(4), 5));
}

}  // namespace
}  // namespace cclgym::test
