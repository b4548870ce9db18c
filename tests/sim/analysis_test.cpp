#include "sim/analysis.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

SimulationRecord record_of(const std::string& fabric_name, const std::string& model,
                           const std::string& algorithm, std::uint64_t bytes, int channels = 1) {
  Simulator simulator(fabric(fabric_name), shipped_cost_model(model), "flow");
  return simulator.record(call_of(CollectiveKind::AllReduce, bytes),
                          config_of(algorithm, channels));
}

}  // namespace

TEST_CASE("links of a ring carry 2(n-1)/n of the data and are busy except for the latencies",
          "[sim][analysis]") {
  const SimulationRecord record = record_of("ring", "hockney", "ring", 1 << 20);
  const std::vector<LinkUse> uses = link_use(record);
  const auto used =
      std::count_if(uses.begin(), uses.end(), [](const LinkUse& use) { return use.bytes > 0; });
  CHECK(used == 8);  // one direction of every neighbour pair
  for (const LinkUse& use : uses) {
    if (use.bytes == 0) continue;
    CHECK(use.bytes == Approx((1 << 20) * 14.0 / 8.0));
    CHECK(use.busy_s == Approx(use.bytes / 25e9));
    CHECK(use.intervals.size() == 14);
  }
}

TEST_CASE("link bytes add up to the bytes of the flows", "[sim][analysis]") {
  for (const std::string algorithm : {"ring", "tree", "all-pairs", "recursive-doubling"}) {
    const SimulationRecord record = record_of("dgx1", "v100", algorithm, 1 << 20, 2);
    const TransferGraph& graph = *record.lowered.graph;
    double carried = 0;
    for (TransferId id = 0; id < graph.size(); ++id) {
      if (graph.route_of(id) < 0) continue;
      carried +=
          graph.bytes(id) * static_cast<double>(graph.route_links(graph.route_of(id)).size());
    }
    double counted = 0;
    for (const LinkUse& use : link_use(record)) {
      counted += use.bytes;
      CHECK(use.busy_s <= record.result.time_s);
    }
    CHECK(counted == Approx(carried));
  }
}

TEST_CASE("links are ranked by the used share of their capacity, then by their busy time",
          "[sim][analysis]") {
  const auto use = [](double bytes, double rate_Bps, double capacity_Bps, double busy_s) {
    LinkUse one;
    one.bytes = bytes;
    one.rate_Bps = rate_Bps;
    one.capacity_Bps = capacity_Bps;
    one.busy_s = busy_s;
    return one;
  };
  const std::vector<LinkUse> uses{use(7.4e9, 7.4e9, 24e9, 0.9), use(0, 0, 1e9, 0),
                                  use(47.5e9, 47.5e9, 50e9, 0.5), use(7.4e9, 7.4e9, 24e9, 0.95),
                                  use(7.4e9, 7.4e9, 24e9, 0.95)};
  CHECK(busiest_links(uses) == std::vector<std::size_t>{2, 3, 4, 0});
  CHECK(uses[2].share() == Approx(0.95));
  CHECK(uses[1].share() == 0);
}

// Two nodes of two GPUs with one NIC each, whose leaf switches share one spine. The GPUs' links are
// always busy at an eighth of their rate, and the links to the spine are the bottleneck.
TEST_CASE("the link nearest to its capacity comes first, not the one with the longest busy time",
          "[sim][analysis]") {
  FabricBuilder builder("spine");
  const auto gpu = [&](int server, int k) {
    return builder.add_node(
        {.name = "g" + std::to_string(2 * server + k), .kind = NodeKind::Gpu, .server = server});
  };
  const NodeId spine =
      builder.add_node({.name = "spine", .kind = NodeKind::NetworkSwitch, .server = -1});
  for (int server = 0; server < 2; ++server) {
    const NodeId leaf = builder.add_node(
        {.name = "leaf" + std::to_string(server), .kind = NodeKind::NetworkSwitch, .server = -1});
    for (int k = 0; k < 2; ++k) {
      const NodeId nic = builder.add_node({.name = "nic" + std::to_string(2 * server + k),
                                           .kind = NodeKind::Nic,
                                           .server = server});
      builder.add_duplex_link({.source = gpu(server, k),
                               .target = nic,
                               .kind = LinkKind::Pcie,
                               .unit_bandwidth_Bps = 100e9});
      builder.add_duplex_link(
          {.source = nic, .target = leaf, .kind = LinkKind::Network, .unit_bandwidth_Bps = 100e9});
    }
    builder.add_duplex_link(
        {.source = leaf, .target = spine, .kind = LinkKind::Network, .unit_bandwidth_Bps = 25e9});
  }
  const auto f = builder.build();
  // Every rank sends 100 MB / 4 to each of three others; 2 x 2 of these messages cross to the other
  // side.
  constexpr double kPiece = 25e6;
  for (const std::string& engine : engine_names()) {
    CAPTURE(engine);
    Simulator simulator(f, shipped_cost_model("hockney"), engine);
    const SimulationRecord record =
        simulator.record(call_of(CollectiveKind::AllToAll, 100'000'000), config_of("naive"));
    const double time_s = record.result.time_s;
    CHECK(time_s >= 4 * kPiece / 25e9);
    const std::vector<LinkUse> uses = link_use(record);
    const std::vector<std::size_t> order = busiest_links(uses);
    REQUIRE(order.size() >= 12);
    const auto name = [&](std::size_t i) { return link_name(*f, order[i]); };
    std::set<std::string> first;
    for (std::size_t i = 0; i < 4; ++i) {
      first.insert(name(i));
      const LinkUse& use = uses[order[i]];
      CHECK(use.capacity_Bps == 25e9);
      CHECK(use.rate_Bps == Approx(4 * kPiece / time_s));
      CHECK(use.share() == Approx(4 * kPiece / time_s / 25e9));
      CHECK(use.share() > 0.9);
    }
    CHECK(first == std::set<std::string>{"leaf0 -> spine", "spine -> leaf0", "leaf1 -> spine",
                                         "spine -> leaf1"});
    for (std::size_t i = 4; i < order.size(); ++i) {
      CHECK(uses[order[i]].capacity_Bps == 100e9);
      CHECK(uses[order[i]].share() == Approx(3 * kPiece / time_s / 100e9));
      CHECK(uses[order[i]].share() <= uses[order[i - 1]].share() + 1e-9);
    }
  }
}

TEST_CASE("the critical path reaches from the start to the end without a gap", "[sim][analysis]") {
  for (const std::string algorithm : {"ring", "tree", "all-pairs", "recursive-doubling"}) {
    const SimulationRecord record = record_of("dgx1", "v100", algorithm, 1 << 22, 2);
    const std::vector<Firing> path = critical_path(record);
    REQUIRE_FALSE(path.empty());
    const auto start = [&](Firing f) { return record.start_s[record.firing(f.node, f.tile)]; };
    const auto end = [&](Firing f) { return record.end_s[record.firing(f.node, f.tile)]; };
    CAPTURE(algorithm);
    CHECK(start(path.front()) == 0);
    CHECK(end(path.back()) == record.result.time_s);
    // An overlapping firing starts at its rounded end minus its duration.
    for (std::size_t i = 1; i < path.size(); ++i) {
      CHECK(start(path[i]) == Approx(end(path[i - 1])).epsilon(1e-12));
    }
  }
}

TEST_CASE("steps of a thread block follow each other", "[sim][analysis]") {
  const SimulationRecord record = record_of("ndv4", "a100", "all-pairs", 1 << 20);
  const std::vector<StepTime> steps = step_times(record);
  CHECK(static_cast<std::int64_t>(steps.size()) == record.lowered.program->instructions());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    CHECK(steps[i].start_s <= steps[i].end_s);
    CHECK(steps[i].end_s <= record.result.time_s);
    if (steps[i].step > 0) CHECK(steps[i].start_s >= steps[i - 1].end_s);
  }
}
