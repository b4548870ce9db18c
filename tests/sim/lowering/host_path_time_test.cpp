// Closed forms of times between GPUs that meet through PCIe and hosts, with alpha and beta only.
#include <algorithm>
#include <string>
#include <vector>

#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/analysis.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

constexpr double kBytes = 6 << 20;

// Time in seconds in which each of the ranks but the last sends `kBytes` to the next one.
double sends_s(const FabricSpec& spec, const std::vector<int>& ranks, const std::string& engine) {
  const auto fabric = make_fabric(spec)->with_ranks(ranks);
  Simulator simulator(fabric, shipped_cost_model("hockney"), engine);
  const Call call = call_of(CollectiveKind::AllToNext, static_cast<std::uint64_t>(kBytes));
  return simulator.simulate(call, config_of("naive")).time_s;
}

// The time of the last send: a latency, and bytes at the rate that the send has got.
double send_s(double latency_s, double rate_Bps) { return latency_s + kBytes / rate_Bps; }

void check_s(double time_s, double expected_s) {
  CHECK(time_s == Approx(expected_s).epsilon(1e-9));
}

}  // namespace

TEST_CASE("a send between GPUs of a DGX-1 without a common NVLink", "[sim][host-paths]") {
  for (const std::string& engine : engine_names()) {
    CAPTURE(engine);
    // NCCL up to 2.7: the link between the sockets is the narrowest. An NDv2's is faster.
    check_s(sends_s({.name = "dgx1", .nvb = false}, {0, 5}, engine), send_s(1e-6, 6e9));
    check_s(sends_s({.name = "ndv2", .nvb = false}, {0, 5}, engine), send_s(1e-6, 9e9));
    // From 2.8 on: two traversals of two NVLinks each, through GPU 4; or of one each.
    check_s(sends_s({.name = "dgx1"}, {0, 5}, engine), send_s(1.4e-6, 50e9));
    check_s(sends_s({.name = "dgx1"}, {0, 6}, engine), send_s(1.4e-6, 25e9));
    // 0 and 4 have a link, but no common neighbour that relays if it fails.
    check_s(sends_s({.name = "dgx1"}, {0, 4}, engine), send_s(0.7e-6, 50e9));
    check_s(sends_s({.name = "dgx1", .without = "gpu0:gpu4"}, {0, 4}, engine), send_s(1e-6, 6e9));
  }
}

TEST_CASE("sends of two GPUs share their PCIe switch", "[sim][host-paths]") {
  // Without these NVLinks, GPUs 0 and 1 reach 2 and 3 through their switch and the first host.
  const FabricSpec spec{
      .name = "dgx1", .nvb = false, .without = "gpu0:gpu2, gpu0:gpu3, gpu1:gpu2, gpu1:gpu3"};
  for (const std::string& engine : engine_names()) {
    CAPTURE(engine);
    check_s(sends_s(spec, {0, 2}, engine), send_s(1e-6, 12e9));
    // 0 -> 2 and 1 -> 3 at once; 2 -> 1 is in the other direction.
    check_s(sends_s(spec, {0, 2, 1, 3}, engine), send_s(1e-6, 6e9));
    // 0 -> 5 and 4 -> 1 cross the link between the sockets in opposite directions; 0 -> 5 and
    // 1 -> 6 share it.
    check_s(sends_s({.name = "dgx1", .nvb = false}, {0, 5, 4, 1}, engine), send_s(1e-6, 6e9));
    check_s(sends_s({.name = "dgx1", .nvb = false}, {0, 5, 1, 6}, engine), send_s(1e-6, 3e9));
  }
}

TEST_CASE("sends of a Z52 outside an island share what its GPUs have to the hosts",
          "[sim][host-paths]") {
  for (const std::string& engine : engine_names()) {
    CAPTURE(engine);
    check_s(sends_s({.name = "z52"}, {0, 1}, engine), send_s(1e-6, 27e9));
    check_s(sends_s({.name = "z52"}, {0, 6}, engine), send_s(1e-6, 16e9));
    check_s(sends_s({.name = "z52"}, {0, 3}, engine), send_s(1.4e-6, 27e9));
    // 0 -> 4, 2 -> 6, 3 -> 7 and 1 -> 5 share 16 GB/s between the sockets. The sends back, 4 -> 2,
    // 6 -> 3 and 7 -> 1, have a third each.
    check_s(sends_s({.name = "z52"}, {0, 4, 2, 6, 3, 7, 1, 5}, engine), send_s(1e-6, 4e9));
  }
}

TEST_CASE("AllToAll of NCCL's older sends is bound by the sockets", "[sim][host-paths]") {
  // 12 pairs of each direction without an NVLink share 6 GB/s. Each sends an eighth of the call.
  Simulator simulator(make_fabric({.name = "dgx1", .nvb = false}), shipped_cost_model("hockney"),
                      "flow");
  const double bytes = 64 << 20;
  const Call call = call_of(CollectiveKind::AllToAll, static_cast<std::uint64_t>(bytes));
  check_s(simulator.simulate(call, config_of("naive")).time_s, 1e-6 + 12 * bytes / 8 / 6e9);
}
