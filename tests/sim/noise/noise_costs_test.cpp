// Tests of noise as edits of cost records: the graph nodes that it changes, and those that keep
// every bit.
#include <memory>
#include <string>
#include <vector>

#include "core/index.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/noise/noise.hpp"
#include "sim/prices/price.hpp"
#include "sim/prices/transfer_cost.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

LoweredProgram lowered_with(const std::shared_ptr<const Fabric>& fabric, const CostModel& model,
                            const std::string& algorithm, CollectiveKind collective,
                            std::uint64_t tile_bytes) {
  Config config = config_of(algorithm, 2);
  config.tile_bytes = tile_bytes;
  config.slots = tile_bytes == 0 ? 0 : 4;
  Simulator simulator(fabric, model, "flow");
  return simulator.lowered(call_of(collective, 1 << 20), config);
}

bool same_node(const TransferGraph& a, const TransferGraph& b, TransferId node) {
  return a.bytes(node) == b.bytes(node) && a.latency_s(node) == b.latency_s(node) &&
         a.rate_cap_Bps(node) == b.rate_cap_Bps(node);
}

bool same_structure(const TransferGraph& a, const TransferGraph& b) {
  if (a.size() != b.size() || a.edges() != b.edges() || a.folded() != b.folded() ||
      a.firings() != b.firings() || a.flow_firings() != b.flow_firings()) {
    return false;
  }
  for (TransferId node = 0; node < a.size(); ++node) {
    const auto edges = a.successors(node);
    const auto others = b.successors(node);
    if (a.repeat(node) != b.repeat(node) || a.route_of(node) != b.route_of(node) ||
        a.overlapping(node) != b.overlapping(node) ||
        a.dependencies(node) != b.dependencies(node) || edges.size() != others.size()) {
      return false;
    }
    for (std::size_t i = 0; i < edges.size(); ++i) {
      if (edges[i].target != others[i].target || edges[i].lag != others[i].lag) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("a slow GPU changes the nodes at its rank, and no bit of the others", "[sim][noise]") {
  const auto fabric = make_fabric({.name = "ndv4", .servers = 2});
  const CostModel model = shipped_cost_model("a100");
  NoiseProfile noise;
  noise.slow_gpus = {.probability = 0, .ranks = {3}, .rate = 0.5};
  for (const auto& [algorithm, collective] : {std::pair{"ring", CollectiveKind::AllReduce},
                                              std::pair{"two-step", CollectiveKind::AllToAll}}) {
    for (const std::uint64_t tile_bytes : {0U, 8192U}) {
      CAPTURE(algorithm, tile_bytes);
      const LoweredProgram before = lowered_with(fabric, model, algorithm, collective, tile_bytes);
      const NoisyProgram noisy = apply_noise(before, *fabric, model, noise, {});
      const LoweredProgram& after = noisy.lowered;
      REQUIRE(noisy.graph == after.graph);
      CHECK(same_structure(*before.graph, *after.graph));
      CHECK(before.graph->same_network(*after.graph));
      const double instruction_s = instruction_cost_s(model, before.outline->traits.runtime);
      std::size_t wrong = 0;
      std::size_t slow_flows = 0;
      std::size_t slow_steps = 0;
      for (TransferId node = 0; node < before.graph->size(); ++node) {
        const NodeOrigin& origin = before.origins[at(node)];
        const NodeCost& cost = after.costs.of(node);
        const bool there =
            origin.role == NodeRole::Step && (origin.rank == 3 || origin.peer_rank == 3);
        const double latency_s = before.graph->latency_s(node);
        const double rate_cap_Bps = before.graph->rate_cap_Bps(node);
        bool right = false;
        if (there && cost.work == Work::Transfer) {
          ++slow_flows;
          right = cost.gpu_rate == 0.5 && after.graph->latency_s(node) == latency_s &&
                  after.graph->rate_cap_Bps(node) == rate_cap_Bps * 0.5;
        } else if (there && latency_s > instruction_s) {
          ++slow_steps;
          right = cost.work == Work::Local && cost.gpu_rate == 0.5 &&
                  after.graph->latency_s(node) == instruction_s + (latency_s - instruction_s) / 0.5;
        } else {
          right = same_node(*before.graph, *after.graph, node) &&
                  before.costs.record_of[at(node)] == after.costs.record_of[at(node)];
        }
        wrong += right ? 0U : 1U;
      }
      CHECK(wrong == 0);
      CHECK(slow_flows > 0);
      CHECK(slow_steps > 0);
      CHECK(prices_of(model, *fabric, after.costs).size() == after.costs.records.size());
    }
  }
}

TEST_CASE("where no rate of a GPU counts, a slow one changes nothing", "[sim][noise]") {
  const auto fabric = make_fabric({.name = "ndv4", .servers = 2});
  const CostModel hockney = shipped_cost_model("hockney");
  NoiseProfile noise;
  noise.slow_gpus = {.probability = 1, .ranks = {}, .rate = 0.5};
  const LoweredProgram before = lowered_with(fabric, hockney, "ring", CollectiveKind::AllReduce, 0);
  const LoweredProgram after = apply_noise(before, *fabric, hockney, noise, {}).lowered;
  CHECK(after.costs.records == before.costs.records);
  CHECK(after.costs.record_of == before.costs.record_of);
}

TEST_CASE("degraded links change capacities, and no node", "[sim][noise]") {
  const auto fabric = make_fabric({.name = "ndv4", .servers = 2});
  const CostModel model = shipped_cost_model("a100");
  NoiseProfile noise;
  noise.degraded[static_cast<std::size_t>(LinkKind::Network)] = {.probability = 1, .capacity = 0.5};
  const LoweredProgram before = lowered_with(fabric, model, "ring", CollectiveKind::AllReduce, 0);
  const LoweredProgram after = apply_noise(before, *fabric, model, noise, {}).lowered;
  CHECK(same_structure(*before.graph, *after.graph));
  CHECK(after.costs.record_of == before.costs.record_of);
  for (TransferId node = 0; node < before.graph->size(); ++node) {
    REQUIRE(same_node(*before.graph, *after.graph, node));
  }
  for (std::size_t link = 0; link < before.graph->link_capacities_Bps().size(); ++link) {
    const bool network =
        link < fabric->links().size() && fabric->links()[link].kind == LinkKind::Network;
    REQUIRE(after.graph->link_capacities_Bps()[link] ==
            before.graph->link_capacities_Bps()[link] * (network ? 0.5 : 1));
  }
}

TEST_CASE("jitter delays the arrivals of messages, and edits no record", "[sim][noise]") {
  const auto fabric = make_fabric({.name = "ndv4", .servers = 2});
  NoiseProfile noise;
  noise.jitter[static_cast<std::size_t>(LinkKind::Network)] = {.median_s = 1e-6, .sigma = 1};
  for (const char* name : {"a100", "hockney"}) {
    const CostModel model = shipped_cost_model(name);
    const LoweredProgram before =
        lowered_with(fabric, model, "two-step", CollectiveKind::AllToAll, 0);
    const NoisyProgram noisy = apply_noise(before, *fabric, model, noise, {7, 1});
    REQUIRE_FALSE(noisy.unfolded);
    const LoweredProgram& after = noisy.lowered;
    CHECK(same_structure(*before.graph, *after.graph));
    CHECK(after.costs.record_of == before.costs.record_of);
    CHECK(after.costs.records == before.costs.records);
    CHECK_FALSE(after.costs.delays.empty());
    auto delay = after.costs.delays.begin();
    for (TransferId node = 0; node < before.graph->size(); ++node) {
      if (delay == after.costs.delays.end() || delay->node != node) {
        REQUIRE(same_node(*before.graph, *after.graph, node));
        continue;
      }
      const Work work = after.costs.of(node).work;
      REQUIRE(work == (model.hockney ? Work::Transfer : Work::Arrival));
      REQUIRE(after.graph->latency_s(node) == before.graph->latency_s(node) + delay->seconds);
      ++delay;
    }
    CHECK(delay == after.costs.delays.end());
  }
}

TEST_CASE("an unfolded program has a record for every firing", "[sim][noise]") {
  const auto fabric = make_fabric({.name = "ndv4", .servers = 2});
  const CostModel model = shipped_cost_model("a100");
  LoweredProgram folded = lowered_with(fabric, model, "ring", CollectiveKind::AllReduce, 8192);
  REQUIRE(folded.graph->folded());
  const LoweredProgram each = unfolded(folded);
  REQUIRE(each.costs.record_of.size() == at(each.graph->size()));
  const std::vector<Price> prices = prices_of(model, *fabric, each.costs);
  for (TransferId node = 0; node < each.graph->size(); ++node) {
    const Price& price = prices[at(each.costs.record_of[at(node)])];
    REQUIRE(price == Price{each.graph->bytes(node), each.graph->latency_s(node),
                           each.graph->rate_cap_Bps(node)});
  }
}
