// Row of lowered programs: 1 GiB in the flow engine under model hockney, against bound and ring.
#include <fmt/format.h>

#include "bench/synthesis/bars.hpp"
#include "bench/synthesis/rows.hpp"
#include "support/shipped_fabric.hpp"
#include "synthesis/lowering/simulated_speed.hpp"
#include "synthesis/strategies/synthesize.hpp"
#include "synthesis/throughput/bound.hpp"

namespace cclgym::bench {

namespace {

using namespace synthesis;

struct LoweredCase {
  std::string fabric;
  int servers;
  CollectiveKind kind;
  bool slow = false;
};

std::string name_of(const LoweredCase& one) {
  return fmt::format("{} x{} {}", one.fabric, one.servers, to_string(one.kind));
}

void lowered_bar(const LoweredCase& one) {
  const std::shared_ptr<const Fabric> fabric = test::fabric_of(one.fabric, one.servers);
  const FlowGraph graph = make_flow_graph(*fabric);
  const bool reduces = one.kind == CollectiveKind::AllReduce;
  const double rounds =
      boost::rational_cast<double>(allgather_bound(graph).value) +
      (reduces ? boost::rational_cast<double>(allgather_bound(graph.reversed()).value) : 0);
  const double bound = graph.ranks / rounds * graph.unit_Bps / 1e9;
  Bar bar{.name = name_of(one)};
  // The programs that cclgym synthesize writes. Step schedules are searched for on one server.
  const Synthesis made = measured(bar, [&] {
    return synthesize(*fabric, one.kind,
                      {.pareto = one.servers == 1, .time_limit_s = 20, .fuse = false});
  });
  double best = 0;
  const SynthesizedProgram* program = nullptr;
  for (const SynthesizedProgram& each : made.programs) {
    if (each.program->channels > 32) continue;
    const double reached =
        test::best_GBps(fabric, each.program, one.kind, each.program->contract.chunks_per_call());
    if (reached <= best) continue;
    best = reached;
    program = &each;
  }
  const double ring = test::ring_GBps(fabric, one.kind);
  bar.target = fmt::format("{:.2f} GB/s (95 % of {:.2f}), ring {:.2f}", 0.95 * bound, bound, ring);
  bar.value = program == nullptr
                  ? "no program"
                  : fmt::format("{:.2f} GB/s ({:.1f} %), {}, {} channels", best, 100 * best / bound,
                                program->name, program->program->channels);
  bar.reached = best >= 0.95 * bound && best >= ring;
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
    if (quick && one.slow) {
      leave_out(name_of(one));
    } else {
      lowered_bar(one);
    }
  }
}

}  // namespace cclgym::bench
