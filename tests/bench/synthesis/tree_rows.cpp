// Rows of trees at full throughput: published fabrics, 128 and 1,024 GPUs, failures and groups.
#include <cmath>
#include <fmt/format.h>
#include <optional>

#include "bench/synthesis/bars.hpp"
#include "bench/synthesis/rows.hpp"
#include "collectives/compiler/compile.hpp"
#include "support/shipped_fabric.hpp"
#include "synthesis/lowering/tree_program.hpp"
#include "synthesis/throughput/bound.hpp"
#include "synthesis/throughput/pack.hpp"
#include "synthesis/throughput/published_graphs.hpp"
#include "synthesis/throughput/rails.hpp"

namespace cclgym::bench {

namespace {

using namespace synthesis;
using test::a100_graph;
using test::fabric_of;

constexpr int kGpusOfNdv4 = 8;

// Algorithm bandwidth of an AllGather that takes so many rounds per chunk, in units of 1 GB/s.
Rational algbw_GBps(const FlowGraph& graph, std::int64_t members, const Rational& rounds) {
  const auto megabytes = static_cast<std::int64_t>(std::llround(graph.unit_Bps / 1e6));
  return Rational(members) / rounds * Rational(megabytes, 1000);
}

struct TreeCase {
  std::string name;
  FlowGraph graph;
  Rational target{0};  // algbw, GB/s; 0: the bound of the cuts, which nothing exceeds
  double limit_s = 0;
  std::vector<int> group{};
  std::string peer{};
};

struct Packed {
  CutBound bound{};
  TreePacking packing{};
};

void finish_bar(Bar& bar, const TreeCase& one, const Packed& packed) {
  const auto members = static_cast<std::int64_t>(members_of(one.graph, one.group).size());
  const Rational reached = algbw_GBps(one.graph, members, rounds_per_chunk(packed.packing));
  const Rational bound = algbw_GBps(one.graph, members, packed.bound.value);
  const Rational target = one.target == Rational(0) ? bound : one.target;
  const std::string problem = check_packing(one.graph, packed.packing, one.group) +
                              check_cut(one.graph, one.group, packed.bound);
  bar.target = fmt::format("{} GB/s{}", text_of(target),
                           one.target == Rational(0) ? " (bound of cuts)" : "");
  bar.value = fmt::format("{} GB/s, depth {}", text_of(reached), packed.packing.depth());
  bar.reached = problem.empty() && reached == target && reached == bound;
  bar.proof = problem.empty() ? "cut; loads in integers" : problem;
}

Bar tree_bar(const TreeCase& one) {
  Bar bar{.name = one.name, .limit_s = one.limit_s, .peer = one.peer};
  const Packed packed = measured(bar, [&] {
    return Packed{.bound = allgather_bound(one.graph, one.group),
                  .packing = pack_allgather(one.graph, {.group = one.group})};
  });
  finish_bar(bar, one, packed);
  return bar;
}

void rails_bar(int servers, int max_depth, double limit_s) {
  const FlowGraph graph = make_flow_graph(*fabric_of("ndv4", servers));
  const TreeCase one{
      .name = fmt::format("ndv4 x{} ({} GPUs), trees of one orbit", servers, graph.ranks),
      .graph = graph,
      .target = Rational(24 * kGpusOfNdv4 * servers, servers - 1),
      .limit_s = limit_s};
  Bar bar{.name = one.name, .limit_s = limit_s};
  const std::optional<RailTrees> rails =
      measured(bar, [&] { return pack_rails(graph, kGpusOfNdv4); });
  if (rails) {
    finish_bar(bar, one, {.bound = rails->bound, .packing = rails->packing});
    bar.reached = bar.reached && rails->packing.depth() <= max_depth;
  }
  bar.target += fmt::format(", depth <= {}", max_depth);
  print_bar(bar);
}

// From the fabric to the compiled program.
void program_bar(int servers, bool quick, double limit_s) {
  const std::shared_ptr<const Fabric> fabric = fabric_of("ndv4", servers);
  const std::string name =
      fmt::format("ndv4 x{} ({} GPUs), compiled program", servers, fabric->ranks());
  if (quick) return leave_out(name);
  Bar bar{.name = name, .target = "a program", .proof = "paths of the trees", .limit_s = limit_s};
  const ThreadBlockProgram program = measured(bar, [&] {
    const FlowGraph graph = make_flow_graph(*fabric);
    const std::optional<RailTrees> rails = pack_rails(graph, kGpusOfNdv4);
    return compile(lower_trees(graph, fabric.get(), {}, rails->packing), lowered_compile_options());
  });
  bar.value = fmt::format("{} channels, {} blocks per GPU", program.channels,
                          program.most_resident_blocks());
  bar.reached = program.channels <= 32;
  print_bar(bar);
}

std::vector<int> half_of(int ranks) {
  std::vector<int> half;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank % 8 < 4) half.push_back(rank);
  }
  return half;
}

std::string forestcoll(const std::string& topology) {
  return tool_peer("AllGather trees", topology, "allgather");
}

}  // namespace

void published_fabrics() {
  std::vector<Bar> bars;
  const auto add = [&](const std::string& name, const FlowGraph& graph, const Rational& target,
                       const std::string& peer) {
    bars.push_back(
        tree_bar({.name = name + " AllGather", .graph = graph, .target = target, .peer = peer}));
    print_bar(bars.back());
  };
  add("DGX-1", test::dgx1_graph(), Rational(1200, 7), forestcoll("dgx1"));
  add("ring of 8", test::ring_graph(8), Rational(16, 7), forestcoll("ring8"));
  add("NDv2 x2", test::ndv2_graph(2), Rational(25), forestcoll("ndv2x2"));
  add("NDv2 x4", test::ndv2_graph(4), Rational(50, 3), forestcoll("ndv2x4"));
  add("DGX-2 x2", test::dgx2_graph(2), Rational(4000, 31), forestcoll("dgx2x2"));
  add("A100 x1", a100_graph(1), Rational(2400, 7), forestcoll("a100x1"));
  add("A100 x2", a100_graph(2), Rational(1040, 3), forestcoll("a100x2"));
  add("A100 x4", a100_graph(4), Rational(800, 3), forestcoll("a100x4"));
  add("A100 x8", a100_graph(8), Rational(1600, 7), "");
  add("A100 x16", a100_graph(16), Rational(640, 3), "");
  add("MI250 x1", test::mi250_graph(1), Rational(2400, 7), forestcoll("mi250x1"));
  add("MI250 x2", test::mi250_graph(2), Rational(5312, 15), forestcoll("mi250x2"));
  print_bar(sum_of(bars, "all 12 fabrics", 1));
}

void large_allgather(bool quick) {
  print_bar(tree_bar({.name = "ndv4 x16 (128 GPUs), any fabric",
                      .graph = make_flow_graph(*fabric_of("ndv4", 16)),
                      .target = Rational(1024, 5),
                      .limit_s = 2}));
  rails_bar(16, 8, 0.01);
  rails_bar(128, 8, 1);
  program_bar(128, quick, 5);
}

void failures_and_groups() {
  const double small_s = 0.1;  // to 32 GPUs
  const double large_s = 1;    // to 128 GPUs
  const auto graph_without = [](const std::string& name, int servers, const std::string& part) {
    return make_flow_graph(*fabric_of(name, servers, part));
  };
  const std::vector<TreeCase> cases{
      {"DGX-1, link gpu0:gpu4 down", graph_without("dgx1", 1, "gpu0:gpu4"), Rational(800, 7),
       small_s},
      {"DGX-1, GPU 3 down", graph_without("dgx1", 1, "gpu3"), Rational(0), small_s},
      {"A100 x2, a NIC down", a100_graph(2, 0), Rational(320), small_s},
      {"A100 x4, a NIC down", a100_graph(4, 0), Rational(700, 3), small_s},
      {"ndv4 x4, GPU 3 down", graph_without("ndv4", 4, "server0/gpu3"), Rational(0), small_s},
      {"A100 x4, group of 16", a100_graph(4), Rational(800, 3), small_s, half_of(32)},
      {"A100 x16, a NIC down", a100_graph(16, 0), Rational(0), large_s},
      {"ndv4 x16, GPU 3 down", graph_without("ndv4", 16, "server0/gpu3"), Rational(0), large_s},
      {"A100 x16, group of 64", a100_graph(16), Rational(0), large_s, half_of(128)}};
  for (const TreeCase& one : cases) print_bar(tree_bar(one));
}

}  // namespace cclgym::bench
