// Tests of the rates that are left to messages among many peers.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "collectives/outline.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/lowering/block_company.hpp"
#include "sim/prices/transfer_cost.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

// Different numbers of peers at once of a program's blocks that send.
std::set<std::int32_t> peers_of(const std::string& algorithm, CollectiveKind collective,
                                const FabricSpec& spec, int root = 0) {
  const auto fabric = make_fabric(spec);
  AlgorithmRequest request;
  request.collective = collective;
  request.ranks = fabric->ranks();
  request.root = root;
  request.channels = 2;
  const ProgramOutline outline = outline_of(*build_algorithm(algorithm, request));
  const std::vector<BlockCompany> company = company_of_blocks(outline, *fabric);
  REQUIRE(company.size() == outline.blocks.size());
  std::set<std::int32_t> different;
  for (std::uint32_t b = 0; b < outline.first_block(outline.ranks()); ++b) {
    if (outline.blocks[b].send_peer >= 0) different.insert(company[b].peers);
  }
  return different;
}

using Counts = std::set<std::int32_t>;

}  // namespace

TEST_CASE("peers at once are those of blocks that begin by sending", "[sim][peers]") {
  const FabricSpec one{.name = "hgx-h100"};
  CHECK(peers_of("naive", CollectiveKind::AllToAll, one) == Counts{7});
  CHECK(peers_of("naive", CollectiveKind::AllToAll, {.name = "hgx-h100", .gpus_per_server = 3}) ==
        Counts{2});
  CHECK(peers_of("all-pairs", CollectiveKind::AllReduce, one) == Counts{7});
  CHECK(peers_of("ring", CollectiveKind::AllReduce, one) == Counts{1});
  // The messages of a root come from, or go to, all others.
  CHECK(peers_of("naive", CollectiveKind::Gather, one, 3) == Counts{7});
  CHECK(peers_of("naive", CollectiveKind::Scatter, one, 3) == Counts{7});
  // One peer after another.
  CHECK(peers_of("recursive-halving", CollectiveKind::ReduceScatter, one) == Counts{1});
  // Messages over the network have 1, those inside each of two nodes n - 1.
  CHECK(peers_of("naive", CollectiveKind::AllToAll,
                 {.name = "hgx-h100", .servers = 2, .gpus_per_server = 4}) == Counts{1, 3});
}

TEST_CASE("the rate among k peers falls by (k - 1) / k of what peer_efficiency takes",
          "[sim][peers]") {
  CostModel model = shipped_cost_model("a100");
  CHECK(model.peer_efficiency == 1);
  CHECK(rate_among_peers(model, 7) == 1);
  model.peer_efficiency = 0.5;
  CHECK(rate_among_peers(model, 1) == 1);
  CHECK(rate_among_peers(model, 2) == 0.75);
  CHECK(rate_among_peers(model, 4) == 0.625);
  model.hockney = true;
  CHECK(rate_among_peers(model, 4) == 1);
}

TEST_CASE("AllToAll takes as much longer as its peers take of the rates, a ring none",
          "[sim][peers]") {
  CostModel alone = shipped_cost_model("h100");
  alone.peer_efficiency = 1;
  CostModel among = alone;
  among.peer_efficiency = 0.75;
  constexpr double kBytes = 8 * 3 * 5 * 7 * (1 << 20);
  for (const std::string& engine : engine_names()) {
    for (const int gpus : {2, 4, 8}) {
      const auto fabric = make_fabric({.name = "hgx-h100", .gpus_per_server = gpus});
      const auto time_s = [&](const CostModel& model, CollectiveKind kind,
                              const std::string& algorithm, int channels) {
        Simulator simulator(fabric, model, engine);
        return simulator
            .simulate(call_of(kind, static_cast<std::uint64_t>(kBytes)),
                      config_of(algorithm, channels))
            .time_s;
      };
      CAPTURE(engine, gpus);
      // 32 channels fill the NVLinks of a GPU.
      const auto naive_s = [&](const CostModel& model, int channels) {
        return time_s(model, CollectiveKind::AllToAll, "naive", channels);
      };
      const double peers = gpus - 1;
      const double moved = kBytes * peers / gpus;
      const double link_Bps = 18 * 25e9 * alone.link_efficiency[0];
      const double lost = (1 / (1 - 0.25 * (peers - 1) / peers) - 1) * moved / link_Bps;
      const double efficiency =
          alone.protocols[static_cast<std::size_t>(Protocol::Simple)].efficiency;
      CHECK(naive_s(among, 32) - naive_s(alone, 32) ==
            Approx(lost / efficiency).epsilon(1e-9).margin(1e-15));
      // One channel is as fast as its thread block.
      if (gpus == 2) CHECK(naive_s(among, 1) == naive_s(alone, 1));
      CHECK(time_s(among, CollectiveKind::AllReduce, "ring", 8) ==
            time_s(alone, CollectiveKind::AllReduce, "ring", 8));
    }
  }
}

TEST_CASE("thread blocks that are the limit keep their rate among peers", "[sim][peers]") {
  CostModel alone = shipped_cost_model("h100");
  alone.protocols[static_cast<std::size_t>(Protocol::Simple)].thread_block_rate_Bps = 10e9;
  alone.peer_efficiency = 1;
  CostModel among = alone;
  among.peer_efficiency = 0.75;
  const auto fabric = make_fabric({.name = "hgx-h100"});
  const auto time_s = [&](const CostModel& model) {
    Simulator simulator(fabric, model, "flow");
    return simulator.simulate(call_of(CollectiveKind::AllToAll, 64 << 20), config_of("naive"))
        .time_s;
  };
  CHECK(time_s(among) == Approx(time_s(alone)).epsilon(1e-12));
}

TEST_CASE("an exchange among nodes with different numbers of GPUs is not folded",
          "[sim][peers][classes]") {
  const CostModel model = shipped_cost_model("h100");
  REQUIRE(model.peer_efficiency < 1);
  for (const bool uneven : {false, true}) {
    FabricSpec spec{.name = "hgx-h100", .servers = 2, .gpus_per_server = 4};
    if (uneven) spec.without = "server1/gpu3";
    const auto fabric = make_fabric(spec);
    CHECK(peers_on_node(*fabric) == (uneven ? std::nullopt : std::optional(3)));
    Simulator folding(fabric, model, "flow");
    folding.set_fold_from({.messages = 0, .firings = 0});
    Simulator full(fabric, model, "flow");
    const Call call = call_of(CollectiveKind::AllToAll, 8 * 7 * 65536);
    const SimulationRecord record =
        folding.record(call, config_of("naive", 2), 0, 0, RecordDetail::Classes);
    CHECK((record.lowered.classes && record.lowered.classes->examples) == !uneven);
    CHECK(record.result.time_s ==
          Approx(full.simulate(call, config_of("naive", 2)).time_s).epsilon(1e-9));
  }
}
