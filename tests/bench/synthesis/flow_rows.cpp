// Rows of linear programs: AllReduce with free shares, and AllToAll of 128 GPUs.
#include <cmath>
#include <fmt/format.h>

#include "bench/synthesis/bars.hpp"
#include "bench/synthesis/rows.hpp"
#include "synthesis/flows/allreduce_shares.hpp"
#include "synthesis/flows/alltoall.hpp"
#include "synthesis/flows/epoch_flow.hpp"
#include "synthesis/symmetry/automorphisms.hpp"
#include "synthesis/throughput/published_graphs.hpp"

namespace cclgym::bench {

namespace {

using namespace synthesis;

FlowGraph dgx1_without_0_4() {
  FlowGraph graph = test::dgx1_graph();
  std::erase_if(graph.edges, [](const FlowEdge& edge) {
    return edge.source + edge.target == 4 && (edge.source == 0 || edge.target == 0);
  });
  return graph;
}

// Stand-in for TE-CCL's Internal 1: per chassis 4 GPUs in a ring of 50 GB/s, with 12.5 GB/s from
// each to a switch of all chassis.
FlowGraph chassis_of_four(int chassis) {
  FlowGraph graph = test::empty_graph("chassis", 4 * chassis, 12.5e9);
  const int hub = test::add_switch(graph);
  for (int rank = 0; rank < graph.ranks; ++rank) {
    graph.add_duplex(rank, rank - rank % 4 + (rank + 1) % 4, 4);
    graph.add_duplex(rank, hub, 1);
  }
  return graph;
}

std::vector<Permutation> symmetries_of(const FlowGraph& graph) {
  return automorphism_group(coloured_digraph(graph)).generators;
}

// `half`: half of the bandwidth of AllGather, which ReduceScatter and AllGather have, GB/s.
void shares_bar(const std::string& name, const FlowGraph& graph, const Rational& target,
                const Rational& half) {
  Bar bar{.name = name + " AllReduce",
          .target = fraction(target) + " GB/s",
          .proof = "LP dual",
          .limit_s = 1};
  const AllReduceShares shares = measured(bar, [&] { return allreduce_shares(graph); });
  const auto megabytes = static_cast<std::int64_t>(std::llround(graph.unit_Bps / 1e6));
  const Rational reached = shares.algbw * Rational(megabytes, 1000);
  const std::string problem = check_allreduce_shares(graph, {}, shares);
  bar.value = fmt::format("{} GB/s ({:+.1f} % over ReduceScatter + AllGather)", fraction(reached),
                          100 * (boost::rational_cast<double>(reached / half) - 1));
  bar.reached = problem.empty() && reached == target;
  if (!problem.empty()) bar.proof = problem;
  print_bar(bar);
}

}  // namespace

void allreduce_rows() {
  shares_bar("DGX-1", test::dgx1_graph(), Rational(600, 7), Rational(600, 7));
  shares_bar("DGX-1, link 0-4 down,", dgx1_without_0_4(), Rational(550, 7), Rational(400, 7));
  shares_bar("A100 x2", test::a100_graph(2), Rational(520, 3), Rational(520, 3));
  shares_bar("A100 x4", test::a100_graph(4), Rational(400, 3), Rational(400, 3));
  shares_bar("A100 x4, a NIC down,", test::a100_graph(4, 0), Rational(775, 6), Rational(350, 3));
  shares_bar("NDv2 x4", test::ndv2_graph(4), Rational(25, 3), Rational(25, 3));
  shares_bar("DGX-2 x2", test::dgx2_graph(2), Rational(2100, 31), Rational(2000, 31));
  shares_bar("MI250 x1", test::mi250_graph(1), Rational(1200, 7), Rational(1200, 7));
  shares_bar("MI250 x2", test::mi250_graph(2), Rational(2656, 15), Rational(2656, 15));
}

void large_alltoall() {
  const FlowGraph graph = chassis_of_four(32);
  const std::string paper = paper_peer("TE-CCL Table 4", "internal1", "alltoall", "128");
  for (const bool paths : {false, true}) {
    Bar bar{.name = fmt::format("32 chassis of 4 GPUs, flows{}", paths ? " with all paths" : ""),
            .target = "124 rounds, proven",
            .proof = "LP dual; edge lengths",
            .limit_s = 2,
            .peer = paper};
    AllToAllOptions options{.paths = paths};
    const AllToAllFlow flow = measured(bar, [&] {
      options.symmetries = symmetries_of(graph);
      return alltoall_flow(graph, options);
    });
    const std::string problem = check_alltoall_flow(graph, options, flow);
    bar.value =
        fmt::format("{} rounds{}", fraction(flow.rounds), problem.empty() ? ", proven" : "");
    bar.reached = problem.empty() && flow.rounds == Rational(124);
    if (!problem.empty()) bar.proof = problem;
    print_bar(bar);
  }
  const EpochGraph epochs =
      make_epoch_graph(graph, 25e3, 2e-6, std::vector<double>(graph.edges.size(), 0.75e-6));
  Bar bar{.name = "32 chassis of 4 GPUs, epochs of 2 us, 25 KB per pair",
          .target = "127 epochs, proven",
          .proof = "LP dual of 126 epochs",
          .limit_s = 2,
          .peer = paper};
  AllToAllOptions options{.paths = false};
  const EpochFlow flow = measured(bar, [&] {
    options.symmetries = symmetries_of(graph);
    return alltoall_epochs(epochs, 1, options);
  });
  const std::string problem = check_epoch_flow(epochs, 1, options, flow);
  bar.value = fmt::format("{} epochs{}", flow.epochs, problem.empty() ? ", proven" : "");
  bar.reached = problem.empty() && flow.epochs == 127;
  if (!problem.empty()) bar.proof = problem;
  print_bar(bar);
}

}  // namespace cclgym::bench
