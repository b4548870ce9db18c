// Tests of channels that differ only in their part of the data.
#include "sim/lowering/alike_channels.hpp"

#include <memory>
#include <string>
#include <utility>

#include "collectives/library/algorithm_library.hpp"
#include "collectives/library/logical_rings.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/engine/engine.hpp"
#include "sim/lowering/lowering.hpp"
#include "support/catch.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {
namespace {

struct Case {
  FabricSpec fabric;
  std::string algorithm;
  CollectiveKind collective;
  int channels;
};

double time_s(const std::shared_ptr<const Fabric>& fabric, const CostModel& model,
              ProgramOutline outline, const Case& each) {
  const Config config{.algorithm = each.algorithm, .channels = each.channels};
  const LoweredProgram lowered =
      lower(std::make_shared<const ProgramOutline>(std::move(outline)), *fabric, model,
            {.collective = each.collective, .bytes = 3 << 23}, config);
  const auto engine = make_engine("flow");
  engine->load(lowered.graph);
  return engine->run().makespan_s;
}

// Sizes are a multiple of ranks, channels and 4 B, so that all channels have equal parts.
TEST_CASE("channels that are alike take the time of separate ones", "[sim][lowering]") {
  const FabricSpec frontier{.name = "frontier", .servers = 4};
  const FabricSpec perlmutter{.name = "perlmutter", .servers = 4};
  int joined = 0;
  for (const Case& each :
       {Case{frontier, "ring", CollectiveKind::AllGather, 16},
        Case{frontier, "ring", CollectiveKind::AllReduce, 8},
        Case{frontier, "pccl-ring", CollectiveKind::ReduceScatter, 8},
        Case{frontier, "pccl-rec", CollectiveKind::AllReduce, 8},
        Case{perlmutter, "ring", CollectiveKind::ReduceScatter, 8},
        Case{perlmutter, "pccl-rec", CollectiveKind::AllGather, 4},
        Case{{.name = "ndv4", .servers = 2}, "ring", CollectiveKind::AllGather, 16},
        Case{{.name = "ndv4", .servers = 2}, "ring", CollectiveKind::AllGather, 6}}) {
    CAPTURE(each.fabric.name, each.algorithm, each.channels);
    const auto fabric = make_fabric(each.fabric);
    const CostModel model = cost_model_for("auto", *fabric);
    const AlgorithmEntry& entry = AlgorithmLibrary::shipped().at(each.algorithm);
    AlgorithmRequest request{.collective = each.collective,
                             .ranks = fabric->ranks(),
                             .channels = each.channels,
                             .rings = logical_rings(*fabric),
                             .ranks_per_server = fabric->ranks_per_server().value()};
    request.compile = deployed_compile_options(entry);
    const auto all = outline_algorithm(entry, request);
    const auto once = outline_of_different_channels(entry, request);
    REQUIRE(all);
    REQUIRE(once);
    CHECK(once->channels * once->alike_channels == all->channels);
    if (once->alike_channels == 1 || !channels_route_alike(*once, *fabric)) continue;
    ++joined;
    CHECK_THAT(time_s(fabric, model, *once, each),
               Catch::Matchers::WithinRel(time_s(fabric, model, *all, each), 1e-9));
  }
  CHECK(joined >= 5);
}

}  // namespace
}  // namespace cclgym::test
