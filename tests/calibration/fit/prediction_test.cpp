// Tests of predictions and cost models as bytes for other processes.
#include "calibration/fit/prediction.hpp"

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "core/tasks/wire.hpp"
#include "cost_models/parameters/cost_parameters.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "support/catch.hpp"

namespace cclgym::test {
namespace {

TEST_CASE("a prediction keeps all its bits", "[calibration][fit]") {
  const Prediction prediction{.time_s = 1.0 / 3,
                              .config = {.algorithm = "tree",
                                         .protocol = Protocol::LL128,
                                         .channels = 3,
                                         .instances = 2,
                                         .threads = 640,
                                         .tile_bytes = std::uint64_t{1} << 40U,
                                         .slots = 8},
                              .cost_model = "set, with comma",
                              .refusal = std::string("a\0b", 3)};
  const std::string bytes = prediction_bytes(prediction);
  CHECK(read_prediction(bytes) == prediction);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK_THROWS_AS((void)read_prediction(bytes.substr(0, size)), std::runtime_error);
  }
}

TEST_CASE("the difference of two cost models keeps all bits", "[calibration][fit]") {
  const CostModel base = shipped_cost_model("v100");
  CHECK(difference_bytes(base, base).empty());
  CostModel model = base;
  model.kernel_launch_s *= 1.0 / 3;
  model.alpha_s[1] = 1e-6 / 7;
  model.protocols[2].thread_block_rate_Bps = 1e10 / 3;
  model.max_thread_blocks += 1;
  const std::string bytes = difference_bytes(base, model);
  CHECK(read_difference(base, bytes).canonical_text() == model.canonical_text());
  CHECK_THROWS_AS((void)read_difference(base, bytes.substr(1)), std::exception);

  // Values that the parameter cannot hold, in a message with the parameter's position.
  for (std::size_t i = 0; i < cost_parameters().size(); ++i) {
    const OptionKind kind = cost_parameters()[i].spec.kind;
    std::string hostile;
    put(hostile, i);
    put(hostile, kind == OptionKind::Integer || kind == OptionKind::Bytes ? -1e260 : NAN);
    CAPTURE(cost_parameters()[i].name);
    CHECK_THROWS_AS((void)read_difference(base, hostile), std::runtime_error);
  }

  CostModel hockney = base;
  hockney.hockney = true;
  CHECK_THROWS_AS((void)difference_bytes(base, hockney), std::logic_error);
}

}  // namespace
}  // namespace cclgym::test
