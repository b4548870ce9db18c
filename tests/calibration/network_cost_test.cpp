// What messages between servers cost on top: the proxy, copies, rendezvous; and back-to-back calls.
#include <cstdint>

#include "calibration/repeated_calls.hpp"
#include "catch.hpp"
#include "collectives/verify.hpp"
#include "sim/simulator.hpp"
#include "sim/transfer_cost.hpp"
#include "topology_models/registry.hpp"

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

TEST_CASE("large messages over the network are copied, and larger ones announced") {
  const auto fabric = servers_of_one_gpu(2);
  const auto route = fabric->route(0, 1, 0);
  CostModel model = shipped_cost_model("a100");
  model.copy_limit_bytes = 4096;
  model.copy_latency_s = 3e-6;
  model.eager_limit_bytes = 16384;
  model.rendezvous_latency_s = 20e-6;
  model.protocols[static_cast<std::size_t>(Protocol::LL)].network_rate_Bps = 1e9;
  const auto cost = [&](double payload_bytes) {
    return transfer_cost(model, *fabric, route, {.protocol = Protocol::LL}, Runtime::Nccl,
                         payload_bytes, false);
  };
  const TransferCost small = cost(2048);  // LL: twice the bytes on the wire
  const TransferCost copied = cost(2049);
  const TransferCost announced = cost(8193);
  CHECK(copied.arrival_s - small.arrival_s == Approx(3e-6));
  CHECK(announced.arrival_s - small.arrival_s == Approx(23e-6));
  CHECK(small.rate_cap_Bps > 1.1e9);
  CHECK(copied.rate_cap_Bps == 1e9);
}

TEST_CASE("a rank's proxy serves the messages of all its connections one after the other") {
  CostModel model = shipped_cost_model("a100");
  model.channel_overhead_s = 0;
  const double alone_s = all_to_all_s(model, 1, 8192);
  model.proxy_message_s = 10e-6;
  // Each channel has a message out and one in at either rank, of 4 KiB: the blocks are far quicker.
  const double one_s = all_to_all_s(model, 1, 8192);
  const double four_s = all_to_all_s(model, 4, 4 * 8192);
  CHECK(one_s - alone_s == Approx(20e-6).margin(1e-6));
  CHECK(four_s - one_s == Approx(60e-6).margin(1e-9));
}

TEST_CASE("proxies are no links of the fabric") {
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

TEST_CASE("broadcasts that follow each other take as long as the busiest rank") {
  const CostModel model = shipped_cost_model("a100");
  const Config config{.algorithm = "ring", .protocol = Protocol::LL, .channels = 1};
  double alone_s = 0;
  double between_s = 0;
  for (const int servers : {2, 16}) {
    const auto fabric = servers_of_one_gpu(servers);
    const auto chain = broadcast_chain(*fabric, 1, 0);
    CHECK(verify(*chain).ok);
    Simulator simulator(fabric, model, "flow");
    const SimulationRecord record =
        simulator.record_program(chain, {CollectiveKind::Broadcast, 1024, 0}, config);
    const double between = time_between_calls_s(record);
    if (servers == 16) {
      CHECK(record.result.time_s > 5 * alone_s / 2);  // one call goes through the chain
      CHECK(between < 1.2 * between_s);               // the next one does not wait for that
    }
    CHECK(between < record.result.time_s);
    CHECK(between > model.kernel_launch_s);
    alone_s = record.result.time_s;
    between_s = between;
  }
}

}  // namespace
}  // namespace cclgym::test
