// Tests of the extra costs of messages between nodes (proxy, copies, rendezvous), and of
// back-to-back calls.
#include <cstdint>
#include <string_view>

#include "calibration/measure/measured_cells.hpp"
#include "calibration/measure/repeated_calls.hpp"
#include "collectives/library/algorithm_library.hpp"
#include "collectives/verifier/verify.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/call/tiles.hpp"
#include "sim/prices/transfer_cost.hpp"
#include "sim/simulator.hpp"
#include "support/catch.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {
namespace {

std::shared_ptr<const Fabric> servers_of_one_gpu(int servers) {
  return make_fabric({.name = "ndv4", .servers = servers, .gpus_per_server = 1});
}

double all_to_all_s(const CostModel& model, int channels, std::uint64_t bytes) {
  Simulator simulator(servers_of_one_gpu(2), model, "flow");
  const Config config{.algorithm = "naive", .protocol = Protocol::Simple, .channels = channels};
  return simulator.simulate({CollectiveKind::AllToAll, bytes, 0}, config).time_s;
}

TEST_CASE("large messages over the network are copied, and larger ones announced",
          "[calibration][network-cost]") {
  const auto fabric = servers_of_one_gpu(2);
  const auto route = fabric->route(0, 1, 0);
  CostModel model = shipped_cost_model("a100");
  model.copy_limit_bytes = 4096;
  model.copy_latency_s = 3e-6;
  model.eager_limit_bytes = 16384;
  model.rendezvous_latency_s = 20e-6;
  model.protocols[static_cast<std::size_t>(Protocol::LL)].network_rate_Bps = 1e9;
  const auto cost = [&](double payload_bytes, Protocol protocol) {
    return transfer_cost(model, *fabric, route, {.protocol = protocol}, {.runtime = Runtime::Nccl},
                         payload_bytes, false);
  };
  const TransferCost small = cost(2048, Protocol::LL);  // LL doubles the bytes on the wire
  const TransferCost copied = cost(2049, Protocol::LL);
  CHECK(copied.arrival_s - small.arrival_s == Approx(3e-6));
  const double eager_s = cost(16384, Protocol::Simple).arrival_s;
  CHECK(cost(16385, Protocol::Simple).arrival_s - eager_s == Approx(20e-6));
  // The NIC reads messages of LL from host memory, without the GPU.
  CHECK(cost(8193, Protocol::LL).arrival_s == Approx(copied.arrival_s).margin(1e-12));
  CHECK(small.rate_cap_Bps > 1.1e9);
  CHECK(copied.rate_cap_Bps == 1e9);
  // An announcement of LL may have a cost of its own, and announced messages need no copy.
  model.protocols[static_cast<std::size_t>(Protocol::LL)].rendezvous_latency_s = 7e-6;
  CHECK(cost(8193, Protocol::LL).arrival_s - copied.arrival_s == Approx(7e-6));
  CHECK(cost(8193, Protocol::LL).rate_cap_Bps == 1e9);
  model.copy_end_bytes = 16384;
  CHECK(cost(8192, Protocol::LL).arrival_s == Approx(copied.arrival_s).margin(1e-12));
  CHECK(cost(8193, Protocol::LL).arrival_s - small.arrival_s == Approx(7e-6));
  CHECK(cost(8193, Protocol::LL).rate_cap_Bps == small.rate_cap_Bps);
}

TEST_CASE("a step of a tree costs more where it crosses the network, and only there",
          "[calibration][network-cost]") {
  const auto fabric = make_fabric({.name = "ndv4", .servers = 2});
  CostModel model = shipped_cost_model("a100");
  const auto arrival_s = [&](const char* algorithm, int to) {
    return transfer_cost(model, *fabric, fabric->route(0, to, 0), {.protocol = Protocol::LL},
                         AlgorithmLibrary::shipped().at(algorithm).traits, 1024, true)
        .arrival_s;
  };
  CHECK(arrival_s("tree", 8) == arrival_s("ring", 8));
  model.protocols[static_cast<std::size_t>(Protocol::LL)].tree_latency_s = 2.3e-6;
  CHECK(arrival_s("tree", 8) - arrival_s("ring", 8) == Approx(2.3e-6));
  CHECK(arrival_s("tree", 1) == arrival_s("ring", 1));
}

TEST_CASE("a proxy's busy time depends on the protocol and on the way in which a message moves",
          "[calibration][network-cost]") {
  CostModel model = shipped_cost_model("a100");
  model.proxy_message_s = 1e-6;
  model.inline_limit_bytes = 256;
  model.copy_limit_bytes = 4096;
  ProtocolCost& simple = model.protocols[static_cast<std::size_t>(Protocol::Simple)];
  simple.proxy_message_s = 2e-6;
  simple.proxy_inline_s = 7e-6;
  ProtocolCost& ll = model.protocols[static_cast<std::size_t>(Protocol::LL)];
  ll.proxy_copy_s = 5e-6;
  ll.proxy_rate_Bps = 8e9;
  const auto busy_s = [&](Protocol protocol, double payload_bytes) {
    const double wire_bytes = protocol == Protocol::LL ? 2 * payload_bytes : payload_bytes;
    return wire_bytes / proxy_capacity_Bps(model, protocol, payload_bytes);
  };
  CHECK(busy_s(Protocol::Simple, 256) == Approx(10e-6));
  CHECK(busy_s(Protocol::Simple, 257) == Approx(3e-6));
  CHECK(busy_s(Protocol::Simple, 1 << 20) == Approx(3e-6));
  // The proxy moves every message at its rate; above the limit, it needs a call, too.
  CHECK(busy_s(Protocol::LL, 64) == Approx(1e-6 + 128 / 8e9));
  CHECK(busy_s(Protocol::LL, 2048) == Approx(1e-6 + 4096 / 8e9));
  CHECK(busy_s(Protocol::LL, 4000) == Approx(6e-6 + 8000 / 8e9));
  CHECK(busy_s(Protocol::LL, 16384) == Approx(6e-6 + 32768 / 8e9));
  // The NIC puts messages that are announced where they belong.
  model.copy_end_bytes = 16384;
  CHECK(busy_s(Protocol::LL, 8192) == Approx(6e-6 + 16384 / 8e9));
  CHECK(busy_s(Protocol::LL, 8193) == Approx(1e-6));
}

TEST_CASE("a rank's proxy serves the messages of all its connections one after the other",
          "[calibration][network-cost]") {
  CostModel model = shipped_cost_model("a100");
  model.channel_overhead_s = 0;
  const double alone_s = all_to_all_s(model, 1, 8192);
  model.proxy_message_s = 10e-6;
  // On each channel, each rank sends and receives a message of 4 KiB. Thread blocks are far faster
  // than the proxy.
  const double one_s = all_to_all_s(model, 1, 8192);
  const double four_s = all_to_all_s(model, 4, 4 * 8192);
  CHECK(one_s - alone_s == Approx(20e-6).margin(1e-6));
  CHECK(four_s - one_s == Approx(60e-6).margin(1e-9));
}

TEST_CASE("proxies are not links of the fabric", "[calibration][network-cost]") {
  const auto fabric = servers_of_one_gpu(2);
  CostModel model = shipped_cost_model("a100");
  model.proxy_message_s = 10e-6;
  Simulator simulator(fabric, model, "flow");
  const SimulationRecord record =
      simulator.record({CollectiveKind::AllToAll, 8192, 0}, {.algorithm = "naive"});
  CHECK(record.lowered.fabric_links == fabric->links().size());
  CHECK(record.graph->link_capacities_Bps().size() == fabric->links().size() + 2);
  model.proxy_message_s = 0;
  simulator.set_cost_model(model);
  const SimulationRecord without =
      simulator.record({CollectiveKind::AllToAll, 8192, 0}, {.algorithm = "naive"});
  CHECK(without.graph->link_capacities_Bps().size() == fabric->links().size());
}

TEST_CASE("broadcasts that follow each other take as long as the busiest rank",
          "[calibration][network-cost]") {
  const CostModel model = shipped_cost_model("a100");
  const Config config{.algorithm = "ring", .protocol = Protocol::LL, .channels = 1};
  double alone_s = 0;
  double between_s = 0;
  for (const int servers : {2, 16}) {
    const auto fabric = servers_of_one_gpu(servers);
    const auto chain = rooted_chain(*fabric, CollectiveKind::Broadcast, 1, 0);
    CHECK(verify(*chain).ok);
    Simulator simulator(fabric, model, "flow");
    const SimulationRecord record =
        simulator.record_program(chain, {CollectiveKind::Broadcast, 1024, 0}, config);
    const double between = time_between_calls_s(record);
    if (servers == 16) {
      CHECK(record.result.time_s > 5 * alone_s / 2);  // one call passes through the entire chain
      CHECK(between < 1.2 * between_s);               // the next call does not wait for it
    }
    CHECK(between < record.result.time_s);
    CHECK(between > model.kernel_launch_s);
    alone_s = record.result.time_s;
    between_s = between;
  }
}

TEST_CASE("reductions that follow each other take as long as the busiest rank",
          "[calibration][network-cost]") {
  const CostModel model = shipped_cost_model("a100");
  const Config config{.algorithm = "ring", .protocol = Protocol::LL, .channels = 1};
  std::vector<double> often_s;
  for (const int servers : {2, 16}) {
    const auto fabric = servers_of_one_gpu(servers);
    const auto chain = rooted_chain(*fabric, CollectiveKind::Reduce, 1, 0);
    CHECK(verify(*chain).ok);
    Simulator simulator(fabric, model, "flow");
    const SimulationRecord record =
        simulator.record_program(chain, {CollectiveKind::Reduce, 1024, 0}, config);
    // The root has the first result when the chain has passed, and then one a launch and a message.
    const double once_s = time_between_calls_s(record, 1);
    CHECK(once_s == Approx(record.result.time_s).epsilon(0.1));
    often_s.push_back(time_between_calls_s(record, 400));
    CHECK(time_between_calls_s(record) ==
          Approx((once_s + 19 * often_s.back()) / 20).epsilon(0.05));
  }
  CHECK(often_s[1] == Approx(often_s[0]).epsilon(0.1));
}

TEST_CASE("a root runs ahead of its broadcasts as far as the FIFOs let it",
          "[calibration][network-cost]") {
  const CostModel model = shipped_cost_model("a100");
  const auto fabric = make_fabric({.name = "ndv4", .servers = 4});
  const Config config =
      with_protocol_tiles(model, CollectiveKind::Broadcast,
                          {.algorithm = "ring", .protocol = Protocol::Simple, .channels = 8});
  Simulator simulator(fabric, model, "flow");
  const auto record_of = [&](int channels) {
    const Call call{CollectiveKind::Broadcast, static_cast<std::uint64_t>(channels) << 17, 0};
    Config with = config;
    with.channels = channels;
    return simulator.record_program(rooted_chain(*fabric, CollectiveKind::Broadcast, channels, 0),
                                    call, with);
  };
  // With one chain, each of any number of calls takes as long as the root needs to send.
  const SimulationRecord one = record_of(1);
  const double first_s = time_between_calls_s(one, 1);
  CHECK(time_between_calls_s(one, 64) == Approx(first_s).epsilon(0.2));
  CHECK(time_between_calls_s(one, 64) < one.result.time_s / 4);
  // Eight chains visit the nodes in different orders. Ranks wait in one chain for data that comes
  // early in another, which delays the root once the slots of a chain are full.
  const SimulationRecord eight = record_of(8);
  CHECK(time_between_calls_s(eight, 8) < time_between_calls_s(eight, 64) / 2);
  CHECK(time_between_calls_s(eight, 64) > eight.result.time_s / 3);
}

TEST_CASE("rows of Alps called all_gather are of AllReduce", "[calibration][network-cost]") {
  std::vector<Measurement> rows(2);
  for (Measurement& row : rows) {
    row.system = "Alps-GH200";
    row.ranks = 8;
    row.nodes = 2;
    row.bytes = 128;
    row.time_s = 20e-6;
  }
  rows[1].collective = CollectiveKind::AllGather;
  rows[1].time_s = 22e-6;
  const MeasuredCells cells = make_cells(rows, {}, "rows.csv");
  REQUIRE(cells.cells.size() == 1);
  CHECK(cells.cells[0].collective == CollectiveKind::AllReduce);
  CHECK(cells.cells[0].time_s == Approx(21e-6));
}

// Time on nodes with one rank each, whose links have no cost except their rate of 125 MB/s.
double ethernet_s(CostModel model, CollectiveKind collective, const char* algorithm,
                  std::uint64_t bytes, std::string_view engine, std::uint64_t tile_bytes = 0) {
  model.hockney = false;
  model.kernel_launch_s = model.channel_overhead_s = model.instruction_overhead_s = 0;
  model.interpreter_launch_s = model.interpreter_block_s = model.interpreter_step_s = 0;
  model.proxy_message_s = model.rendezvous_latency_s = 0;
  model.alpha_s.fill(0);
  model.link_efficiency.fill(1);
  ProtocolCost& simple = model.protocols[static_cast<std::size_t>(Protocol::Simple)];
  simple = {};
  Simulator simulator(make_fabric({.name = "ethernet", .servers = 4}), model, engine);
  const Config config{.algorithm = algorithm, .tile_bytes = tile_bytes};
  return simulator.simulate({collective, bytes, 0}, config).time_s;
}

TEST_CASE("a link's burst shortens its busy time, and nothing else",
          "[calibration][network-cost]") {
  CostModel model = shipped_cost_model("openmpi-tcp");
  constexpr std::uint64_t kBytes = 1'000'000;
  // Rank 0 sends the data three times through its link.
  const auto time_s = [&](std::uint64_t burst, std::string_view engine, std::uint64_t tiles = 0) {
    model.network_burst_bytes = burst;
    return ethernet_s(model, CollectiveKind::Broadcast, "naive", kBytes, engine, tiles);
  };
  CHECK(time_s(0, "flow") == Approx(3 * kBytes / 125e6));
  CHECK(time_s(300'000, "flow") == Approx((3 * kBytes - 300'000) / 125e6));
  CHECK(time_s(300'000, "simgrid") == Approx(time_s(300'000, "flow")));
  CHECK(time_s(300'000, "flow", 50'000) == Approx((3 * kBytes - 300'000) / 125e6));
  // If the bucket holds everything, the node's memory, at 5 GB/s, is the bottleneck.
  CHECK(time_s(10'000'000, "flow") == Approx(3 * kBytes / 5e9));
}

TEST_CASE("the two directions of a connection share its rate", "[calibration][network-cost]") {
  CostModel model = shipped_cost_model("openmpi-tcp");
  constexpr std::uint64_t kBytes = 1'000'000;
  const auto time_s = [&](const char* algorithm, double rate_Bps, std::string_view engine) {
    model.connection_rate_Bps = rate_Bps;
    return ethernet_s(model, CollectiveKind::AllGather, algorithm, kBytes, engine);
  };
  for (const std::string_view engine : {"flow", "simgrid"}) {
    // Each rank sends three quarters of the data to one rank and receives as much from another, so
    // each connection is used in one direction.
    CHECK(time_s("ring", 125e6, engine) == Approx(0.75 * kBytes / 125e6));
    // Each pair uses both directions of its connection at once.
    CHECK(time_s("recursive-doubling", 250e6, engine) == Approx(0.75 * kBytes / 125e6));
    CHECK(time_s("recursive-doubling", 125e6, engine) == Approx(2 * 0.75 * kBytes / 125e6));
    CHECK(time_s("ring", 50e6, engine) == Approx(0.75 * kBytes / 50e6));
  }
}

}  // namespace
}  // namespace cclgym::test
