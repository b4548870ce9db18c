// Row of lowered programs: 1 GiB in the flow engine under model hockney, against bound and ring.
#include <algorithm>
#include <fmt/format.h>

#include "bench/synthesis/bars.hpp"
#include "bench/synthesis/rows.hpp"
#include "collectives/compiler/compile.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/simulator.hpp"
#include "synthesis/lowering/tree_program.hpp"
#include "synthesis/throughput/bound.hpp"
#include "synthesis/throughput/pack.hpp"
#include "synthesis/throughput/rails.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::bench {

namespace {

using namespace synthesis;

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kGiB = kKiB * kKiB * kKiB;

struct LoweredCase {
  std::string fabric;
  int servers;
  CollectiveKind kind;
  bool slow = false;
};

// 1 GiB, rounded down to whole floats per chunk.
Call call_of(CollectiveKind kind, int chunks) {
  Call call;
  call.collective = kind;
  const auto unit = static_cast<std::uint64_t>(chunks) * 4;
  call.bytes = kGiB / unit * unit;
  return call;
}

double best_GBps(const std::shared_ptr<const Fabric>& fabric,
                 const std::shared_ptr<const ThreadBlockProgram>& program, const Call& call) {
  double best = 0;
  for (const std::uint64_t tile : {256 * kKiB, 1024 * kKiB, 4096 * kKiB}) {
    Simulator simulator(fabric, shipped_cost_model("hockney"), "flow");
    const Config config{.channels = program->channels, .tile_bytes = tile};
    best = std::max(best, simulator.record_program(program, call, config).result.algbw_Bps / 1e9);
  }
  return best;
}

double ring_GBps(const std::shared_ptr<const Fabric>& fabric, CollectiveKind kind) {
  double best = 0;
  for (const int channels : {1, 2, 6, 8}) {
    for (const std::uint64_t tile : {256 * kKiB, 1024 * kKiB, 4096 * kKiB}) {
      Simulator simulator(fabric, shipped_cost_model("hockney"), "flow");
      const Config config{.algorithm = "ring", .channels = channels, .tile_bytes = tile};
      const Call call = call_of(kind, fabric->ranks() * channels);
      best = std::max(best, simulator.simulate(call, config).algbw_Bps / 1e9);
    }
  }
  return best;
}

void lowered_bar(const LoweredCase& one) {
  FabricSpec spec;
  spec.name = one.fabric;
  spec.servers = one.servers;
  const std::shared_ptr<const Fabric> fabric = make_fabric(spec);
  const FlowGraph graph = make_flow_graph(*fabric);
  const bool reduces = one.kind == CollectiveKind::AllReduce;
  const double rounds =
      boost::rational_cast<double>(allgather_bound(graph).value) +
      (reduces ? boost::rational_cast<double>(allgather_bound(graph.reversed()).value) : 0);
  const double bound = graph.ranks / rounds * graph.unit_Bps / 1e9;
  Bar bar{.name = fmt::format("{} x{} {}", one.fabric, one.servers, to_string(one.kind))};
  const auto compiled = measured(bar, [&] {
    const auto rails = pack_rails(graph, graph.ranks / one.servers);
    const TreePacking packing = rails ? rails->packing : pack_allgather(graph);
    const ProgramForm form{.collective = one.kind};
    // Each link's reduction is the mirror image of its copy only if links are duplex.
    const Program program = rails || !reduces ? lower_trees(graph, fabric.get(), form, packing)
                                              : lower_trees(graph, fabric.get(), form, packing,
                                                            pack_allgather(graph.reversed()));
    return std::pair(std::make_shared<const ThreadBlockProgram>(
                         compile(program, lowered_compile_options(false))),
                     program.contract.chunks_per_call());
  });
  const auto& program = compiled.first;
  const double trees = best_GBps(fabric, program, call_of(one.kind, compiled.second));
  const double ring = ring_GBps(fabric, one.kind);
  bar.target = fmt::format("{:.2f} GB/s (95 % of {:.2f}), ring {:.2f}", 0.95 * bound, bound, ring);
  bar.value = fmt::format("{:.2f} GB/s ({:.1f} %), {} channels", trees, 100 * trees / bound,
                          program->channels);
  bar.reached = program->channels <= 32 && trees >= 0.95 * bound && trees >= ring;
  print_bar(bar);
}

}  // namespace

void lowered_programs(bool quick) {
  using enum CollectiveKind;
  for (const LoweredCase& one :
       {LoweredCase{"dgx1", 1, AllGather}, LoweredCase{"dgx1", 1, AllReduce},
        LoweredCase{"ndv4", 1, AllGather}, LoweredCase{"ndv4", 1, AllReduce},
        LoweredCase{"ndv4", 4, AllGather, true}, LoweredCase{"ndv4", 4, AllReduce, true},
        LoweredCase{"ndv4", 8, AllGather, true}, LoweredCase{"ndv4", 8, AllReduce, true},
        LoweredCase{"ndv2", 2, AllGather}, LoweredCase{"ndv2", 2, AllReduce},
        LoweredCase{"amd-mi250x", 2, AllGather, true},
        LoweredCase{"amd-mi250x", 2, AllReduce, true}}) {
    if (!quick || !one.slow) lowered_bar(one);
  }
}

}  // namespace cclgym::bench
