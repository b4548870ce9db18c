// Tests of copies and sums by switches: NVLS, NVLSTree and SHARP in the simulator.
#include <array>
#include <string>

#include "collectives/verifier/verify.hpp"
#include "core/error.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/lowering/transfer_cost.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"
#include "support/shipped_algorithms.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

constexpr double kSwitchAlpha_s = 0.35e-6;  // between GPU and NVSwitch
constexpr double kLink_Bps = 18 * 25e9;     // NVLinks of a GPU

std::shared_ptr<const Fabric> hopper(int gpus, int servers = 1, bool sharp = false) {
  FabricSpec spec;
  spec.name = "hgx-h100";
  spec.gpus_per_server = gpus;
  if (servers > 1) spec.servers = servers;
  spec.sharp = sharp;
  return make_fabric(spec);
}

std::string refusal(const std::shared_ptr<const Fabric>& fabric, const std::string& algorithm) {
  Simulator simulator(fabric, shipped_cost_model("hockney"), "flow");
  try {
    (void)simulator.simulate(call_of(CollectiveKind::AllReduce, 1 << 20), config_of(algorithm));
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("NVLS: a GPU's links carry its data once, plus a slice", "[sim][switch-groups]") {
  for (const int n : {2, 3, 4, 8}) {
    for (const std::string& engine : engine_names()) {
      Simulator simulator(hopper(n), shipped_cost_model("hockney"), engine);
      constexpr double kBytes = 1 << 30;
      const auto time_s = [&](CollectiveKind kind, const char* algorithm) {
        return simulator.simulate(call_of(kind, 1 << 30), config_of(algorithm)).time_s;
      };
      CAPTURE(n, engine);
      // A phase moves all data over each link in one direction (out of GPUs or out of switches),
      // and a slice of the data in the other direction.
      const double phase_s = 2 * kSwitchAlpha_s + kBytes / kLink_Bps;
      CHECK(time_s(CollectiveKind::ReduceScatter, "nvls") == Approx(phase_s).epsilon(1e-9));
      CHECK(time_s(CollectiveKind::AllGather, "nvls") == Approx(phase_s).epsilon(1e-9));
      CHECK(time_s(CollectiveKind::AllReduce, "nvls") == Approx(2 * phase_s).epsilon(1e-9));
    }
  }
}

TEST_CASE("NVLS: tiles of the two phases share the links", "[sim][switch-groups]") {
  const auto fabric = hopper(8);
  CostModel model = shipped_cost_model("h100");
  model.switch_latency_s = 0;
  for (const std::string& engine : engine_names()) {
    Simulator simulator(fabric, model, engine);
    Config config = config_of("nvls", 16);
    config.tile_bytes = 128 << 10;
    config.slots = 8;
    constexpr double kBytes = 1ULL << 32;
    const double link_Bps = kLink_Bps * model.link_efficiency[0] * model.switch_efficiency;
    const Result result =
        simulator.simulate(call_of(CollectiveKind::AllReduce, 1ULL << 32), config);
    CHECK(result.time_s == Approx(kBytes * (1 + 1.0 / 8) / link_Bps).epsilon(0.01));
  }
}

TEST_CASE("NVLS: links carry copied or added data once", "[sim][switch-groups]") {
  Simulator simulator(hopper(4), shipped_cost_model("h100"), "flow");
  const SimulationRecord record =
      simulator.record(call_of(CollectiveKind::AllReduce, 4 << 20), config_of("nvls", 2));
  CHECK(record.result.flows == 2 * 4 * 2);
  CHECK(record.result.steps == 2);
  CHECK(verify(*record.lowered.program).ok);
  const Config config = config_of("nvls", 2);
  const TransferCost cost =
      switched_cost(simulator.cost_model(), *hopper(4), std::array<LinkId, 0>{}, config,
                    {.runtime = Runtime::Nccl}, 1 << 20);
  CHECK(cost.wire_bytes == Approx((1 << 20) / simulator.cost_model().switch_efficiency));
  for (TransferId id = 0; id < record.graph->size(); ++id) {
    if (record.graph->route_of(id) < 0) continue;
    // Each route has four links to the switch and one link from it, or vice versa.
    CHECK(record.graph->route_links(record.graph->route_of(id)).size() == 5);
    CHECK(record.graph->bytes(id) == Approx((4 << 20) / 8 / 0.75));
  }
}

TEST_CASE("NVLS, NVLSTree: both engines agree", "[sim][switch-groups]") {
  struct Case {
    const char* algorithm;
    int gpus;
    int servers;
  };
  for (const Case& each : {Case{"nvls", 8, 1},
                           {"nvls", 3, 1},
                           {"nvls-tree", 4, 2},
                           {"nvls-tree", 2, 5},
                           {"nvls-tree", 1, 4}}) {
    const auto fabric = hopper(each.gpus, each.servers);
    for (const std::uint64_t tile : {std::uint64_t{0}, std::uint64_t{64} << 10}) {
      Config config = config_of(each.algorithm, 3);
      config.tile_bytes = tile;
      config.slots = tile > 0 ? 4 : 0;
      const Call call = call_of(CollectiveKind::AllReduce, 3'000'000);
      Simulator one(fabric, shipped_cost_model("h100"), "simgrid");
      Simulator other(fabric, shipped_cost_model("h100"), "flow");
      CAPTURE(each.algorithm, each.gpus, each.servers, tile);
      CHECK(one.simulate(call, config).time_s ==
            Approx(other.simulate(call, config).time_s).epsilon(1e-9));
    }
  }
}

TEST_CASE("NVLS: unsupported fabrics are refused", "[sim][switch-groups]") {
  CHECK(refusal(fabric("ndv4"), "nvls") ==
        "nvls needs switches that copy and add, and fabric 'ndv4' has no such nvswitch");
  CHECK(refusal(fabric("dgx1"), "nvls-tree").find("has no such nvswitch") != std::string::npos);
  CHECK(refusal(hopper(8, 2), "nvls").find("has no such network-switch") != std::string::npos);
  CHECK(refusal(hopper(8, 2), "nvls-tree").empty());
  CHECK(refusal(hopper(2, 2, true), "nvls").empty());
  FabricSpec off;
  off.name = "hgx-h100";
  off.nvls = false;
  CHECK(refusal(make_fabric(off), "nvls").find("has no such nvswitch") != std::string::npos);
  // Programs from outside the library are refused when their messages are lowered.
  AlgorithmRequest request;
  request.ranks = 8;
  Simulator simulator(fabric("ndv4"), shipped_cost_model("hockney"), "flow");
  try {
    (void)simulator.record_program(build_algorithm("nvls", request),
                                   call_of(CollectiveKind::AllReduce, 1 << 20), config_of("nvls"));
    FAIL("simulated");
  } catch (const UserError& error) {
    CHECK(std::string(error.what()) ==
          "program 'nvls' needs switches that copy and add, but on the route from rank 1 to rank 0 "
          "of fabric 'ndv4' 'nvswitch' does not");
  }
}

TEST_CASE("SHARP: the network adds, each NIC sends and receives its data once, plus a part",
          "[sim][switch-groups]") {
  const auto fabric = hopper(1, 4, true);
  Simulator simulator(fabric, shipped_cost_model("hockney"), "flow");
  constexpr double kBytes = 1 << 30;
  constexpr double kNic_Bps = 48e9;  // because PCIe is narrower
  const double time_s =
      simulator.simulate(call_of(CollectiveKind::ReduceScatter, 1 << 30), config_of("nvls")).time_s;
  CHECK(time_s == Approx(kBytes / kNic_Bps).epsilon(0.01));
}
