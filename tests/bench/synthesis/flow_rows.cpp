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
using test::chassis_graph;

std::vector<Permutation> symmetries_of(const FlowGraph& graph) {
  return automorphism_group(coloured_digraph(graph)).generators;
}

// `half`: half of the bandwidth of AllGather, which ReduceScatter and AllGather have, GB/s.
void shares_bar(const std::string& name, const FlowGraph& graph, const Rational& target,
                const Rational& half) {
  Bar bar{.name = name + " AllReduce",
          .target = text_of(target) + " GB/s",
          .proof = "LP dual",
          .limit_s = 1};
  const AllReduceShares shares = measured(bar, [&] { return allreduce_shares(graph); });
  const auto megabytes = static_cast<std::int64_t>(std::llround(graph.unit_Bps / 1e6));
  const Rational reached = shares.algbw * Rational(megabytes, 1000);
  const std::string problem = check_allreduce_shares(graph, {}, shares);
  bar.value = fmt::format("{} GB/s ({:+.1f} % over ReduceScatter + AllGather)", text_of(reached),
                          100 * (boost::rational_cast<double>(reached / half) - 1));
  bar.reached = problem.empty() && reached == target;
  if (!problem.empty()) bar.proof = problem;
  print_bar(bar);
}

void flow_bar(int chassis, int gpus, bool paths, double limit_s, const std::string& peer) {
  const FlowGraph graph = chassis_graph(chassis, gpus);
  const Rational target(gpus * (chassis - 1));  // the cut around a GPU's network link
  Bar bar{.name = fmt::format("{} chassis of {} GPUs, flows{}", chassis, gpus,
                              paths ? " with all paths" : ""),
          .target = text_of(target) + " rounds, proven",
          .proof = "LP dual; edge lengths",
          .limit_s = limit_s,
          .peer = peer};
  AllToAllOptions options{.paths = paths};
  const AllToAllFlow flow = measured(bar, [&] {
    options.symmetries = symmetries_of(graph);
    return alltoall_flow(graph, options);
  });
  const std::string problem = check_alltoall_flow(graph, options, flow);
  bar.value = fmt::format("{} rounds{}", text_of(flow.rounds), problem.empty() ? ", proven" : "");
  bar.reached = problem.empty() && flow.rounds == target;
  if (!problem.empty()) bar.proof = problem;
  print_bar(bar);
}

// TE-CCL's linear program over epochs; a chunk to the switch takes an epoch, and so does its delay.
void epoch_bar(int chassis, int gpus, double limit_s, const std::string& peer) {
  const FlowGraph graph = chassis_graph(chassis, gpus);
  const EpochGraph epochs =
      make_epoch_graph(graph, 25e3, 2e-6, std::vector<double>(graph.edges.size(), 0.75e-6));
  const int target = gpus * (chassis - 1) + 3;
  Bar bar{
      .name = fmt::format("{} chassis of {} GPUs, epochs of 2 us, 25 KB per pair", chassis, gpus),
      .target = fmt::format("{} epochs, proven", target),
      .proof = fmt::format("LP dual of {} epochs", target - 1),
      .limit_s = limit_s,
      .peer = peer};
  AllToAllOptions options{.paths = false};
  const EpochFlow flow = measured(bar, [&] {
    options.symmetries = symmetries_of(graph);
    return alltoall_epochs(epochs, 1, options);
  });
  const std::string problem = check_epoch_flow(epochs, 1, options, flow);
  bar.value = fmt::format("{} epochs{}", flow.epochs, problem.empty() ? ", proven" : "");
  bar.reached = problem.empty() && flow.epochs == target;
  if (!problem.empty()) bar.proof = problem;
  print_bar(bar);
}

}  // namespace

void allreduce_rows() {
  shares_bar("DGX-1", test::dgx1_graph(), Rational(600, 7), Rational(600, 7));
  shares_bar("DGX-1, link 0-4 down,", test::without_edges(test::dgx1_graph(), 0, 4),
             Rational(550, 7), Rational(400, 7));
  shares_bar("A100 x2", test::a100_graph(2), Rational(520, 3), Rational(520, 3));
  shares_bar("A100 x4", test::a100_graph(4), Rational(400, 3), Rational(400, 3));
  shares_bar("A100 x4, a NIC down,", test::a100_graph(4, 0), Rational(775, 6), Rational(350, 3));
  shares_bar("NDv2 x4", test::ndv2_graph(4), Rational(25, 3), Rational(25, 3));
  shares_bar("DGX-2 x2", test::dgx2_graph(2), Rational(2100, 31), Rational(2000, 31));
  shares_bar("MI250 x1", test::mi250_graph(1), Rational(1200, 7), Rational(1200, 7));
  shares_bar("MI250 x2", test::mi250_graph(2), Rational(2656, 15), Rational(2656, 15));
}

void large_alltoall() {
  const auto paper = [](const std::string& topology, const std::string& gpus) {
    return paper_peer("TE-CCL Table 4", topology, "alltoall", gpus);
  };
  epoch_bar(4, 4, 0, paper("internal1", "16"));
  flow_bar(32, 4, false, 2, paper("internal1", "128"));
  flow_bar(32, 4, true, 2, paper("internal1", "128"));
  epoch_bar(32, 4, 2, paper("internal1", "128"));
  flow_bar(128, 2, false, 0, paper("internal2", "256"));
}

}  // namespace cclgym::bench
