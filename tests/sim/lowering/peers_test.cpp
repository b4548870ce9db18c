// Tests of the rates that are left to messages by the company of their thread blocks.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
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

// Set h100 with the limits of thread blocks and links apart.
CostModel apart() {
  CostModel model = shipped_cost_model("h100");
  model.peer_efficiency = 1;
  model.even_efficiency = 1;
  model.exchange_share = 1;
  return model;
}

double time_of(const CostModel& model, const FabricSpec& spec, CollectiveKind kind,
               const Config& config, std::uint64_t bytes, const std::string& engine = "flow") {
  Simulator simulator(make_fabric(spec), model, engine);
  return simulator.simulate(call_of(kind, bytes), config).time_s;
}

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
  const CostModel alone = apart();
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
  CostModel alone = apart();
  alone.protocols[static_cast<std::size_t>(Protocol::Simple)].thread_block_rate_Bps = 10e9;
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
    const auto company = company_of_exchange(*fabric, 2, Runtime::Nccl);
    CHECK(company.has_value() == !uneven);
    if (company) {
      CHECK(*company ==
            BlockCompany{.peers = 3, .senders = 6, .nic_senders = 8, .exchanging = true});
    }
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

TEST_CASE("the senders of a link are the blocks of a GPU in a kernel whose messages leave by it",
          "[sim][peers]") {
  const auto company_of = [](const std::string& algorithm, CollectiveKind collective,
                             const FabricSpec& spec, int channels) {
    const auto fabric = make_fabric(spec);
    AlgorithmRequest request;
    request.collective = collective;
    request.ranks = fabric->ranks();
    request.channels = channels;
    const ProgramOutline outline = outline_of(*build_algorithm(algorithm, request));
    const std::vector<BlockCompany> company = company_of_blocks(outline, *fabric);
    std::set<std::pair<std::int32_t, bool>> found;
    for (std::uint32_t b = 0; b < outline.first_block(outline.ranks()); ++b) {
      if (outline.blocks[b].send_peer < 0) continue;
      found.insert({company[b].senders * outline.alike_channels, company[b].exchanging});
    }
    return found;
  };
  using Found = std::set<std::pair<std::int32_t, bool>>;
  const FabricSpec switched{.name = "hgx-h100"};
  CHECK(company_of("naive", CollectiveKind::AllToAll, switched, 3) == Found{{21, true}});
  for (const auto& [senders, exchanging] :
       company_of("ring", CollectiveKind::AllReduce, switched, 3)) {
    CHECK(senders == 3);
    CHECK_FALSE(exchanging);
  }
  // Rings of two ranks pass nothing on, either, but are no sends.
  FabricSpec pair = switched;
  pair.gpus_per_server = 2;
  for (const CollectiveKind ring : {CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
    CHECK(company_of("ring", ring, pair, 3) == Found{{3, false}});
  }
  CHECK(company_of("naive", CollectiveKind::AllToAll, pair, 3) == Found{{3, true}});
  // The first rank of AllToNext receives nothing.
  CHECK(company_of("naive", CollectiveKind::AllToNext, switched, 3) ==
        Found{{3, true}, {3, false}});
  // The ranks of a Scatter receive and do not send.
  CHECK(company_of("naive", CollectiveKind::Scatter, switched, 2) == Found{{14, false}});
  // Blocks of MSCCL's interpreter send, then receive. A GPU of a ring has a link of its own to each
  // neighbour.
  CHECK(company_of("all-pairs", CollectiveKind::AllReduce, switched, 1).begin()->second == false);
  CHECK(company_of("naive", CollectiveKind::AllToNext, {.name = "ring", .gpus = 4}, 5)
            .begin()
            ->first == 5);
}

TEST_CASE("limits by blocks and by a link together leave even_efficiency where they are equal",
          "[sim][peers]") {
  CostModel model = apart();
  CHECK(rate_near_limits(model, 1e9, 1e9) == 1);
  for (const double even : {0.5, 0.7, 0.8288, 0.99}) {
    CAPTURE(even);
    model.even_efficiency = even;
    CHECK(rate_near_limits(model, 3e9, 3e9) == Approx(even));
    CHECK(rate_near_limits(model, 1e9, 5e9) == Approx(rate_near_limits(model, 5e9, 1e9)));
    CHECK(rate_near_limits(model, 1e9, std::numeric_limits<double>::infinity()) == 1);
    double before = even;
    for (double blocks_Bps = 3e9; blocks_Bps < 1e12; blocks_Bps *= 1.5) {
      const double left = rate_near_limits(model, blocks_Bps, 3e9);
      CHECK(left >= before);
      CHECK(left <= 1);
      before = left;
    }
  }
  model.even_efficiency = 0.5;  // times add
  CHECK(rate_near_limits(model, 1e9, 3e9) == Approx(0.75));
  model.even_efficiency = std::sqrt(0.5);  // squares add
  CHECK(rate_near_limits(model, 3e9, 4e9) == Approx(0.8));
  model.hockney = true;
  CHECK(rate_near_limits(model, 3e9, 4e9) == 1);
}

TEST_CASE("a send takes the time of its blocks and of its link together", "[sim][peers]") {
  CostModel model = apart();
  model.even_efficiency = std::sqrt(0.5);
  model.exchange_share = 0.5;
  constexpr double kBlock_Bps = 20e9;
  auto& simple = model.protocols[static_cast<std::size_t>(Protocol::Simple)];
  simple.thread_block_rate_Bps = kBlock_Bps;
  simple.efficiency = 1;
  const double link_Bps = 18 * 25e9 * model.link_efficiency[0];
  const FabricSpec pair{.name = "hgx-h100", .gpus_per_server = 2};
  constexpr std::uint64_t kBytes = 256ULL << 20;
  for (const std::string& engine : engine_names()) {
    for (const int channels : {1, 8, 16, 32}) {
      CAPTURE(engine, channels);
      const auto moved_s = [&](CollectiveKind kind, double bytes) {
        const auto time_s = [&](std::uint64_t size) {
          return time_of(model, pair, kind, config_of("naive", channels), size, engine);
        };
        return (time_s(2 * kBytes) - time_s(kBytes)) / bytes;
      };
      const auto together = [&](double blocks_Bps) {
        return std::hypot(1 / blocks_Bps, 1 / link_Bps);
      };
      // Both ranks of an AllToAll send half of the data and receive as much.
      CHECK(moved_s(CollectiveKind::AllToAll, kBytes / 2.0) ==
            Approx(together(channels * kBlock_Bps / 2)).epsilon(1e-6));
      // A rank of AllToNext sends and the other receives.
      CHECK(moved_s(CollectiveKind::AllToNext, kBytes) ==
            Approx(together(channels * kBlock_Bps)).epsilon(1e-6));
    }
  }
}

TEST_CASE("the senders of a NIC are the blocks of all ranks whose messages leave the node by it",
          "[sim][peers]") {
  struct Case {
    FabricSpec spec;
    std::int32_t senders;  // number at a NIC, by channel
  };
  for (const auto& [spec, senders] :
       {Case{{.name = "hgx-h100", .servers = 3, .gpus_per_server = 2}, 4},  // a NIC each
        Case{{.name = "dgx2", .servers = 2}, 32},                           // one for 2 of 16 GPUs
        Case{{.name = "ndv2", .servers = 2}, 64},                           // one NIC for 8 GPUs
        Case{{.name = "hgx-h100"}, 0}}) {
    const auto fabric = make_fabric(spec);
    constexpr int kChannels = 3;
    AlgorithmRequest request;
    request.collective = CollectiveKind::AllToAll;
    request.ranks = fabric->ranks();
    request.channels = kChannels;
    const ProgramOutline outline = outline_of(*build_algorithm("naive", request));
    const std::vector<BlockCompany> company = company_of_blocks(outline, *fabric);
    for (int rank = 0; rank < outline.ranks(); ++rank) {
      for (std::uint32_t b = outline.first_block(rank); b < outline.first_block(rank + 1); ++b) {
        const std::int32_t peer = outline.blocks[b].send_peer;
        const bool leaves = peer >= 0 && fabric->server_of(peer) != fabric->server_of(rank);
        CHECK(company[b].nic_senders == (leaves ? senders * kChannels : 0));
      }
    }
    const auto folded = company_of_exchange(*fabric, kChannels, Runtime::Nccl);
    if (folded) CHECK(folded->nic_senders == senders * kChannels);
    CHECK(folded.has_value() == (spec.name != "ndv2"));  // whose GPUs have several NVLinks
  }
}

TEST_CASE("a send to another node takes the time of its channels and of the NIC together",
          "[sim][peers]") {
  CostModel model = apart();
  model.even_efficiency = std::sqrt(0.5);
  model.exchange_share = 0.5;
  model.link_efficiency[static_cast<std::size_t>(LinkKind::Network)] = 0.5;  // less than PCIe
  constexpr double kNic_Bps = 0.5 * 50e9;
  constexpr double kConnection_Bps = 20e9;
  model.protocols[static_cast<std::size_t>(Protocol::Simple)].network_rate_Bps = kConnection_Bps;
  const FabricSpec nodes{.name = "hgx-h100", .servers = 2, .gpus_per_server = 1};
  constexpr std::uint64_t kBytes = 256ULL << 20;
  for (const int channels : {1, 2, 4, 16}) {
    CAPTURE(channels);
    const auto moved_s = [&](const CostModel& by, CollectiveKind kind, double bytes) {
      const auto time_s = [&](std::uint64_t size) {
        return time_of(by, nodes, kind, config_of("naive", channels), size);
      };
      return (time_s(2 * kBytes) - time_s(kBytes)) / bytes;
    };
    const auto together = [&](double channel_Bps) {
      return std::hypot(1 / (channels * channel_Bps), 1 / kNic_Bps);
    };
    // A channel of a send that also receives moves what NCCL expects of it.
    CHECK(moved_s(model, CollectiveKind::AllToAll, kBytes / 2.0) ==
          Approx(together(14e9)).epsilon(1e-6));
    CHECK(moved_s(model, CollectiveKind::AllToNext, kBytes) ==
          Approx(together(kConnection_Bps)).epsilon(1e-6));
    CostModel apart_model = model;
    apart_model.even_efficiency = 1;
    apart_model.exchange_share = 1;
    CHECK(moved_s(apart_model, CollectiveKind::AllToAll, kBytes / 2.0) ==
          Approx(1 / std::min(channels * kConnection_Bps, kNic_Bps)).epsilon(1e-6));
  }
}
