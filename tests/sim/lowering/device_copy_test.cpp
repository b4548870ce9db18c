// Tests of copy kernels of the whole GPU, and of the shuffles that they make.
#include <memory>
#include <string>

#include "collectives/library/algorithm_library.hpp"
#include "cost_models/cost_model.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/prices/transfer_cost.hpp"
#include "sim/simulator.hpp"
#include "support/catch.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {

namespace {

double time_on(const std::shared_ptr<const Fabric>& fabric, const std::string& cost_model,
               const std::string& name, std::uint64_t bytes) {
  AlgorithmLibrary library = AlgorithmLibrary::shipped();
  library.add_spelled(name);
  Simulator simulator(fabric, cost_model_for(cost_model, *fabric), "flow", library);
  return simulator
      .simulate({.collective = CollectiveKind::AllGather, .bytes = bytes}, {.algorithm = name})
      .time_s;
}

}  // namespace

TEST_CASE("a device copy reads and writes whole cache lines at the rate of the GPU's memory",
          "[sim][lowering]") {
  const auto frontier = make_fabric({.name = "frontier"});
  const double rate_Bps = 0.85 * 1638e9;
  CHECK(device_copy_cost_s(*frontier, {}, 1 << 20) ==
        Approx(2.0 * (1 << 20) / rate_Bps).epsilon(1e-12));
  CHECK(device_copy_cost_s(*frontier, {}, 129) == Approx(2 * 256 / rate_Bps).epsilon(1e-12));
  CHECK(device_copy_cost_s(*frontier, {.instances = 4}, 4096) ==
        Approx(4 * 2 * 4096 / rate_Bps).epsilon(1e-12));
  const auto a100 = make_fabric({.name = "ndv4"});
  CHECK(device_copy_cost_s(*a100, {}, 4096) == Approx(2 * 4096 / (0.85 * 1555e9)).epsilon(1e-12));
}

TEST_CASE("the shuffle is on the critical path after the messages, or hidden behind them",
          "[sim][lowering]") {
  const auto fabric = make_fabric({.name = "ndv4", .servers = 2});
  const std::uint64_t bytes = 256 << 20;
  for (const std::string model : {"hockney", "auto"}) {
    INFO(model);
    const auto time = [&](const std::string& shuffle) {
      return time_on(fabric, model, "hierarchical:8x2:ring:" + shuffle, bytes);
    };
    const double after = time("after");
    const double overlapped = time("overlapped");
    const double copied_bytes = static_cast<double>(bytes) / 16 * 15;
    const double shuffle_s = 2 * copied_bytes / (0.85 * 1555e9);
    CHECK(after - overlapped > 0.7 * shuffle_s);
    CHECK(after - overlapped < 1.3 * shuffle_s);
    // The shuffle before the innermost level has an eighth of the data.
    CHECK(time("before") < after);
    CHECK(time("avoided") < time("before"));
  }
}

}  // namespace cclgym::test
