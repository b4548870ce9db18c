// PCCL section IV: on Frontier, Cray MPICH reads all data through one of a node's four NICs and
// writes it through another, and large AllGathers take four times as long as with all NICs.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/analysis.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

// Time in seconds of a Ring AllGather over as many rings as there are NICs. The nodes are in
// different groups, so that NICs are the limit, not static routes that collide.
double allgather_s(const std::string& name, int servers, NicBinding binding, int channels,
                   std::uint64_t bytes, const std::string& model) {
  FabricSpec spec;
  spec.name = name;
  spec.servers = servers;
  spec.nic_binding = binding;
  spec.groups = servers;
  Simulator simulator(make_fabric(spec), shipped_cost_model(model), "flow");
  return simulator.simulate(call_of(CollectiveKind::AllGather, bytes), config_of("ring", channels))
      .time_s;
}

}  // namespace

TEST_CASE("frontier: one NIC for all makes a large AllGather four times slower",
          "[sim][nic-binding]") {
  for (const int servers : {4, 16}) {
    const auto time_s = [&](NicBinding binding) {
      return allgather_s("frontier", servers, binding, 4, 1ULL << 30, "hockney");
    };
    CAPTURE(servers);
    const double bound_s = time_s(NicBinding::PcieLocal);
    CHECK(time_s(NicBinding::SingleNic) / bound_s == Approx(4).epsilon(0.15));
    CHECK(time_s(NicBinding::RoundRobin) / bound_s == Approx(1).epsilon(0.01));
    // A node forwards the data of all ranks but one, close to the capacity of its four NICs of 25
    // GB/s.
    const int ranks = 8 * servers;
    const double carried_Bps = (1ULL << 30) / bound_s * (ranks - 1) / ranks;
    CHECK(carried_Bps < 100e9);
    CHECK(carried_Bps > 90e9);
  }
}

TEST_CASE("small AllGathers are not affected by the binding", "[sim][nic-binding]") {
  const auto time_s = [](NicBinding binding) {
    return allgather_s("frontier", 4, binding, 1, 1 << 15, "hockney");
  };
  CHECK(time_s(NicBinding::SingleNic) / time_s(NicBinding::PcieLocal) < 1.1);
}

TEST_CASE("two NICs: the fault costs a factor of two", "[sim][nic-binding]") {
  const auto time_s = [](NicBinding binding) {
    return allgather_s("polaris", 4, binding, 4, 1ULL << 30, "hockney");
  };
  CHECK(time_s(NicBinding::SingleNic) / time_s(NicBinding::PcieLocal) == Approx(2).epsilon(0.15));
}

namespace {

// Bytes through each NIC to the network, and the time.
struct NicLoad {
  double time_s = 0;
  std::map<std::string, double> bytes{};
  [[nodiscard]] double busiest() const {
    double most = 0;
    for (const auto& [name, value] : bytes) most = std::max(most, value);
    return most;
  }
};

Simulator bound_simulator(const FabricSpec& spec, const std::string& name,
                          const std::string& model = "hockney") {
  AlgorithmLibrary library = AlgorithmLibrary::shipped();
  library.add_spelled(name);
  const auto fabric = make_fabric(spec);
  return {fabric, cost_model_for(model, *fabric), "flow", library};
}

NicLoad nic_load(const FabricSpec& spec, const std::string& name, std::uint64_t bytes,
                 const NoiseProfile& noise = {}) {
  Simulator simulator = bound_simulator(spec, name);
  simulator.set_noise(noise);
  const SimulationRecord record =
      simulator.record(call_of(CollectiveKind::AllGather, bytes), config_of(name), 3);
  NicLoad load{.time_s = record.result.time_s};
  const std::vector<LinkUse> uses = link_use(record, false);
  const Fabric& fabric = *record.lowered.fabric;
  for (std::size_t id = 0; id < fabric.links().size(); ++id) {
    const Node& source = fabric.nodes()[static_cast<std::size_t>(fabric.links()[id].source)];
    if (source.kind == NodeKind::Nic && fabric.links()[id].kind == LinkKind::Network) {
      load.bytes[source.name] += uses[id].bytes;
    }
  }
  return load;
}

std::string bound_refusal(const FabricSpec& spec, const std::string& name) {
  try {
    (void)bound_simulator(spec, name)
        .simulate(call_of(CollectiveKind::AllGather, 1 << 20), config_of(name));
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("nic=: a program's messages take the NICs that it names", "[sim][nic-binding]") {
  const FabricSpec frontier{.name = "frontier", .servers = 4, .groups = 4};
  FabricSpec single = frontier;
  single.nic_binding = NicBinding::SingleNic;
  const std::string plain = "hierarchical:nodes:ring";
  constexpr std::uint64_t kBytes = 1ULL << 30;
  const NicLoad all = nic_load(frontier, plain, kBytes);
  const NicLoad one = nic_load(frontier, plain + ":nic=single-nic", kBytes);
  // Each rank sends its slice and the 2 that it receives, and a NIC serves 2 ranks or all 8.
  const double slice = static_cast<double>(kBytes) / 32;
  CHECK(all.busiest() == Approx(2 * 3 * slice));
  CHECK(one.busiest() == Approx(8 * 3 * slice));
  // The rings across nodes take 3 steps at 25 GB/s a NIC; the rest is the same.
  const double across_s = 3 * slice / 25e9;
  CHECK(one.time_s - all.time_s == Approx((8 - 2) * across_s).epsilon(0.01));
  CHECK(one.time_s == Approx(nic_load(single, plain, kBytes).time_s).epsilon(1e-9));
  CHECK(nic_load(single, plain + ":nic=topology-aware", kBytes).time_s ==
        Approx(all.time_s).epsilon(1e-9));
  CHECK(nic_load(frontier, plain + ":nic=topology-aware", kBytes).bytes == all.bytes);
  const NicLoad turns = nic_load(frontier, plain + ":nic=round-robin", kBytes);
  CHECK(turns.busiest() == Approx(all.busiest()));
  CHECK(turns.time_s == Approx(all.time_s).epsilon(1e-6));
}

TEST_CASE("nic=: degraded links are the same ones under every binding", "[sim][nic-binding]") {
  NoiseProfile noise;
  for (const LinkKind kind : {LinkKind::Network, LinkKind::Pcie}) {
    noise.degraded[static_cast<std::size_t>(kind)] = {.probability = 0.2, .capacity = 0.5};
  }
  const FabricSpec spec{.name = "frontier", .servers = 4};
  const auto capacities = [&](const std::string& name) {
    Simulator simulator = bound_simulator(spec, name);
    simulator.set_noise(noise);
    const LoweredProgram lowered =
        simulator.lowered(call_of(CollectiveKind::AllGather, 1 << 20), config_of(name), 7);
    const auto all = lowered.graph->link_capacities_Bps();
    return std::vector<double>(
        all.begin(), all.begin() + static_cast<std::ptrdiff_t>(simulator.fabric().links().size()));
  };
  const std::string plain = "hierarchical:nodes:ring";
  const std::vector<double> given = capacities(plain);
  for (const std::string option : {":nic=single-nic", ":nic=round-robin"}) {
    const std::vector<double> other = capacities(plain + option);
    REQUIRE(other.size() == given.size());
    int degraded = 0;
    for (std::size_t id = 0; id < given.size(); ++id) {
      if (given[id] == 0 || other[id] == 0) continue;  // no message uses it
      CAPTURE(id);
      CHECK(other[id] == given[id]);
      degraded += given[id] == 12.5e9 ? 1 : 0;
    }
    CHECK(degraded > 10);
  }
}

TEST_CASE("nic=: fabrics without a choice of NICs refuse it", "[sim][nic-binding]") {
  CHECK(bound_refusal({.name = "dgx1"}, "hierarchical:8:ring:nic=single-nic") ==
        "hierarchical:8:ring:nic=single-nic: nic=single-nic, but the GPUs of fabric 'dgx1' have no "
        "choice of NICs (option nic_binding); expected nic=fabric");
  CHECK(bound_refusal({.name = "dgx1"}, "hierarchical:8:ring:nic=fabric") == "no error");
  CHECK(bound_refusal({.name = "frontier"}, "hierarchical:8:ring:nic=single-nic") == "no error");
  CHECK(nic_load({.name = "frontier"}, "hierarchical:8:ring:nic=single-nic", 1 << 20).time_s ==
        nic_load({.name = "frontier"}, "hierarchical:8:ring", 1 << 20).time_s);
}
