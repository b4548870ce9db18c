// Times of collectives over levels against closed forms.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "collectives/library/algorithm_library.hpp"
#include "cost_models/cost_model.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/prices/transfer_cost.hpp"
#include "sim/simulator.hpp"
#include "support/catch.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {

namespace {

Simulator simulator_of(const std::shared_ptr<const Fabric>& fabric, const std::string& name) {
  AlgorithmLibrary library = AlgorithmLibrary::shipped();
  library.add_spelled(name);
  return {fabric, cost_model_for("hockney", *fabric), "flow", library};
}

}  // namespace

TEST_CASE("levels: times are steps * alpha + (p - 1) / p * size * beta, and the shuffle",
          "[sim][lowering]") {
  const auto fabric = make_fabric({.name = "ndv4"});
  const int ranks = 8;
  // Alpha and beta from the flat ring of 7 steps.
  Simulator flat = simulator_of(fabric, "ring");
  const auto ring_s = [&](std::uint64_t bytes) {
    return flat
        .simulate({.collective = CollectiveKind::AllGather, .bytes = bytes}, {.algorithm = "ring"})
        .time_s;
  };
  const double small = 1 << 16;
  const double large = 1 << 26;
  const double beta =
      (ring_s(1 << 26) - ring_s(1 << 16)) / (large - small);  // applies to the buffer
  const double alpha = (ring_s(1 << 16) - small * beta) / 7;
  struct Case {
    std::string name;
    int steps;
    bool shuffles;
  };
  for (const auto& [name, steps, shuffles] :
       {Case{"hierarchical:8:ring", 7, false}, Case{"hierarchical:8:recursive", 3, false},
        Case{"hierarchical:2x4:ring", 4, true}, Case{"hierarchical:4x2:ring+recursive", 4, true},
        Case{"hierarchical:2x2x2:recursive", 3, true},
        Case{"hierarchical:4x2:recursive+ring", 3, true}}) {
    Simulator simulator = simulator_of(fabric, name);
    for (const auto collective :
         {CollectiveKind::AllGather, CollectiveKind::ReduceScatter, CollectiveKind::AllReduce}) {
      for (const std::uint64_t bytes : {std::uint64_t{1} << 16, std::uint64_t{1} << 26}) {
        INFO(name << " " << to_string(collective) << " " << bytes);
        const Result result =
            simulator.simulate({.collective = collective, .bytes = bytes}, {.algorithm = name});
        const int phases = collective == CollectiveKind::AllReduce ? 2 : 1;
        // AllGather copies its own slice to scratch, and 7 slices out of it; ReduceScatter copies 8
        // slices to scratch, and its sum back.
        const int copies = phases == 2 || !shuffles                      ? 0
                           : collective == CollectiveKind::ReduceScatter ? ranks + 1
                                                                         : ranks;
        const double slice = static_cast<double>(bytes) / ranks;
        const double expected_s = phases * (steps * alpha + static_cast<double>(bytes) * beta) +
                                  copies * device_copy_cost_s(*fabric, {}, slice);
        CHECK(result.steps == phases * steps);
        CHECK(result.time_s == Approx(expected_s).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("levels: 256 nodes of Frontier take N - 1 or log2 N steps, and G - 1 in the nodes",
          "[sim][lowering]") {
  const auto fabric = make_fabric({.name = "frontier", .servers = 256});
  for (const auto& [name, across] : {std::pair("pccl-ring", 255), std::pair("pccl-rec", 8)}) {
    Simulator simulator = simulator_of(fabric, name);
    const Result result = simulator.simulate(
        {.collective = CollectiveKind::AllGather, .bytes = 16 << 20}, {.algorithm = name});
    CHECK(result.steps == across + 7);
    CHECK(result.flows == 2048 * (across + 7));
  }
}

}  // namespace cclgym::test
