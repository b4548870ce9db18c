// Tests of the shapes of NCCL's and OpenMPI's trees.
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/compiler/compile.hpp"
#include "collectives/library/algorithm_library.hpp"
#include "collectives/verifier/verify.hpp"
#include "support/catch.hpp"
#include "support/index.hpp"
#include "support/shipped_algorithms.hpp"

namespace cclgym::test {
namespace {

TEST_CASE("algorithms: the double tree is NCCL's", "[collectives][algorithms]") {
  using algorithms::double_tree;
  using algorithms::TreeNeighbours;
  // The tree of 14 ranks that is drawn in src/graph/trees.cc.
  CHECK(double_tree(0, 14, 0) == TreeNeighbours{-1, {-1, 8}});
  CHECK(double_tree(0, 14, 8) == TreeNeighbours{0, {4, 12}});
  CHECK(double_tree(0, 14, 12) == TreeNeighbours{8, {10, 13}});
  CHECK(double_tree(0, 14, 13) == TreeNeighbours{12, {-1, -1}});
  CHECK(double_tree(0, 14, 6) == TreeNeighbours{4, {5, 7}});
  CHECK(double_tree(1, 14, 13) == TreeNeighbours{-1, {-1, 5}});  // mirrored
  CHECK(double_tree(1, 13, 1) == TreeNeighbours{-1, {-1, 9}});   // shifted
  for (int ranks = 2; ranks <= 64; ++ranks) {
    int both_inner = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      int inner = 0;
      for (const int tree : {0, 1}) {
        const TreeNeighbours own = double_tree(tree, ranks, rank);
        for (const int child : own.children) {
          if (child == -1) continue;
          CHECK(double_tree(tree, ranks, child).parent == rank);
        }
        inner += own.children[0] != -1 || own.children[1] != -1 ? 1 : 0;
      }
      both_inner += inner == 2 ? 1 : 0;
    }
    CHECK(both_inner <= 1);  // so that two trees use both directions of every GPU
  }
}

TEST_CASE("algorithms: a tree crosses the network at the ranks of NCCL's pattern",
          "[collectives][algorithms]") {
  // Places in the chain of a node to which its first and second child are connected; the parent is
  // connected to the head in all patterns.
  const auto [first, second] = GENERATE(table<int, int>({{0, 0}, {1, 0}, {1, 1}}));
  const int nodes = GENERATE(2, 3, 5, 7);
  const AlgorithmRequest request{
      .ranks = nodes * 3, .ranks_per_server = 3, .tree_children = {first, second}};
  const auto program = compile(trace_algorithm("tree", request), request.compile);
  std::map<int, std::set<int>> across;  // by rank: its peers in other nodes
  for (int rank = 0; rank < request.ranks; ++rank) {
    for (const ThreadBlock& block : program.gpus[ix(rank)].thread_blocks) {
      for (const int peer : {block.send_peer, block.recv_peer}) {
        if (peer >= 0 && peer / 3 != rank / 3) across[rank].insert(peer);
      }
    }
  }
  std::map<int, std::set<int>> expected;
  for (int node = 0; node < nodes; ++node) {
    const algorithms::TreeNeighbours own = algorithms::double_tree(0, nodes, node);
    const std::pair<int, int> children[] = {{own.children[0], first}, {own.children[1], second}};
    for (const auto& [child, place] : children) {
      if (child < 0) continue;
      expected[3 * node + place].insert(3 * child);
      expected[3 * child].insert(3 * node + place);
    }
  }
  CHECK(across == expected);
  CHECK(verify(program).ok);
}

TEST_CASE("algorithms: the chains of a tree have the orders of the request, by channel",
          "[collectives][algorithms]") {
  AlgorithmRequest request{.ranks = 8, .channels = 2, .ranks_per_server = 4};
  request.tree_orders = {{1, 2, 3, 0}, {3, 2, 0, 1}};
  const auto program = compile(trace_algorithm("tree", request), request.compile);
  std::set<std::pair<int, int>> across[2];  // by channel: pairs of ranks on different nodes
  std::set<std::pair<int, int>> inside[2];
  for (int rank = 0; rank < request.ranks; ++rank) {
    for (const ThreadBlock& block : program.gpus[ix(rank)].thread_blocks) {
      const int peer = block.send_peer;
      if (peer > rank) (peer / 4 == rank / 4 ? inside : across)[block.channel].insert({rank, peer});
    }
  }
  // The only child of two nodes is connected to the head of its parent.
  CHECK(across[0] == std::set<std::pair<int, int>>{{1, 5}});
  CHECK(across[1] == std::set<std::pair<int, int>>{{3, 7}});
  CHECK(inside[0] == std::set<std::pair<int, int>>{{1, 2}, {2, 3}, {0, 3}, {5, 6}, {6, 7}, {4, 7}});
  CHECK(inside[1] == std::set<std::pair<int, int>>{{2, 3}, {0, 2}, {0, 1}, {6, 7}, {4, 6}, {4, 5}});
  CHECK(verify(program).ok);
}

TEST_CASE("algorithms: OpenMPI's trees are those drawn in its source",
          "[collectives][algorithms]") {
  using algorithms::parents_in;
  using algorithms::RootedTree;
  using Parents = std::vector<int>;
  // Trees drawn in the comments of ompi/mca/coll/base/coll_base_topo.c.
  CHECK(parents_in(RootedTree::Binary, 7, 0) == Parents{-1, 0, 0, 1, 2, 1, 2});
  CHECK(parents_in(RootedTree::Binomial, 8, 0) == Parents{-1, 0, 0, 1, 0, 1, 2, 3});
  CHECK(parents_in(RootedTree::Knomial, 10, 0) == Parents{-1, 0, 0, 0, 0, 4, 4, 4, 0, 8});
  // The chains of build_chain: 1-2-3, 4-5-6, 7-8, 9-10.
  CHECK(parents_in(RootedTree::FourChains, 11, 0) == Parents{-1, 0, 1, 2, 0, 4, 5, 0, 7, 0, 9});
  CHECK(parents_in(RootedTree::FourChains, 4, 1) == Parents{1, -1, 1, 1});
  CHECK(parents_in(RootedTree::Pipeline, 4, 2) == Parents{3, 0, -1, 2});
}

}  // namespace
}  // namespace cclgym::test
