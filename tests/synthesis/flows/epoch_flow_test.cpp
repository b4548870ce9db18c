// Tests of AllToAll in epochs: TE-CCL's values, closed forms, symmetry, altered schedules.
#include "synthesis/flows/epoch_flow.hpp"

#include <cmath>

#include "core/index.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/thrown.hpp"
#include "synthesis/flows/exact_dual.hpp"
#include "synthesis/jumping_clock.hpp"
#include "synthesis/symmetry/automorphisms.hpp"
#include "synthesis/throughput/published_graphs.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

EpochGraph epochs_of(const FlowGraph& graph, double chunk_bytes, double epoch_s, double latency_s) {
  return make_epoch_graph(graph, chunk_bytes, epoch_s,
                          std::vector<double>(graph.edges.size(), latency_s));
}

std::vector<Permutation> symmetries_of_graph(const FlowGraph& graph) {
  return automorphism_group(coloured_digraph(graph)).generators;
}

int checked_epochs(const EpochGraph& epochs, int chunks, const AllToAllOptions& options = {}) {
  const EpochFlow flow = alltoall_epochs(epochs, chunks, options);
  INFO(epochs.graph.name << " x" << epochs.graph.ranks);
  CHECK(check_epoch_flow(epochs, chunks, options, flow) == "");
  return flow.epochs;
}

TEST_CASE("epochs of a graph as TE-CCL counts them", "[synthesis][flows]") {
  const EpochGraph fine = epochs_of(dgx1_graph(1), 25e3, 0.5e-6, 0.7e-6);
  CHECK(fine.chunks_per_unit == Rational(1, 2));
  for (std::size_t k = 0; k < fine.graph.edges.size(); ++k) {
    CHECK(fine.window[k] == (fine.graph.edges[k].units == 1 ? 2 : 1));
    CHECK(fine.delay[k] == fine.window[k] + 2);
  }
  CHECK(epochs_of(dgx1_graph(1), 25e3, 1e-6, 1e-6).delay[0] == 2);
  CHECK(contains(thrown([] { return epochs_of(dgx1_graph(1), 25e3, 0, 0); }), "expected positive"));
  CHECK(contains(thrown([] { return epochs_of(dgx1_graph(1), 25e3, 1e-6, -1); }), "expected >= 0"));
  CHECK(contains(thrown([] { return epochs_of(dgx1_graph(1), 25e3 * std::sqrt(2.0), 1e-6, 0); }),
                 "no simple fraction"));
}

TEST_CASE("AllToAll on DGX-1 takes the published epochs", "[synthesis][flows]") {
  // TE-CCL's Table 3: chunks of 25 KB, 0.7 us per hop. One chunk per pair: 4 us.
  CHECK(checked_epochs(epochs_of(dgx1_graph(1), 25e3, 1e-6, 0.7e-6), 1) == 4);
  CHECK(checked_epochs(epochs_of(dgx1_graph(1), 25e3, 0.5e-6, 0.7e-6), 1,
                       {.symmetries = symmetries_of_graph(dgx1_graph(1))}) == 8);
}

TEST_CASE("AllToAll of two GPUs takes chunks and a delay", "[synthesis][flows]") {
  FlowGraph pair;
  pair.name = "pair";
  pair.ranks = pair.nodes = 2;
  pair.unit_Bps = 1e9;
  pair.computes.assign(2, 0);
  pair.add_duplex(0, 1, 1);
  for (int chunks = 1; chunks < 5; ++chunks) {
    CHECK(checked_epochs(epochs_of(pair, 1e3, 1e-6, 3e-6), chunks) == chunks + 3);
  }
}

TEST_CASE("AllToAll around a ring keeps data in GPUs that other links delay",
          "[synthesis][flows]") {
  // Ring of 3 in one direction: every link carries 3 chunks.
  FlowGraph ring;
  ring.name = "ring";
  ring.ranks = ring.nodes = 3;
  ring.unit_Bps = 1e9;
  ring.computes.assign(3, 0);
  for (int rank = 0; rank < 3; ++rank) ring.add(rank, (rank + 1) % 3, 1);
  CHECK(checked_epochs(epochs_of(ring, 1e3, 1e-6, 0), 1) == 3);
  CHECK(checked_epochs(epochs_of(ring, 1e3, 1e-6, 0), 4) == 12);
  CHECK(checked_epochs(epochs_of(ring, 1e3, 1e-6, 0), 1, {.group = {0, 2}}) == 2);
}

TEST_CASE("epochs on the quotient equal those of the graph", "[synthesis][flows]") {
  for (const FlowGraph& graph : {dgx1_graph(1), ring_graph(6), chassis_graph(2)}) {
    const EpochGraph epochs = epochs_of(graph, 25e3, 25e3 / graph.unit_Bps, 0.7e-6);
    CHECK(checked_epochs(epochs, 1, {.symmetries = symmetries_of_graph(graph)}) ==
          checked_epochs(epochs, 1));
  }
}

TEST_CASE("the linear program of 16 GPUs in epochs equals its quotient", "[synthesis][flows]") {
  const FlowGraph graph = chassis_graph(4);
  const EpochGraph epochs = epochs_of(graph, 25e3, 2e-6, 0.75e-6);
  const AllToAllOptions folded{.symmetries = symmetries_of_graph(graph)};
  CHECK(solve_bound(epoch_program(epochs, 1, 14, folded), "quotient").bound == Rational(-11, 12));
  CHECK(solve_bound(epoch_program(epochs, 1, 14), "graph").bound == Rational(-11, 12));
}

TEST_CASE("AllToAll of 128 GPUs in 32 chassis takes its proven minimum", "[synthesis][flows]") {
  // Every GPU sends its chunks for other chassis to the switch, with a delay of 2 epochs, and as
  // many arrive.
  for (const int chassis : {8, 32}) {
    const FlowGraph graph = chassis_graph(chassis);
    const EpochGraph epochs = epochs_of(graph, 25e3, 2e-6, 0.75e-6);
    const AllToAllOptions options{.symmetries = symmetries_of_graph(graph), .paths = chassis == 8};
    CHECK(checked_epochs(epochs, 1, options) == 4 * (chassis - 1) + 3);
  }
}

TEST_CASE("AllToAll in fine epochs rounds its schedule within the capacities",
          "[synthesis][flows]") {
  const AllToAllOptions options{.symmetries = symmetries_of_graph(dgx1_graph(1))};
  const int coarse = checked_epochs(epochs_of(dgx1_graph(1), 25e3, 0.5e-6, 0.7e-6), 2, options);
  const int fine = checked_epochs(epochs_of(dgx1_graph(1), 25e3, 0.1e-6, 0.7e-6), 2, options);
  CHECK(fine <= 5 * coarse);
}

TEST_CASE("altered schedules in epochs are refused", "[synthesis][flows]") {
  const EpochGraph epochs = epochs_of(dgx1_graph(1), 25e3, 1e-6, 0.7e-6);
  const EpochFlow good = alltoall_epochs(epochs, 1);
  const auto refused = [&](auto change, const std::string& text) {
    EpochFlow bad = good;
    change(bad);
    INFO(check_epoch_flow(epochs, 1, {}, bad));
    CHECK(contains(check_epoch_flow(epochs, 1, {}, bad), text));
  };
  refused([](auto& f) { f.paths.pop_back(); }, "do not carry exactly all data");
  refused([](auto& f) { f.paths[0].hops[0].epoch = 3; }, "ends after 5 epochs");
  refused([](auto& f) { f.paths[0].hops[0].edge = 99; }, "which does not exist");
  refused([](auto& f) { f.paths[0].target = 7; }, "ends elsewhere");
  refused([](auto& f) { f.epochs = 5; }, "another linear program");
  refused([](auto& f) { f.certificate.bound = Rational(-1); }, "does not exclude 3 epochs");
  refused([](auto& f) { f.certificate.bound = Rational(-1, 100); }, "the certificate states");
  refused(
      [](auto& f) {
        for (EpochPath& path : f.paths) {
          if (path.hops.size() == 1) path.hops[0].epoch = 2;
        }
      },
      "chunks in 1 epochs");
}

TEST_CASE("AllToAll in epochs is refused for unsuitable input", "[synthesis][flows]") {
  EpochGraph epochs = epochs_of(dgx1_graph(1), 25e3, 1e-6, 0.7e-6);
  CHECK(contains(thrown([&] { return alltoall_epochs(epochs, 0); }), "0 chunks per pair"));
  CHECK(contains(
      thrown([&] { return alltoall_epochs(epochs, 1, {.deadline = Deadline(1, late_after(2))}); }),
      "within 1 s: more than 3 epochs are needed"));
  epochs.delay[0] = 5;
  CHECK(contains(thrown([&] {
                   return alltoall_epochs(epochs, 1,
                                          {.symmetries = symmetries_of_graph(epochs.graph)});
                 }),
                 "of another delay"));
}

}  // namespace
}  // namespace cclgym::test
