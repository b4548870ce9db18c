// PCCL section IV: on Frontier, Cray MPICH reads all data through one of a node's four NICs and
// writes it through another, and large AllGathers take four times as long as with all NICs.
#include "cost_models/parameters/shipped_sets.hpp"
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
