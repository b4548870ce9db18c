// Tests of the optimal AllReduce shares: published values, brute force over all cuts, symmetry.
#include "synthesis/flows/allreduce_shares.hpp"

#include "core/index.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/thorough.hpp"
#include "support/thrown.hpp"
#include "synthesis/flows/exact_dual.hpp"
#include "synthesis/symmetry/automorphisms.hpp"
#include "synthesis/throughput/published_graphs.hpp"
#include "synthesis/throughput/random_graphs.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

// The algbw in link units, after a check of shares and certificate.
Rational checked_algbw(const FlowGraph& graph, const AllReduceOptions& options = {}) {
  const AllReduceShares shares = allreduce_shares(graph, options);
  INFO(graph.name << " x" << graph.ranks << ", " << shares.cuts.size() << " cuts");
  CHECK(check_allreduce_shares(graph, options, shares) == "");
  return shares.algbw;
}

// The linear program over all cuts.
Rational brute_force_algbw(const FlowGraph& graph, const AllReduceOptions& options = {}) {
  const std::vector<char> participates = participants(graph, options.group);
  std::vector<ShareCut> cuts;
  for (int mask = 1; mask < 1 << graph.nodes; ++mask) {
    ShareCut cut;
    bool leaves_out = false;
    for (int node = 0; node < graph.nodes; ++node) {
      cut.side.push_back((mask >> node & 1) != 0 ? 1 : 0);
      leaves_out = leaves_out || (participates[at(node)] && !cut.side.back());
    }
    if (!leaves_out) continue;
    cuts.push_back(cut);
    cut.reduce = true;
    cuts.push_back(cut);
  }
  return -solve_exactly(allreduce_program(graph, options, cuts), "all cuts").solution.cost;
}

std::vector<Permutation> symmetries_of(const FlowGraph& graph) {
  return automorphism_group(coloured_digraph(graph)).generators;
}

TEST_CASE("AllReduce shares reach the published optima", "[synthesis][flows]") {
  CHECK(checked_algbw(dgx1_graph(1)) == Rational(600, 7 * 25));
  CHECK(checked_algbw(without_edges(dgx1_graph(1), 0, 4)) == Rational(550, 7 * 25));
  CHECK(checked_algbw(ring_graph(8)) == Rational(8, 7));
  CHECK(checked_algbw(a100_graph(1)) == Rational(1200, 7));
  CHECK(checked_algbw(a100_graph(2)) == Rational(520, 3));
  CHECK(checked_algbw(ndv2_graph(2)) == Rational(25));
  CHECK(checked_algbw(ndv2_graph(4)) == Rational(50, 3));
  CHECK(checked_algbw(dgx2_graph(2)) == Rational(4200, 31));
}

TEST_CASE("AllReduce shares of four servers, and with a NIC down", "[synthesis][flows]") {
  CHECK(checked_algbw(a100_graph(4)) == Rational(400, 3));
  CHECK(checked_algbw(a100_graph(4, 0)) == Rational(775, 6));
}

TEST_CASE("a switch that computes raises AllReduce", "[synthesis][flows]") {
  FlowGraph graph = a100_graph(1);
  graph.computes.back() = 1;
  CHECK(checked_algbw(graph) == Rational(300));
}

TEST_CASE("AllReduce shares equal the linear program over all cuts on random graphs",
          "[synthesis][flows]") {
  for (std::uint64_t seed = 0; seed < (thorough() ? 2000 : 60); ++seed) {
    const int ranks = 3 + static_cast<int>(seed % 3);
    const FlowGraph graph = random_flow_graph(seed, ranks, seed % 2 == 1);
    AllReduceOptions options;
    if (seed % 5 == 0) {
      for (int rank = 1; rank < ranks; ++rank) options.group.push_back(rank);
    }
    INFO("seed " << seed);
    CHECK(checked_algbw(graph, options) == brute_force_algbw(graph, options));
  }
}

TEST_CASE("AllReduce shares on the quotient equal those of the graph", "[synthesis][flows]") {
  for (const FlowGraph& graph : {dgx1_graph(1), a100_graph(2), a100_graph(4), ndv2_graph(4)}) {
    const AllReduceOptions options{.symmetries = symmetries_of(graph)};
    CHECK(!options.symmetries.empty());
    CHECK(checked_algbw(graph, options) == checked_algbw(graph));
  }
  for (const auto& [servers, algbw] : {std::pair{8, Rational(800, 7)}, {16, Rational(320, 3)}}) {
    const FlowGraph graph = a100_graph(servers);
    CHECK(checked_algbw(graph, {.symmetries = symmetries_of(graph)}) == algbw);
  }
}

TEST_CASE("AllReduce shares of many servers with a NIC down", "[synthesis][flows]") {
  const FlowGraph graph = a100_graph(8, 0);
  const AllReduceOptions options{.symmetries = symmetries_of(graph)};
  const Rational algbw = checked_algbw(graph, options);
  CHECK(algbw < Rational(800, 7));
  CHECK(algbw > Rational(100));
}

TEST_CASE("altered AllReduce shares are refused", "[synthesis][flows]") {
  const FlowGraph graph = without_edges(dgx1_graph(1), 0, 4);
  const AllReduceShares good = allreduce_shares(graph);
  const auto refused = [&](auto change, const std::string& text) {
    AllReduceShares bad = good;
    change(bad);
    INFO(check_allreduce_shares(graph, {}, bad));
    CHECK(contains(check_allreduce_shares(graph, {}, bad), text));
  };
  refused([](auto& s) { s.gather_units[3] += s.parts_per_unit * 2; }, "edge 3 carries");
  refused([](auto& s) { s.counts[2] += 1; }, "the shares add up to");
  refused([](auto& s) { std::fill(s.gather_units.begin(), s.gather_units.end(), 0); },
          "the out-trees of all roots do not fit");
  refused([](auto& s) { std::fill(s.reduce_units.begin(), s.reduce_units.end(), 0); },
          "the in-trees of all roots do not fit");
  refused([](auto& s) { s.cuts.pop_back(); }, "another linear program");
  refused([](auto& s) { s.certificate.program.rows[0].upper = 9; }, "another linear program");
  refused([](auto& s) { s.cuts[0].side.assign(8, 1); }, "leaves out no rank");
  refused([](auto& s) { s.certificate.duals[0] += Rational(1, 3); }, "row 0 has the dual value");
}

TEST_CASE("AllReduce is refused where a rank cannot reach another", "[synthesis][flows]") {
  FlowGraph graph = dgx1_graph(1);
  std::erase_if(graph.edges, [](const FlowEdge& edge) { return edge.source == 5; });
  CHECK(contains(thrown([&] { return allreduce_shares(graph); }), "some rank cannot reach"));
  CHECK(contains(thrown([&] { return allreduce_shares(dgx1_graph(1), {.group = {3}}); }),
                 "fewer than two ranks"));
  CHECK(
      contains(thrown([&] {
                 return allreduce_shares(dgx1_graph(1), {.symmetries = {{1, 0, 2, 3, 4, 5, 6, 7}}});
               }),
               "to no such edge"));
}

}  // namespace
}  // namespace cclgym::test
