// Tests of messages between nodes by MPI: closed forms of a message, and of collectives over
// levels.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/prices/transfer_cost.hpp"
#include "sim/simulator.hpp"
#include "support/catch.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {
namespace {

constexpr double kAlpha_s = 0x1p-20;

// Costs in powers of two, so that sums are exact. Messages of the library cost much more.
CostModel mpi_model() {
  CostModel model;
  model.alpha_s = {0.0, 0.0, kAlpha_s, 0.0};
  for (ProtocolCost& protocol : model.protocols) protocol.network_latency_s = 0x1p-7;
  model.mpi = {.message_s = 0x1p-18,
               .latency_s = 0x1p-19,
               .eager_limit_bytes = 1 << 12,
               .rendezvous_latency_s = 0x1p-17,
               .rate_Bps = 0x1p33,
               .reduce_launch_s = 0x1p-16,
               .reduce_rate_Bps = 0x1p36,
               .host_copy_rate_Bps = 0x1p34,
               .host_reduce_rate_Bps = 0x1p32,
               .match_limit = 10,
               .match_overflow_s = 0x1p-14};
  return model;
}

std::shared_ptr<const Fabric> nodes(int count, int gpus) {
  FabricSpec spec{.name = "frontier", .servers = count};
  spec.gpus_per_server = gpus;
  return make_fabric(spec);
}

int network_links(const Fabric& fabric, std::span<const LinkId> route) {
  int count = 0;
  for (const LinkId id : route) {
    count += fabric.links()[static_cast<std::size_t>(id)].kind == LinkKind::Network ? 1 : 0;
  }
  return count;
}

TEST_CASE("a message by MPI costs what the section states", "[sim][lowering]") {
  const auto fabric = nodes(2, 1);
  const CostModel model = mpi_model();
  const auto route = fabric->route(0, 1, 0);
  const double alpha_s = network_links(*fabric, route) * kAlpha_s;
  const auto cost = [&](CostTraits traits, double bytes, bool reducing, std::int64_t messages) {
    traits.transport = Transport::Mpi;
    return transfer_cost(model, *fabric, route, {}, traits, bytes, reducing, messages);
  };
  const TransferCost eager = cost({}, 0x1p12, false, 10);
  CHECK(eager.wire_bytes == 0x1p12);
  CHECK(eager.latency_s == 0x1p-18);
  CHECK(eager.arrival_s == alpha_s + 0x1p-19);
  CHECK(eager.rate_cap_Bps == 0x1p33);
  CHECK(cost({}, 0x1p13, false, 10).arrival_s == eager.arrival_s + 0x1p-17);
  CHECK(cost({}, 0x1p12, false, 11).arrival_s == eager.arrival_s + 0x1p-14);
  CHECK(cost({}, 0x1p12, true, 0).arrival_s == eager.arrival_s + 0x1p-16 + 0x1p-24);
  CHECK(cost({.reducer = Reducer::Host}, 0x1p12, true, 0).arrival_s ==
        eager.arrival_s + 2 * 0x1p-22 + 0x1p-20);
  CHECK(cost({.reducer = Reducer::Host}, 0x1p12, false, 0).arrival_s == eager.arrival_s);
}

TEST_CASE("without the section, MPI costs what the library costs", "[sim][lowering]") {
  const auto fabric = nodes(2, 1);
  CostModel model = mpi_model();
  model.mpi = {};
  const auto cost = [&](Transport transport) {
    return transfer_cost(model, *fabric, fabric->route(0, 1, 0), {}, {.transport = transport}, 4096,
                         true);
  };
  CHECK(cost(Transport::Mpi).arrival_s == cost(Transport::Library).arrival_s);
  CHECK(cost(Transport::Library).arrival_s >= 0x1p-7);
}

TEST_CASE("the library's messages take longer in very large jobs", "[sim][lowering]") {
  const auto fabric = nodes(2, 1);
  CostModel model = mpi_model();
  model.matching = {.limit = 100, .overflow_s = 0x1p-12, .overflow_added_s = 0x1p-10};
  const auto arrival_s = [&](bool reducing, std::int64_t messages) {
    return transfer_cost(model, *fabric, fabric->route(0, 1, 0), {}, {}, 4096, reducing, messages)
        .arrival_s;
  };
  CHECK(arrival_s(false, 101) == arrival_s(false, 100) + 0x1p-12);
  CHECK(arrival_s(true, 101) == arrival_s(true, 100) + 0x1p-12 + 0x1p-10);
}

// One GPU a node, so that there is only the level across nodes. A step takes the host's work, the
// bytes at the rate of a message, and the arrival with the addition.
TEST_CASE("rings and halving across nodes take the steps of their closed forms",
          "[sim][lowering]") {
  constexpr int kNodes = 8;
  const auto fabric = nodes(kNodes, 1);
  CostModel model = mpi_model();
  model.alpha_s = {0.0, 0.0, 0.0, 0.0};
  model.mpi.match_limit = kNodes - 2;
  AlgorithmLibrary library = AlgorithmLibrary::shipped();
  for (const char* name : {"hierarchical:8:ring", "hierarchical:8:recursive"}) {
    library.add_spelled(name);
  }
  Simulator simulator(fabric, model, "flow", library);
  const double bytes = 0x1p26;
  const auto time_s = [&](const std::string& algorithm, CollectiveKind collective) {
    const Config config{.algorithm = algorithm};
    const Result result = simulator.simulate({.collective = collective, .bytes = 1 << 26}, config);
    return result.time_s;
  };
  const double each_s = 0x1p-18 + 0x1p-19 + 0x1p-17;  // message, latency, rendezvous
  const auto moved_s = [&](double part) { return part * bytes / 0x1p33; };
  const auto added_s = [&](double part) { return 0x1p-16 + part * bytes / 0x1p36; };
  double ring_s = 0;
  for (int step = 0; step < kNodes - 1; ++step) {
    ring_s += each_s + 0x1p-14 + moved_s(0x1p-3) + added_s(0x1p-3);
  }
  CHECK_THAT(time_s("hierarchical:8:ring", CollectiveKind::ReduceScatter),
             Catch::Matchers::WithinRel(ring_s, 1e-6));
  double halving_s = 0;
  for (const double part : {0x1p-1, 0x1p-2, 0x1p-3})
    halving_s += each_s + moved_s(part) + added_s(part);
  CHECK_THAT(time_s("hierarchical:8:recursive", CollectiveKind::ReduceScatter),
             Catch::Matchers::WithinRel(halving_s, 1e-6));
}

TEST_CASE("the times of the kernels add up to that of the call", "[sim]") {
  Simulator simulator(nodes(4, 8), shipped_cost_model("mi250x-slingshot"), "flow");
  for (const CollectiveKind collective :
       {CollectiveKind::AllGather, CollectiveKind::ReduceScatter, CollectiveKind::AllReduce}) {
    const Result result =
        simulator.simulate({.collective = collective, .bytes = 1 << 25}, {.algorithm = "pccl-rec"});
    REQUIRE(result.kernels.size() >= 3);
    double total_s = result.kernels.front().start_s;
    int across = 0;
    for (const KernelTime& kernel : result.kernels) {
      CHECK(kernel.time_s > 0);
      total_s += kernel.time_s;
      across += kernel.across_nodes ? 1 : 0;
    }
    CHECK_THAT(total_s, Catch::Matchers::WithinRel(result.time_s, 1e-12));
    CHECK(across == (collective == CollectiveKind::AllReduce ? 2 : 1));
  }
}

TEST_CASE("turns across nodes count as time across nodes", "[sim]") {
  AlgorithmLibrary library = AlgorithmLibrary::shipped();
  const std::string all = "hierarchical:nodes:ring";
  const std::string turns = all + ":subcomms=1";
  library.add_spelled(all);
  library.add_spelled(turns);
  Simulator simulator(nodes(4, 8), shipped_cost_model("mi250x-slingshot"), "flow", library);
  for (const CollectiveKind collective :
       {CollectiveKind::AllGather, CollectiveKind::ReduceScatter, CollectiveKind::AllReduce}) {
    const auto across_s = [&](const std::string& name) {
      double time_s = 0;
      const Result result =
          simulator.simulate({.collective = collective, .bytes = 1 << 25}, {.algorithm = name});
      for (const KernelTime& kernel : result.kernels) {
        if (kernel.across_nodes) time_s += kernel.time_s;
      }
      return time_s;
    };
    // Eight groups in turn, two of which would have shared a NIC; in AllReduce, the turns of the
    // two halves overlap.
    CHECK(across_s(turns) > 3 * across_s(all));
  }
}

}  // namespace
}  // namespace cclgym::test
