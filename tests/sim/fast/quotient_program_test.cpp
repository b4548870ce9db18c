// Tests of times of pipelines that are computed from a few numbers of tiles.
#include "sim/fast/quotient_program.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/fast/tile_curve.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

// The pipeline takes 5 s to fill. Then each tile costs 0.25 s, and 0.75 s for all of its bytes.
double linear_s(std::int32_t tiles, double fill) { return 5 + tiles * (0.25 + 0.75 * fill); }

Config tiled(const char* algorithm, int channels, int slots) {
  Config config = config_of(algorithm, channels);
  config.tile_bytes = 1 << 15;
  config.slots = slots;
  return config;
}

}  // namespace

TEST_CASE("a tile curve gives the time of a linear pipeline for any number and fill of tiles",
          "[sim][quotient-program]") {
  TileCurve curve(20);
  for (const std::int32_t tiles : {12, 13, 16, 17, 31, 32, 33, 64, 200, 5000, 1'000'000}) {
    for (const double part : {0.0, 0.5, 1.0}) {
      const double fill = 1 - part / tiles;
      // The saving of a partial fill grows with the tiles, but not exactly like the total time.
      CHECK(curve.time_s(tiles, fill, linear_s) ==
            Approx(linear_s(tiles, fill)).epsilon(0.2 * (1 - fill) + 1e-12));
    }
  }
}

TEST_CASE("a tile curve simulates few numbers of tiles, each once", "[sim][quotient-program]") {
  std::vector<std::pair<std::int32_t, double>> simulated;
  const auto noted_s = [&](std::int32_t tiles, double fill) {
    simulated.emplace_back(tiles, fill);
    return linear_s(tiles, fill);
  };
  TileCurve curve(1000);
  (void)curve.time_s(13, 0.95, noted_s);
  CHECK(simulated.size() == 4);  // 12 and 16 tiles, full and partial
  for (const std::int32_t tiles : {13, 15, 20, 40, 1'000'000}) {
    (void)curve.time_s(tiles, 1, noted_s);
  }
  std::sort(simulated.begin(), simulated.end());
  CHECK(std::adjacent_find(simulated.begin(), simulated.end()) == simulated.end());
  CHECK(simulated.size() == 5);  // the fifth has 32 full tiles
  CHECK(simulated.back().first == TileCurve::kMinLast);

  // More tiles are simulated if each has few firings.
  TileCurve of_small(10);
  simulated.clear();
  (void)of_small.time_s(1'000'000, 1, noted_s);
  std::sort(simulated.begin(), simulated.end());
  CHECK(simulated.back().first == 256);
}

TEST_CASE("times of a curve do not depend on earlier queries", "[sim][quotient-program]") {
  const auto bent_s = [](std::int32_t tiles, double fill) {
    return std::sqrt(static_cast<double>(tiles)) + tiles * fill;
  };
  TileCurve upwards(100);
  TileCurve downwards(100);
  std::vector<double> times_s;
  for (std::int32_t tiles = 12; tiles < 100; ++tiles) {
    times_s.push_back(upwards.time_s(tiles, 1 - 0.5 / tiles, bent_s));
  }
  for (std::int32_t tiles = 99; tiles >= 12; --tiles) {
    CHECK(downwards.time_s(tiles, 1 - 0.5 / tiles, bent_s) ==
          times_s[static_cast<std::size_t>(tiles - 12)]);
  }
}

TEST_CASE("a quotient times all tiles as the simulator does, whatever call it was built from",
          "[sim][quotient-program]") {
  FabricSpec spec;
  spec.name = "dgx1";
  const auto fabric = make_fabric(spec);
  const CostModel model = cost_model_for("auto", *fabric);
  const auto engine = make_engine("flow");
  for (const auto& [algorithm, collective] :
       {std::pair{"ring", CollectiveKind::AllReduce}, std::pair{"naive", CollectiveKind::AllToAll},
        std::pair{"tree", CollectiveKind::AllReduce}}) {
    for (const int slots : {1, 4, kMostSlots}) {
      CAPTURE(algorithm, slots);
      Simulator simulator(fabric, model, "flow");
      const Config config = tiled(algorithm, 2, slots);
      const Call any{.collective = collective, .bytes = 1};
      const ProgramCut cut = program_cut(*simulator.compiled(any, config));
      Config smaller = config;
      smaller.tile_bytes = 1000;
      const Call made_from = call_of_tiles(cut, any, smaller, 16, 1);
      const auto made =
          QuotientProgram::make(simulator.lowered(made_from, smaller), fabric, model, {});
      REQUIRE(made != nullptr);
      for (const std::int32_t tiles : {2, 3, 9, 30}) {
        const Call call = call_of_tiles(cut, any, config, tiles, 0.97);
        REQUIRE(tiles_of_call(cut, call, config) == tiles);
        const double simulated_s = simulator.simulate(call, config).time_s;
        CHECK(made->time(*engine, call, config).time_s == Approx(simulated_s).epsilon(1e-9));
        CHECK(made->time_of_tiles_s(*engine, config, tiles, 0.97) ==
              Approx(simulated_s).epsilon(1e-4));
      }
    }
  }
}

TEST_CASE("with adaptive routes the whole graph is used, lowered once for all sizes",
          "[sim][quotient-program]") {
  FabricSpec spec;
  spec.name = "frontier";
  spec.servers = 2;
  const auto fabric = make_fabric(spec);
  const CostModel model = cost_model_for("auto", *fabric);
  Simulator simulator(fabric, model, "flow");
  const auto engine = make_engine("flow");
  const Config config = config_of("naive", 2);
  const Call small = call_of(CollectiveKind::AllToAll, 1 << 12);
  const LoweredProgram lowered = simulator.lowered(small, config);
  REQUIRE(lowered.graph->adaptive());
  const auto made = QuotientProgram::make(lowered, fabric, model, {});
  REQUIRE(made != nullptr);
  CHECK(made->size() == static_cast<std::size_t>(lowered.graph->size()));
  for (const std::uint64_t bytes : {std::uint64_t{1} << 12, std::uint64_t{3} << 22}) {
    for (const Protocol protocol : {Protocol::LL, Protocol::Simple}) {
      Config other = config;
      other.protocol = protocol;
      const Call call = call_of(CollectiveKind::AllToAll, bytes);
      CHECK(made->time(*engine, call, other).time_s == simulator.simulate(call, other).time_s);
    }
  }
}

TEST_CASE("programs that use switches have no quotient", "[sim][quotient-program]") {
  FabricSpec spec;
  spec.name = "hgx-h100";
  const auto fabric = make_fabric(spec);
  const CostModel model = cost_model_for("auto", *fabric);
  Simulator simulator(fabric, model, "flow");
  const Call call = call_of(CollectiveKind::AllReduce, 1 << 20);
  for (const auto& [algorithm, switches] : {std::pair{"nvls", true}, std::pair{"ring", false}}) {
    CAPTURE(algorithm);
    const Config config = config_of(algorithm);
    CHECK(uses_switches(*simulator.compiled(call, config)) == switches);
    const auto made = QuotientProgram::make(simulator.lowered(call, config), fabric, model, {});
    CHECK((made == nullptr) == switches);
  }
}

TEST_CASE("whole messages with one slot each do not wait for slots", "[sim][quotient-program]") {
  const ProgramCut cut{.chunks_per_call = 8, .longest_message = 1, .max_messages = 4};
  Config config = config_of("ring");
  const Call call = call_of(CollectiveKind::AllReduce, 1 << 20);
  const CostModel model = shipped_cost_model("hockney");
  config.slots = 4;
  CHECK(graph_shape(cut, model, call, config).slots == 0);
  config.slots = 3;
  CHECK(graph_shape(cut, model, call, config).slots == 3);
  config.tile_bytes = 1 << 12;
  config.slots = 4;
  CHECK(graph_shape(cut, model, call, config).slots == 4);
}
