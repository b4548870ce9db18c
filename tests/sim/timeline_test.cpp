#include "sim/timeline.hpp"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/prices/transfer_cost.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

void check_trace(std::uint64_t tile_bytes) {
  const auto f = fabric("ndv4");
  Simulator simulator(f, shipped_cost_model("a100"), "flow");
  Config config = config_of("all-pairs", 2);
  config.tile_bytes = tile_bytes;
  config.slots = tile_bytes > 0 ? 2 : 0;
  CAPTURE(tile_bytes);
  const SimulationRecord record =
      simulator.record(call_of(CollectiveKind::AllReduce, 1 << 20), config);
  CHECK((record.result.simulated_tiles < record.result.tiles) == (tile_bytes == 128));
  std::ostringstream text;
  write_timeline(text, record, *f);
  const nlohmann::json trace = nlohmann::json::parse(text.str());
  REQUIRE(trace["traceEvents"].is_array());

  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> tracks;
  std::set<std::pair<int, int>> named;
  std::map<int, int> arrows;
  double last_us = 0;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    const std::string phase = event["ph"];
    if (phase == "X") {
      const double start_us = event["ts"];
      const double end_us = start_us + event["dur"].get<double>();
      // Dates are in integer nanoseconds, so that rounding in viewers does not make slices overlap.
      CHECK(std::abs(start_us * 1e3 - std::round(start_us * 1e3)) < 1e-6);
      CHECK(event["dur"].get<double>() > 0);  // steps that take no time are instants
      tracks[{event["pid"].get<int>(), event["tid"].get<int>()}].emplace_back(start_us, end_us);
      last_us = std::max(last_us, end_us);
    } else if (phase == "M" && event["name"] == "thread_name") {
      named.insert({event["pid"].get<int>(), event["tid"].get<int>()});
    } else if (phase == "s") {
      ++arrows[event["id"].get<int>()];
    } else if (phase == "f") {
      --arrows[event["id"].get<int>()];
    }
  }
  CHECK(last_us == Approx(record.simulated_s * 1e6).margin(2e-3));
  // There is a track for each rank's launch and thread blocks, and for each used link.
  std::size_t blocks = 0;
  for (const GpuProgram& gpu : record.lowered.program->gpus) blocks += gpu.thread_blocks.size();
  CHECK(tracks.size() > blocks + 8 + 16);
  for (auto& [track, slices] : tracks) {
    // Slices of a track do not overlap, because viewers draw overlapping slices wrongly.
    std::sort(slices.begin(), slices.end());
    for (std::size_t i = 1; i < slices.size(); ++i) {
      CHECK(std::llround(slices[i].first * 1e3) >= std::llround(slices[i - 1].second * 1e3));
    }
    const bool critical_path = track.first == f->ranks() + 1;
    if (!critical_path) CHECK(named.count(track) == 1);
  }
  CHECK_FALSE(arrows.empty());
  for (const auto& [id, balance] : arrows) CHECK(balance == 0);
}

}  // namespace

TEST_CASE("the timeline is a trace that viewers accept", "[sim][timeline]") {
  check_trace(0);     // no tiles
  check_trace(4096);  // a few tiles
  check_trace(128);   // the first of many tiles
}

TEST_CASE("the timeline distinguishes a late start from the launch", "[sim][timeline]") {
  const auto f = fabric("ndv4");
  CostModel model = shipped_cost_model("a100");
  const double launch_us = launch_cost_s(model, Runtime::Nccl, 2, 2) * 1e6;
  for (const double skew_s : {0.0, 5e-6}) {
    model.start_skew_s = skew_s;
    Simulator simulator(f, model, "flow");
    const SimulationRecord record =
        simulator.record(call_of(CollectiveKind::AllReduce, 1 << 20), config_of("ring", 2), 7);
    std::ostringstream text;
    write_timeline(text, record, *f);
    const nlohmann::json trace = nlohmann::json::parse(text.str());
    int launches = 0;
    std::map<int, double> delay_us;
    for (const nlohmann::json& event : trace["traceEvents"]) {
      if (event["ph"] != "X") continue;
      const double duration_us = event["dur"];
      if (event["name"] == "start delay") {
        CHECK(event["ts"].get<double>() == 0);
        delay_us[event["pid"].get<int>()] = duration_us;
      } else if (event["name"] == "kernel launch") {
        ++launches;
        CHECK(duration_us == Approx(launch_us).margin(2e-3));
        CHECK(event["ts"].get<double>() == Approx(delay_us[event["pid"].get<int>()]).margin(2e-3));
      }
    }
    CHECK(launches == 8);
    std::set<double> different;
    for (const auto& [rank, us] : delay_us) different.insert(us);
    CHECK(different.size() == (skew_s > 0 ? 8 : 1));
  }
}
