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

// True if channels of the program are simulated as one. Checks that they take the same time.
bool joins_to_the_same_time(const Case& each) {
  const auto fabric = make_fabric(each.fabric);
  const CostModel model = cost_model_for("auto", *fabric);
  const AlgorithmEntry& entry = AlgorithmLibrary::shipped().at(each.algorithm);
  AlgorithmRequest request{.collective = each.collective,
                           .ranks = fabric->ranks(),
                           .channels = each.channels,
                           .rings = logical_rings(*fabric),
                           .ranks_per_server = fabric->ranks_per_server().value()};
  request.compile = deployed_compile_options(entry);
  const ProgramOutline all = outline_of(*build_algorithm(entry, request));
  const auto once = outline_of_different_channels(entry, request);
  REQUIRE(once);
  CHECK(once->channels * once->alike_channels == all.channels);
  if (once->alike_channels == 1 || !channels_route_alike(*once, *fabric)) return false;
  CHECK_THAT(time_s(fabric, model, *once, each),
             Catch::Matchers::WithinRel(time_s(fabric, model, all, each), 1e-9));
  return true;
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
        Case{{.name = "ndv4", .servers = 2}, "ring", CollectiveKind::AllGather, 6},
        Case{{.name = "polaris", .servers = 8}, "ring", CollectiveKind::AllGather, 4},
        Case{{.name = "polaris", .servers = 8}, "ring", CollectiveKind::AllReduce, 6},
        Case{{.name = "ndv4"}, "symmetric-ll", CollectiveKind::AllReduce, 6},
        Case{{.name = "ndv4"}, "symmetric-ldst", CollectiveKind::AllReduce, 12},
        Case{{.name = "ndv4"}, "symmetric-ldst", CollectiveKind::ReduceScatter, 4},
        Case{{.name = "hgx-h100"}, "symmetric-llmc", CollectiveKind::AllGather, 4},
        Case{{.name = "hgx-h100"}, "symmetric-ldstmc", CollectiveKind::AllReduce, 2}}) {
    CAPTURE(each.fabric.name, each.algorithm, each.channels);
    if (joins_to_the_same_time(each)) ++joined;
  }
  CHECK(joined >= 12);
}

// A tree's outline comes from its compiled program. With 24 channels and chains of period 4, the
// outline has four channels of each tree, and each stands for three.
TEST_CASE("channels of a double binary tree that are alike take the time of separate ones",
          "[sim][lowering]") {
  for (const Case& each :
       {Case{{.name = "alps", .servers = 5}, "tree", CollectiveKind::AllReduce, 24},
        Case{{.name = "alps", .servers = 8}, "tree", CollectiveKind::AllReduce, 16},
        Case{{.name = "alps", .servers = 8}, "tree", CollectiveKind::Broadcast, 12},
        Case{{.name = "polaris", .servers = 16}, "tree", CollectiveKind::AllReduce, 16},
        Case{{.name = "ndv4", .servers = 3}, "tree", CollectiveKind::AllReduce, 32}}) {
    CAPTURE(each.fabric.name, each.channels);
    CHECK(joins_to_the_same_time(each));
  }
}

}  // namespace
}  // namespace cclgym::test
