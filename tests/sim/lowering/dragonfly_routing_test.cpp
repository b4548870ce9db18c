// Tests of adaptive routes through dragonflies. The alternative routes that the lowering gives
// messages keep the links between two switches from being the bottleneck, and the engines agree.
#include <algorithm>
#include <set>

#include "collectives/library/logical_rings.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/analysis.hpp"
#include "sim/call/tiles.hpp"
#include "sim/prices/transfer_cost.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"
#include "support/shipped_algorithms.hpp"
#include "support/thorough.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

std::shared_ptr<const Fabric> dragonfly(const std::string& name, int servers,
                                        std::optional<Routing> routing = std::nullopt,
                                        std::optional<int> groups = std::nullopt,
                                        std::optional<NicBinding> binding = std::nullopt) {
  FabricSpec spec;
  spec.name = name;
  spec.servers = servers;
  spec.routing = routing;
  spec.groups = groups;
  spec.nic_binding = binding;
  return make_fabric(spec);
}

AlgorithmRequest request_on(const Fabric& fabric, CollectiveKind collective, int channels) {
  AlgorithmRequest request;
  request.collective = collective;
  request.ranks = fabric.ranks();
  request.channels = channels;
  request.rings = logical_rings(fabric);
  request.ranks_per_server = fabric.ranks_per_server().value_or(0);
  return request;
}

LoweredProgram lowered_on(const Fabric& fabric, CollectiveKind collective,
                          const std::string& algorithm, std::uint64_t bytes,
                          const std::string& model, const Config& config) {
  return lower(build_algorithm(algorithm, request_on(fabric, collective, config.channels)), fabric,
               shipped_cost_model(model), call_of(collective, bytes), config);
}

double tree_s(const std::shared_ptr<const Fabric>& fabric) {
  const CostModel model = shipped_cost_model("gh200");
  Simulator simulator(fabric, model, "flow");
  return simulator
      .simulate(call_of(CollectiveKind::AllReduce, 64ULL << 20),
                with_protocol_tiles(model, CollectiveKind::AllReduce, config_of("tree", 4)))
      .time_s;
}

bool is_switch(const Fabric& fabric, NodeId node) {
  return fabric.nodes()[static_cast<std::size_t>(node)].kind == NodeKind::NetworkSwitch;
}

}  // namespace

TEST_CASE("messages between switches of a dragonfly can choose from all routes",
          "[sim][dragonfly-routing]") {
  for (const int groups : {0, 8}) {
    const auto fabric = dragonfly("alps", 8, std::nullopt, groups);
    const auto lowered = lowered_on(*fabric, CollectiveKind::AllReduce, "tree", 1 << 20, "gh200",
                                    config_of("tree", 2));
    const TransferGraph& graph = *lowered.graph;
    REQUIRE(graph.adaptive());
    const auto links_of_fabric = static_cast<std::int32_t>(lowered.fabric_links);
    int chosen_from = 0;
    std::vector<std::int32_t> links;
    for (std::int32_t route = 0; route < graph.routes(); ++route) {
      int trunks = 0;
      for (const std::int32_t id : graph.route_links(route)) {
        if (id >= links_of_fabric) continue;  // a proxy
        const Link& link = fabric->links()[static_cast<std::size_t>(id)];
        trunks += is_switch(*fabric, link.source) && is_switch(*fabric, link.target) ? 1 : 0;
      }
      REQUIRE((graph.ways(route) > 1) == (trunks > 0));
      if (trunks == 0) continue;
      ++chosen_from;
      // Inside a group, there is one link and a detour through each of 30 other switches; otherwise
      // there are 11 links and detours through 22 other groups.
      REQUIRE(graph.ways(route) == (groups == 0 ? 1 + 30 : 11 + 22));
      graph.links_on_way(route, 0, links);
      const std::vector<std::int32_t> first = links;
      std::set<std::vector<std::int32_t>> all;
      for (std::int32_t way = 0; way < graph.ways(route); ++way) {
        graph.links_on_way(route, way, links);
        // Every alternative is a path between the same two GPUs.
        REQUIRE(links.front() == first.front());
        REQUIRE(links.back() == first.back());
        for (std::size_t i = 1; i < links.size() && links[i] < links_of_fabric; ++i) {
          REQUIRE(fabric->links()[static_cast<std::size_t>(links[i])].source ==
                  fabric->links()[static_cast<std::size_t>(links[i - 1])].target);
        }
        REQUIRE(all.insert(links).second);
      }
    }
    CHECK(chosen_from > 0);
  }
}

TEST_CASE("only adaptive dragonflies offer a choice", "[sim][dragonfly-routing]") {
  for (const auto& fabric : {dragonfly("alps", 4, Routing::Minimal),
                             dragonfly("alps", 4, Routing::Valiant), dragonfly("ndv4", 4)}) {
    const auto lowered = lowered_on(*fabric, CollectiveKind::AllReduce, "tree", 1 << 20, "gh200",
                                    config_of("tree", 2));
    CHECK_FALSE(lowered.graph->adaptive());
  }
}

TEST_CASE("rings share no links: adaptive routes give the bits of minimal ones",
          "[sim][dragonfly-routing]") {
  for (const std::string name : {"alps", "frontier", "polaris"}) {
    const auto time_s = [&](Routing routing) {
      Simulator simulator(dragonfly(name, 6, routing), shipped_cost_model("a100"), "flow");
      return simulator
          .simulate(call_of(CollectiveKind::AllReduce, 48ULL << 20), config_of("ring", 4))
          .time_s;
    };
    CHECK(time_s(Routing::Adaptive) == time_s(Routing::Minimal));
  }
}

TEST_CASE("trees within a group: the links between two switches are not the bottleneck",
          "[sim][dragonfly-routing]") {
  for (const int servers : {8, 16}) {
    const double adaptive_s = tree_s(dragonfly("alps", servers));
    // Nodes in different groups share no link.
    CHECK(adaptive_s ==
          Approx(tree_s(dragonfly("alps", servers, Routing::Minimal, servers))).epsilon(0.02));
    CHECK(tree_s(dragonfly("alps", servers, Routing::Minimal)) > 1.5 * adaptive_s);
  }
}

TEST_CASE("single_nic costs a factor of four for any placement of the nodes",
          "[sim][dragonfly-routing]") {
  // PCCL section IV. With the default placement, all traffic of 16 nodes passes through the same
  // two switches. With minimal routes only, the link between these makes the factor 50 or more.
  for (const int servers : {16, 32}) {
    const auto time_s = [&](NicBinding binding, Routing routing) {
      Simulator simulator(dragonfly("frontier", servers, routing, std::nullopt, binding),
                          shipped_cost_model("hockney"), "flow");
      return simulator
          .simulate(call_of(CollectiveKind::AllGather, 1ULL << 30), config_of("ring", 4))
          .time_s;
    };
    CAPTURE(servers);
    const double bound_s = time_s(NicBinding::PcieLocal, Routing::Adaptive);
    CHECK(time_s(NicBinding::SingleNic, Routing::Adaptive) / bound_s == Approx(4).epsilon(0.15));
    CHECK(time_s(NicBinding::SingleNic, Routing::Minimal) / bound_s > 50);
  }
}

TEST_CASE("valiant: every message takes a detour", "[sim][dragonfly-routing]") {
  const auto fabric = dragonfly("frontier", 4, Routing::Valiant);
  const auto minimal = dragonfly("frontier", 4, Routing::Minimal);
  std::set<std::vector<LinkId>> by_channel;
  for (int channel = 0; channel < 4; ++channel) {
    const auto trunks = [&](const Fabric& f, int target) {
      int count = 0;
      for (const LinkId id : f.route(0, target, channel)) {
        const Link& link = f.links()[static_cast<std::size_t>(id)];
        count += is_switch(f, link.source) && is_switch(f, link.target) ? 1 : 0;
      }
      return count;
    };
    // Rank 8 + 2 has a different NIC from rank 0, and so a different switch; rank 8 has the same
    // NIC.
    CHECK(trunks(*minimal, 10) == 1);
    CHECK(trunks(*fabric, 10) == 2);
    CHECK(trunks(*fabric, 8) == 0);
    by_channel.insert(fabric->route(0, 10, channel));
  }
  CHECK(by_channel.size() == 4);
}

TEST_CASE("link use follows the chosen routes", "[sim][dragonfly-routing]") {
  const auto fabric = dragonfly("alps", 8);
  for (const std::uint64_t tile_bytes : {0ULL, 1ULL << 18}) {
    Simulator simulator(fabric, shipped_cost_model("gh200"), "flow");
    Config config = config_of("tree", 4);
    config.tile_bytes = tile_bytes;
    const SimulationRecord record =
        simulator.record(call_of(CollectiveKind::AllReduce, 8ULL << 20), config);
    const TransferGraph& graph = *record.graph;
    REQUIRE(record.way.size() == record.end_s.size());
    double carried = 0;
    int detours = 0;
    std::vector<std::int32_t> links;
    for (TransferId id = 0; id < graph.size(); ++id) {
      if (graph.route_of(id) < 0) continue;
      for (std::int32_t tile = 0; tile < graph.repeat(id); ++tile) {
        const int way = record.way[record.firing(id, tile)];
        graph.links_on_way(graph.route_of(id), way, links);
        detours += way > 0 ? 1 : 0;
        carried += graph.bytes(id) *
                   static_cast<double>(std::count_if(links.begin(), links.end(), [&](auto link) {
                     return link < static_cast<std::int32_t>(record.lowered.fabric_links);
                   }));
      }
    }
    double counted = 0;
    for (const LinkUse& use : link_use(record)) counted += use.bytes;
    CHECK(counted == Approx(carried));
    CHECK(detours > 0);
  }
}

TEST_CASE("engines agree if messages choose their routes", "[sim][dragonfly-routing][thorough]") {
  SKIP_UNLESS(engine_names().size() > 1, test::kNeedsTwoEngines);
  std::vector<std::unique_ptr<Engine>> engines;
  for (const std::string& name : engine_names()) engines.push_back(make_engine(name));
  int detours = 0;
  struct Ways final : FiringObserver {
    void on_firing(TransferId, std::int32_t, double, double) override {}
    void on_choice(TransferId, std::int32_t, std::int32_t way) override { taken += way > 0; }
    int taken = 0;
  };
  const auto alps = dragonfly("alps", 4);
  const auto frontier = dragonfly("frontier", 3, std::nullopt, 2, NicBinding::SingleNic);
  Sample sample(12);
  for (const auto& fabric : {alps, frontier}) {
    const std::string model = fabric == alps ? "gh200" : "hockney";
    for (const Combination& combination : combinations(fabric->ranks())) {
      if (sample.skips()) continue;
      // Three nodes are too few or too many for some algorithms.
      const AlgorithmRequest request = request_on(*fabric, combination.collective, 3);
      if (check_request(shipped_algorithm(combination.algorithm), request)) continue;
      // Pipelines of many tiles may be chaotic, with minimal routes, too. On five nodes of
      // frontier, a rank that starts 1e-19 s late moves the end of a tiled two-step AllToAll by
      // 1e-3.
      constexpr std::uint64_t kBytes = 3ULL << 26;
      std::uint64_t message_bytes = 0;
      for (const bool tiled : {false, true}) {
        Config config = config_of(combination.algorithm, 3);
        if (tiled) config.tile_bytes = message_bytes / 4 + 1;
        const auto lowered = lowered_on(*fabric, combination.collective, combination.algorithm,
                                        kBytes, model, config);
        const ThreadBlockProgram& program = *lowered.program;
        message_bytes = kBytes / static_cast<std::uint64_t>(program.contract.chunks_per_call()) *
                        static_cast<std::uint64_t>(longest_message(program));
        if (tiled && lowered.graph->firings() > 10'000) continue;
        CAPTURE(fabric->name(), combination.algorithm, to_string(combination.collective),
                lowered.tiles);
        std::vector<std::vector<double>> end_s;
        for (const auto& engine : engines) {
          Ways ways;
          engine->load(lowered.graph);
          const EngineResult result = engine->run(&ways);
          end_s.emplace_back(result.end_s.begin(), result.end_s.end());
          detours += ways.taken;
        }
        double worst = 0;
        for (std::size_t i = 0; i < end_s[0].size(); ++i) {
          worst =
              std::max(worst, std::abs(end_s[0][i] - end_s[1][i]) / std::max(end_s[0][i], 1e-300));
        }
        CHECK(worst <= 1e-9);
      }
    }
  }
  CAPTURE(detours);
  CHECK(detours > sample.scaled(5'000));
}
