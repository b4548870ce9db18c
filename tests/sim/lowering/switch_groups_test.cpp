// Tests of copies and sums by switches: NVLS, NVLSTree and SHARP in the simulator.
#include <array>
#include <memory>
#include <optional>
#include <string>

#include "collectives/compiler/compile.hpp"
#include "collectives/program.hpp"
#include "collectives/verifier/verify.hpp"
#include "core/error.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/prices/transfer_cost.hpp"
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
    CHECK(record.graph->bytes(id) ==
          Approx((4 << 20) / 8 / simulator.cost_model().switch_efficiency));
  }
}

TEST_CASE("NVLS, NVLSTree, CollNet: both engines agree", "[sim][switch-groups]") {
  struct Case {
    const char* algorithm;
    int gpus;
    int servers;
  };
  for (const Case& each : {Case{"nvls", 8, 1},
                           {"nvls", 3, 1},
                           {"nvls", 3, 2},
                           {"nvls-tree", 4, 2},
                           {"nvls-tree", 2, 5},
                           {"nvls-tree", 1, 4},
                           {"collnet-chain", 4, 3},
                           {"collnet-direct", 4, 3}}) {
    const auto fabric = hopper(each.gpus, each.servers, each.servers > 1);
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

TEST_CASE("CollNet: the switches send a sum back in the transfer that brought its parts",
          "[sim][switch-groups]") {
  constexpr double kBytes = 1 << 26;
  constexpr double kNic_Bps = 48e9;  // because PCIe is narrower
  const double hop_s = 2 * kSwitchAlpha_s;
  for (const int gpus : {1, 2, 4}) {
    const auto fabric = hopper(gpus, 3, true);
    double alpha_s = 0;
    for (const LinkId id : fabric->route(gpus, 0, 0)) {
      alpha_s += fabric->links()[static_cast<std::size_t>(id)].latency_s;
    }
    const double slice = kBytes / gpus;
    const double slices_s = gpus == 1 ? 0 : hop_s + (gpus - 1) * slice / kLink_Bps;
    for (const std::string& engine : engine_names()) {
      Simulator simulator(fabric, shipped_cost_model("hockney"), engine);
      const auto time_s = [&](const char* algorithm, CollectiveKind kind, std::uint64_t bytes) {
        return simulator.simulate(call_of(kind, bytes), config_of(algorithm)).time_s;
      };
      CAPTURE(gpus, engine);
      const auto all = [&](const char* algorithm) {
        return time_s(algorithm, CollectiveKind::AllReduce, 1 << 26);
      };
      // A chain has a step per GPU after the first, up and down; the network carries all data once
      // in each direction.
      CHECK(all("collnet-chain") ==
            Approx(2 * (gpus - 1) * (hop_s + kBytes / kLink_Bps) + alpha_s + kBytes / kNic_Bps)
                .epsilon(1e-9));
      // With slices, each GPU exchanges all slices but its own, and each NIC carries one.
      CHECK(all("collnet-direct") ==
            Approx(2 * slices_s + alpha_s + slice / kNic_Bps).epsilon(1e-9));
      // NVSwitches add and copy each slice while the GPU sends and receives all of them.
      const double switched_s = gpus == 1 ? 0 : hop_s + kBytes / kLink_Bps;
      CHECK(all("nvls") == Approx(2 * switched_s + alpha_s + slice / kNic_Bps).epsilon(1e-9));
    }
  }
}

TEST_CASE("CollNet: gathering and scattering load each NIC with the data of its GPUs",
          "[sim][switch-groups]") {
  const auto fabric = hopper(4, 3, true);
  Simulator simulator(fabric, shipped_cost_model("hockney"), "flow");
  constexpr std::uint64_t kTotal = 12ULL << 24;  // 16 MiB per rank
  constexpr double kRank = 1 << 24;
  for (const CollectiveKind kind : {CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
    const double time_s =
        simulator.simulate(call_of(kind, kTotal), config_of("collnet-direct")).time_s;
    // Each NIC carries the slices of three nodes in one direction; inside a node, the last of them
    // is then copied, or the first was added before.
    const double network_s = 3 * kRank / 48e9;
    CAPTURE(to_string(kind));
    CHECK(time_s > network_s);
    CHECK(time_s < network_s + 3 * 3 * kRank / kLink_Bps + 20e-6);
  }
}

TEST_CASE("CollNet: a sum waits until its receivers have a free slot", "[sim][switch-groups]") {
  // Rank 1 sends chunks 0 to 3 while the network adds chunk 0, whose sum it may take only then. The
  // sums of chunks 0 and 4 share its link with them. With one slot, the network adds chunk 4 only
  // when rank 1 has taken the first sum, so that another latency is not hidden.
  ProgramBuilder p(
      "slots", Contract::custom("slots", 2, {5, 5}, {1, 1}, [](int, int) { return std::nullopt; }));
  (void)p.chunk(1, Buffer::Input, 0, 4).copy(0, Buffer::Scratch, 0, {.channel = 1});
  for (const int chunk : {0, 4}) {
    const std::array theirs{p.chunk(1, Buffer::Input, chunk)};
    (void)p.chunk(0, Buffer::Input, chunk).all_reduce_in_switch(theirs, {.channel = 0});
  }
  const auto program = std::make_shared<const ThreadBlockProgram>(
      compile(p.finish(), {.fuse = false, .share_blocks = false}));
  const auto fabric = hopper(1, 2, true);
  double alpha_s = 0;
  for (const LinkId id : fabric->route(1, 0, 0)) {
    alpha_s += fabric->links()[static_cast<std::size_t>(id)].latency_s;
  }
  constexpr std::uint64_t kBytes = 5 << 20;
  const double sent_s = 6.0 / 5 * kBytes / 48e9;
  for (const std::string& engine : engine_names()) {
    Simulator simulator(fabric, shipped_cost_model("hockney"), engine);
    const auto time_s = [&](int slots) {
      Config config = config_of("nvls", program->channels);
      config.slots = slots;
      const Call call = call_of(CollectiveKind::Custom, kBytes);
      return simulator.record_program(program, call, config).result.time_s;
    };
    CAPTURE(engine);
    CHECK(time_s(0) == Approx(alpha_s + sent_s).epsilon(1e-9));
    CHECK(time_s(1) == Approx(2 * alpha_s + sent_s).epsilon(1e-9));
  }
}

TEST_CASE("NVLS: unsupported fabrics are refused", "[sim][switch-groups]") {
  CHECK(refusal(fabric("ndv4"), "nvls") ==
        "nvls needs switches that copy and add, and fabric 'ndv4' has no such nvswitch");
  CHECK(refusal(fabric("dgx1"), "nvls-tree").find("has no such nvswitch") != std::string::npos);
  CHECK(refusal(hopper(8, 2), "nvls").find("has no such network-switch") != std::string::npos);
  CHECK(refusal(hopper(8, 2), "nvls-tree").empty());
  CHECK(refusal(hopper(2, 2, true), "nvls").empty());
  for (const std::string algorithm : {"collnet-chain", "collnet-direct"}) {
    CHECK(
        refusal(hopper(8, 2), algorithm) ==
        algorithm +
            " needs switches that copy and add, and fabric 'hgx-h100' has no such network-switch");
    CHECK(refusal(hopper(8), algorithm) ==
          algorithm + " needs switches between nodes, and fabric 'hgx-h100' has one node");
  }
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
