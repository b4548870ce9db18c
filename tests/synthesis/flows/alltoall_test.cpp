// Tests of the optimal AllToAll: published values, one commodity per pair, symmetry, altered
// proofs.
#include "synthesis/flows/alltoall.hpp"

#include "core/index.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/thorough.hpp"
#include "support/thrown.hpp"
#include "synthesis/flows/exact_dual.hpp"
#include "synthesis/flows/path_decomposition.hpp"
#include "synthesis/symmetry/automorphisms.hpp"
#include "synthesis/throughput/published_graphs.hpp"
#include "synthesis/throughput/random_graphs.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

Rational checked_rounds(const FlowGraph& graph, const AllToAllOptions& options = {}) {
  const AllToAllFlow flow = alltoall_flow(graph, options);
  INFO(graph.name << " x" << graph.ranks);
  CHECK(check_alltoall_flow(graph, options, flow) == "");
  return flow.rounds;
}

// One commodity per pair of participants.
Rational rounds_by_pairs(const FlowGraph& graph, const std::vector<int>& group) {
  const std::vector<char> participates = participants(graph, group);
  ExactProgram program;
  const int time = program.add_column(1);
  for (const FlowEdge& edge : graph.edges) program.add_row({{time, -edge.units}}, {}, 0);
  for (int source = 0; source < graph.ranks; ++source) {
    for (int target = 0; target < graph.ranks; ++target) {
      if (source == target || !participates[at(source)] || !participates[at(target)]) continue;
      const int first = static_cast<int>(program.rows.size());
      for (int node = 0; node < graph.nodes; ++node) {
        const std::int64_t excess = node == source ? -1 : node == target ? 1 : 0;
        program.add_row({}, excess, excess);
      }
      for (std::size_t k = 0; k < graph.edges.size(); ++k) {
        const int column = program.add_column(0);
        program.rows[k].terms.push_back({column, 1});
        program.rows[at(first + graph.edges[k].source)].terms.push_back({column, -1});
        program.rows[at(first + graph.edges[k].target)].terms.push_back({column, 1});
      }
    }
  }
  return solve_exactly(program, "all pairs").solution.cost;
}

TEST_CASE("AllToAll reaches the published optima", "[synthesis][flows]") {
  CHECK(checked_rounds(dgx1_graph(1)) == Rational(8, 3));
  CHECK(checked_rounds(ring_graph(8)) == Rational(8));
  CHECK(checked_rounds(a100_graph(1)) == Rational(7, 300));
  CHECK(checked_rounds(a100_graph(2)) == Rational(8, 25));
  CHECK(checked_rounds(ndv2_graph(2)) == Rational(64, 25));
  CHECK(checked_rounds(dgx2_graph(2)) == Rational(32, 25));
}

TEST_CASE("AllToAll equals the linear program with one commodity per pair on random graphs",
          "[synthesis][flows]") {
  for (std::uint64_t seed = 0; seed < (thorough() ? 2000 : 60); ++seed) {
    const int ranks = 3 + static_cast<int>(seed % 3);
    const FlowGraph graph = random_flow_graph(seed, ranks, seed % 2 == 1);
    AllToAllOptions options;
    if (seed % 5 == 0) {
      for (int rank = 1; rank < ranks; ++rank) options.group.push_back(rank);
    }
    INFO("seed " << seed);
    CHECK(checked_rounds(graph, options) == rounds_by_pairs(graph, options.group));
  }
}

TEST_CASE("AllToAll on the quotient equals the linear program of the graph", "[synthesis][flows]") {
  for (const FlowGraph& graph :
       {dgx1_graph(1), ring_graph(8), a100_graph(2), ndv2_graph(4), chassis_graph(4)}) {
    const Rational rounds = checked_rounds(graph, {.paths = false});
    const ColouredDigraph coloured = coloured_digraph(graph);
    CHECK(checked_rounds(graph, {.symmetries = automorphism_group(coloured).generators}) == rounds);
    const std::vector<PermutationGroup> groups = semiregular_groups(coloured, graph.ranks);
    REQUIRE(!groups.empty());
    CHECK(checked_rounds(graph, {.symmetries = groups.front().elements}) == rounds);
  }
}

TEST_CASE("AllToAll of 128 GPUs on the quotient, proved on the graph", "[synthesis][flows]") {
  for (const auto& [graph, rounds] : {std::pair{chassis_graph(32), Rational(124)},
                                      std::pair{a100_graph(16), Rational(120, 25)}}) {
    const AllToAllOptions options{.symmetries =
                                      automorphism_group(coloured_digraph(graph)).generators};
    CHECK(checked_rounds(graph, options) == rounds);
  }
}

TEST_CASE("altered AllToAll flows are refused", "[synthesis][flows]") {
  const FlowGraph graph = dgx1_graph(1);
  const AllToAllFlow good = alltoall_flow(graph);
  const auto refused = [&](auto change, const std::string& text) {
    AllToAllFlow bad = good;
    change(bad);
    INFO(check_alltoall_flow(graph, {}, bad));
    CHECK(contains(check_alltoall_flow(graph, {}, bad), text));
  };
  refused([](auto& f) { f.paths.pop_back(); }, "do not carry exactly all data");
  refused([](auto& f) { f.paths[0].nodes.back() = 7; }, "does not join them");
  refused([](auto& f) { f.paths[0].nodes = {0, 7, 1}; }, "0 -> 7, which is no edge");
  refused([](auto& f) { f.rounds = Rational(5, 2); }, "more than in all rounds");
  refused([](auto& f) { f.rounds = Rational(3); }, "the lengths prove 8/3");
  refused([](auto& f) { f.lengths.lengths[0] += 1000; }, "the lengths prove");
  refused([](auto& f) { f.lengths.lengths[0] = -1; }, "is negative");
  refused([](auto& f) { f.certificate.program.columns[0].cost = 2; }, "another linear program");
  refused([](auto& f) { f.certificate.bound = Rational(3); }, "the certificate proves 3 rounds");
  refused([](auto& f) { f.certificate.duals.back() += Rational(1, 7); }, "column");
}

TEST_CASE("AllToAll is refused for unsuitable input", "[synthesis][flows]") {
  FlowGraph cut = dgx1_graph(1);
  std::erase_if(cut.edges, [](const FlowEdge& edge) { return edge.source == 5; });
  CHECK(contains(thrown([&] { return alltoall_flow(cut); }), "has no solution"));
  CHECK(contains(thrown([&] {
                   return alltoall_flow(dgx1_graph(1), {.group = {2, 1}});
                 }),
                 "expected ascending ranks"));
}

TEST_CASE("flows are decomposed without their cycles", "[synthesis][flows]") {
  // 0 -> 1 -> 2 with a cycle 1 -> 3 -> 1, and a spare unit 0 -> 2.
  const std::vector<FlowArc> arcs{{0, 1, 2}, {1, 3, 5}, {3, 1, 5}, {1, 2, 1}, {0, 2, 2}};
  const std::vector<ArcPath> paths = decompose_flow(arcs, 0, {0, 1, 2, 0});
  REQUIRE(paths.size() == 2);
  CHECK(paths[0].arcs == std::vector<int>{0});
  CHECK(paths[1].target == 2);
  CHECK(paths[1].arcs == std::vector<int>{4});
  CHECK(paths[1].amount == 2);
  CHECK_THROWS_AS(decompose_flow(arcs, 0, {0, 1, 4, 0}), std::logic_error);
}

}  // namespace
}  // namespace cclgym::test
