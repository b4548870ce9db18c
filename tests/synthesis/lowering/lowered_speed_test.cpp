// Tests of the simulated speed of lowered programs, and of their size.
#include <cstdlib>
#include <fmt/format.h>

#include "support/catch.hpp"
#include "support/shipped_fabric.hpp"
#include "support/thorough.hpp"
#include "synthesis/lowering/load_audit.hpp"
#include "synthesis/lowering/lowering_testing.hpp"
#include "synthesis/lowering/simulated_speed.hpp"
#include "synthesis/lowering/tree_program.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

TEST_CASE("lowered trees reach the bound and are no slower than rings",
          "[synthesis][lowering][thorough]") {
  struct Case {
    const char* fabric;
    int servers;
    CollectiveKind kind;
    std::vector<std::uint64_t> tiles;
    bool thorough = false;
  };
  const std::vector<Case> cases = {
      {"dgx1", 1, CollectiveKind::AllGather, {0, 1024 * kKiB}},
      {"dgx1", 1, CollectiveKind::AllReduce, {0, 1024 * kKiB}},
      {"ndv4", 1, CollectiveKind::AllGather, {0, 1024 * kKiB}},
      {"ndv4", 1, CollectiveKind::AllReduce, {0, 1024 * kKiB}},
      {"ndv4", 4, CollectiveKind::AllGather, {1024 * kKiB}},
      {"ndv4", 4, CollectiveKind::AllReduce, {1024 * kKiB}},
      {"ndv4", 8, CollectiveKind::AllGather, {1024 * kKiB, 512 * kKiB}, true},
      {"ndv4", 8, CollectiveKind::AllReduce, {1024 * kKiB, 512 * kKiB}, true},
  };
  for (const Case& each : cases) {
    if (each.thorough && !thorough()) continue;
    const auto fabric = fabric_of(each.fabric, each.servers);
    const FlowGraph graph = make_flow_graph(*fabric);
    const TreePacking packing = std::string(each.fabric) == "dgx1" ? ring_trees(graph, *fabric)
                                                                   : orbit_trees(graph, *fabric);
    const Program program = lower_trees(graph, fabric.get(), {.collective = each.kind}, packing);
    const double bytes = 1e9;
    const double bound = 1 / bottleneck_s(link_loads(program, *fabric), *fabric,
                                          bytes / program.contract.chunks_per_call());
    const auto compiled = std::make_shared<const ThreadBlockProgram>(
        compile(program, lowered_compile_options(false)));
    const double trees =
        best_GBps(fabric, compiled, each.kind, program.contract.chunks_per_call(), each.tiles);
    const double ring = ring_GBps(fabric, each.kind);
    CAPTURE(each.fabric, each.servers, to_string(each.kind), bound, trees, ring);
    CHECK(program.channels <= 32);
    CHECK(trees >= 0.95 * bound);
    CHECK(trees <= 1.0001 * bound);
    CHECK(trees >= 0.995 * ring);
    if (std::getenv("CCLGYM_SHOW_SPEED") != nullptr) {
      fmt::print("{} x{} {}: {:.2f} of {:.2f} GB/s, ring {:.2f}, {} channels\n", each.fabric,
                 each.servers, to_string(each.kind), trees, bound, ring, program.channels);
    }
  }
}

TEST_CASE("both engines run a lowered program alike", "[synthesis][lowering]") {
  const auto fabric = fabric_of("ndv4", 2);
  const FlowGraph graph = make_flow_graph(*fabric);
  for (const CollectiveKind kind : {CollectiveKind::AllGather, CollectiveKind::AllReduce}) {
    const auto program = std::make_shared<const ThreadBlockProgram>(
        compile(lower_trees(graph, fabric.get(), {.collective = kind}, orbit_trees(graph, *fabric)),
                lowered_compile_options()));
    std::vector<double> times;
    for (const EngineInfo& engine : engine_infos()) {
      Simulator simulator(fabric, shipped_cost_model("a100"), engine.name);
      Call call;
      call.collective = kind;
      call.bytes = 16 * 4 * 4096;
      Config config;
      config.channels = program->channels;
      config.tile_bytes = 4 * kKiB;
      config.slots = 2;
      config.threads = 256;
      times.push_back(simulator.record_program(program, call, config).result.time_s);
    }
    for (const double time : times) CHECK(time == Approx(times.front()).epsilon(1e-9));
  }
}

TEST_CASE("trees of 1,024 GPUs become a program with their loads",
          "[synthesis][lowering][thorough]") {
  const int servers = thorough() ? 128 : 16;
  const auto fabric = fabric_of("ndv4", servers);
  const FlowGraph graph = make_flow_graph(*fabric);
  const TreePacking packing = orbit_trees(graph, *fabric);
  const Program program = lower_trees(graph, fabric.get(), {}, packing, {.channels = 32});
  const ThreadBlockProgram compiled = compile(program, lowered_compile_options());
  const auto ranks = static_cast<std::size_t>(fabric->ranks());
  CHECK(program.operations.size() == ranks * (ranks - 1));
  CHECK(audit_loads(link_loads(compiled, *fabric), planned_link_loads(graph, *fabric, packing),
                    *fabric)
            .empty());
}

}  // namespace
}  // namespace cclgym::test
