// MSCCL++'s own times against sets a100-mscclpp and h100-mscclpp, and against NCCL's as the null
// model, a speedup of 1.
#include <cmath>
#include <map>
#include <string>

#include "calibration/measure/measured_cells.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/simulator.hpp"
#include "sim/tuners/nccl_default_tuner.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "topology_models/machines/registry.hpp"

using namespace cclgym;

namespace {

struct Errors {
  double sum = 0;
  int cells = 0;
  void add(double simulated_s, double measured_s) {
    sum += std::abs(std::log(simulated_s / measured_s));
    ++cells;
  }
  [[nodiscard]] double mean() const { return sum / cells; }
};

}  // namespace

TEST_CASE("kernels of MSCCL++ take the times of its own tests", "[calibration][mscclpp]") {
  const std::string path = test::source_path("experiments/measured/mscclpp.csv");
  const MeasuredCells cells = make_cells(read_measured_file(path), {}, path);
  REQUIRE(cells.refused.empty());
  std::map<std::string, Errors> errors;
  for (const MeasuredCell& cell : cells.cells) {
    REQUIRE(cell.named.has_value());
    const auto fabric = make_fabric(cell.fabric);
    const Call call{.collective = cell.collective, .bytes = cell.bytes};
    Simulator simulator(fabric, cost_model_for(cell.cost_model, *fabric), "flow");
    const bool fitted = cell.system == "MSCCLPP-NDmv4" && cell.configs.contains("6");
    errors[fitted ? "fitted" : cell.system].add(simulator.simulate(call, *cell.named).time_s,
                                                cell.time_s);
    const CostModel plain = cost_model_for("auto", *fabric);
    Simulator nccl(fabric, plain, "flow");
    const auto tuner = make_nccl_default_tuner("2.18.3", {.fabric = fabric, .cost_model = plain});
    errors["NCCL"].add(nccl.simulate(call, tuner->choose(call)).time_s, cell.time_s);
  }
  CHECK(errors["fitted"].cells == 3);
  CHECK(errors["fitted"].mean() < 0.07);
  CHECK(errors["MSCCLPP-NDmv4"].cells == 4);
  CHECK(errors["MSCCLPP-NDmv4"].mean() < 0.12);
  CHECK(errors["MSCCLPP-NDmv5"].cells == 3);
  CHECK(errors["MSCCLPP-NDmv5"].mean() < 0.05);
  CHECK(errors["NCCL"].mean() > 0.5);
}
