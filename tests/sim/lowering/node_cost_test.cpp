// Tests of the cost records of graph nodes, and of their prices.
#include "sim/prices/node_cost.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/lowering/lowering.hpp"
#include "sim/prices/node_cost_table.hpp"
#include "sim/prices/price.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

// Values are powers of two, so that every expected number is exact.
CostModel binary_model(LinkKind kind) {
  CostModel model;
  model.alpha_s[static_cast<std::size_t>(kind)] = 0x1p-20;
  model.instruction_overhead_s = 0x1p-22;
  model.local_copy_rate_Bps = 0x1p30;
  model.local_reduce_rate_Bps = 0x1p29;
  model.kernel_launch_s = 0x1p-18;
  model.channel_overhead_s = 0x1p-20;
  model.interpreter_launch_s = 0x1p-19;
  model.interpreter_block_s = 0x1p-21;
  model.interpreter_step_s = 0x1p-23;
  model.kernel_gap_s = 0x1p-17;
  model.switch_efficiency = 0.5;
  model.switch_latency_s = 0x1p-16;
  model.protocols[static_cast<std::size_t>(Protocol::LL)] = {.step_latency_s = 0x1p-21,
                                                             .efficiency = 0.5,
                                                             .thread_block_rate_Bps = 0x1p33,
                                                             .reduce_rate_Bps = 0x1p31};
  return model;
}

std::shared_ptr<const ThreadBlockProgram> program_of(const std::string& algorithm,
                                                     CollectiveKind collective, int ranks,
                                                     int channels = 1) {
  AlgorithmRequest request;
  request.collective = collective;
  request.ranks = ranks;
  request.channels = channels;
  return build_algorithm(algorithm, request);
}

// Checks that the records and delays give the numbers of the graph, bit for bit.
void check_numbers(const LoweredProgram& lowered, const CostModel& model, const Fabric& fabric) {
  const TransferGraph& graph = *lowered.graph;
  REQUIRE(lowered.costs.record_of.size() == static_cast<std::size_t>(graph.size()));
  REQUIRE(lowered.origins.size() == static_cast<std::size_t>(graph.size()));
  const std::vector<Price> prices = prices_of(model, fabric, lowered.costs);
  auto delay = lowered.costs.delays.begin();
  std::size_t different = 0;
  for (TransferId node = 0; node < graph.size(); ++node) {
    const auto record =
        static_cast<std::size_t>(lowered.costs.record_of[static_cast<std::size_t>(node)]);
    double latency_s = prices[record].latency_s;
    const std::int32_t route = graph.route_of(node);
    if (route >= 0 && graph.bytes(node) > 0 && graph.choice(route).ways >= 0) {
      latency_s = std::max(latency_s, TransferGraph::kRouteChoice_s);
    }
    for (; delay != lowered.costs.delays.end() && delay->node == node; ++delay) {
      latency_s += delay->seconds;
    }
    if (prices[record].wire_bytes != graph.bytes(node) || latency_s != graph.latency_s(node) ||
        prices[record].rate_cap_Bps != graph.rate_cap_Bps(node)) {
      ++different;
    }
  }
  CHECK(different == 0);
  CHECK(delay == lowered.costs.delays.end());
}

}  // namespace

TEST_CASE("prices of cost records, by hand", "[sim][price]") {
  const auto f = fabric("ring", 2);
  const std::vector<std::vector<LinkId>> routes{f->route(0, 1, 0)};
  REQUIRE(routes[0].size() == 1);
  const LinkKind kind = f->links()[static_cast<std::size_t>(routes[0][0])].kind;
  const CostModel model = binary_model(kind);
  PriceTerms terms{config_of("ring", 1, Protocol::LL), {.runtime = Runtime::Nccl}, 1024};
  terms.config.threads = 256;  // halves the rates
  const auto priced = [&](const NodeCost& cost) { return price(model, *f, terms, routes, cost); };
  const double infinity = kNoRateCap;

  SECTION("messages") {
    // The message has 3 KiB of payload, and as many bytes of flags.
    NodeCost cost{.work = Work::Transfer, .opcode = Opcode::Send, .chunks = 3, .route = 0};
    CHECK(priced(cost) == Price{6144, 0x1p-22, 0x1p32});
    cost.gpu_rate = 0.25;
    CHECK(priced(cost) == Price{6144, 0x1p-22, 0x1p30});
    CostModel crowded = model;
    crowded.peer_efficiency = 0.5;  // a quarter of the rates is lost between two peers
    cost.peers = 2;
    CHECK(price(crowded, *f, terms, routes, cost) == Price{8192, 0x1p-22, 0x1p30 / 0.75});
    CHECK(priced(cost) == Price{6144, 0x1p-22, 0x1p30});
    crowded.exchange_share = 0.5;
    cost.exchanging = true;
    CHECK(price(crowded, *f, terms, routes, cost) == Price{8192, 0x1p-22, 0x1p29 / 0.75});
    CHECK(priced(cost) == Price{6144, 0x1p-22, 0x1p30});
    cost.exchanging = false;
    cost.peers = 1;
    CHECK(price(crowded, *f, terms, routes, cost) == Price{6144, 0x1p-22, 0x1p30});
    cost.reducing = true;  // 2^31 B/s of payload are 2^32 B/s on the wire; half of the threads
    CHECK(priced(cost) == Price{6144, 0x1p-22, 0x1p29});
    cost.work = Work::Arrival;
    CHECK(priced(cost) == Price{0, 0x1p-20 + 0x1p-21, infinity});
    cost.work = Work::SwitchedTransfer;
    cost.gpu_rate = 1;  // the switches reduce
    CHECK(priced(cost) == Price{12288, 0x1p-22, 0x1p32});
    cost.work = Work::SwitchedArrival;
    CHECK(priced(cost) == Price{0, 0x1p-20 + 0x1p-16, infinity});
    terms.traits.runtime = Runtime::Interpreter;
    cost.work = Work::Transfer;
    CHECK(priced(cost).latency_s == 0x1p-22 + 0x1p-23);
  }
  SECTION("local steps") {
    NodeCost cost{.work = Work::Local, .opcode = Opcode::Copy, .chunks = 3};
    CHECK(priced(cost) == Price{0, 0x1p-22 + 3 * 0x1p-19, infinity});
    cost.opcode = Opcode::Reduce;
    CHECK(priced(cost).latency_s == 0x1p-22 + 3 * 0x1p-18);
    cost.gpu_rate = 0.5;  // decoding the instruction takes as long as before
    CHECK(priced(cost).latency_s == 0x1p-22 + 3 * 0x1p-17);
    terms.traits.runtime = Runtime::Interpreter;
    CHECK(priced(cost).latency_s == 0x1p-22 + 0x1p-23 + 3 * 0x1p-17);
    cost.opcode = Opcode::Nop;
    CHECK(priced(cost) == Price{});
    CHECK(priced({.work = Work::InPlace, .opcode = Opcode::Recv, .chunks = 3}) == Price{});
  }
  SECTION("kernels") {
    const NodeCost launch{.work = Work::Launch, .channels = 4, .thread_blocks = 8};
    CHECK(priced(launch) == Price{0, 0x1p-17, infinity});
    CHECK(priced({.work = Work::KernelGap}) == Price{0, 0x1p-17, infinity});
    terms.traits.runtime = Runtime::Interpreter;
    CHECK(priced(launch).latency_s == 0x1p-18 + 0x1p-19 + 8 * 0x1p-21);
  }
  SECTION("model hockney has alpha and beta alone") {
    const CostModel hockney = shipped_cost_model("hockney");
    const auto plain = [&](const NodeCost& cost) {
      return price(hockney, *f, terms, routes, cost);
    };
    const NodeCost message{.work = Work::Transfer, .chunks = 3, .route = 0, .gpu_rate = 0.5};
    const double alpha_s = f->links()[static_cast<std::size_t>(routes[0][0])].latency_s;
    CHECK(plain(message) == Price{3072, alpha_s, infinity});
    CHECK(plain({.work = Work::Arrival, .chunks = 3, .route = 0}) == Price{});
    CHECK(plain({.work = Work::Local, .opcode = Opcode::Copy, .chunks = 3, .gpu_rate = 0.5}) ==
          Price{});
    CHECK(plain({.work = Work::Launch, .channels = 4, .thread_blocks = 8}) == Price{});
    CHECK(plain({.work = Work::KernelGap}) == Price{});
  }
}

TEST_CASE("equal records and equal routes are kept once", "[sim][node-cost]") {
  const auto f = make_fabric({.name = "ndv4", .servers = 2});
  const CostModel model = shipped_cost_model("a100");
  NodeCostTable table(model, *f, {config_of("ring"), {.runtime = Runtime::Nccl}, 4096});
  const std::int32_t inside = table.route_class(f->route(0, 1, 0));
  const std::int32_t between = table.route_class(f->route(0, 8, 0));
  CHECK(table.route_class(f->route(3, 6, 0)) == inside);
  CHECK(table.route_class(f->route(9, 2, 1)) == between);
  CHECK(inside != between);
  std::vector<std::int32_t> records;
  for (std::int32_t chunks = 1; chunks <= 200; ++chunks) {
    records.push_back(table.record({.work = Work::Transfer, .chunks = chunks, .route = inside}));
  }
  for (std::int32_t chunks = 1; chunks <= 200; ++chunks) {
    const NodeCost cost{.work = Work::Transfer, .chunks = chunks, .route = inside};
    const std::int32_t record = records[static_cast<std::size_t>(chunks) - 1];
    CHECK(table.record(cost) == record);
    CHECK(table.price_of(record).wire_bytes == 4096.0 * chunks);
  }
  const std::int32_t arrival = table.arrival_of(records[5]);
  CHECK(table.arrival_of(records[5]) == arrival);
  CHECK(table.record({.work = Work::Arrival, .chunks = 6, .route = inside}) == arrival);
  table.add_node(records[5]);
  table.add_node(arrival, 1e-6);
  const NodeCosts costs = table.take();
  CHECK(costs.routes.size() == 2);
  CHECK(costs.of(0).chunks == 6);
  CHECK(costs.of(1).work == Work::Arrival);
  REQUIRE(costs.delays.size() == 1);
  CHECK(costs.delays[0].node == 1);
}

TEST_CASE("each node of a small program has its record", "[sim][node-cost]") {
  const auto f = fabric("ring", 2);
  const LinkKind kind = f->links().front().kind;
  const CostModel model = binary_model(kind);
  const LoweredProgram lowered =
      lower(program_of("ring", CollectiveKind::AllReduce, 2), *f, model,
            call_of(CollectiveKind::AllReduce, 8192), config_of("ring", 1, Protocol::LL), {});
  const NodeCost launch{.work = Work::Launch, .channels = 1, .thread_blocks = 1};
  const NodeCost first{
      .work = Work::Transfer, .opcode = Opcode::Send, .reducing = true, .chunks = 1, .route = 0};
  NodeCost first_arrives = first;
  first_arrives.work = Work::Arrival;
  NodeCost second = first;
  second.reducing = false;
  NodeCost second_arrives = second;
  second_arrives.work = Work::Arrival;
  const NodeCost reduce{.work = Work::Local, .opcode = Opcode::RecvReduceCopy, .chunks = 1};
  const NodeCost receive{.work = Work::Local, .opcode = Opcode::Recv, .chunks = 1};
  // Each rank sends half of the data, adds the received half to its own, sends the sum, and
  // receives the other sum.
  const std::vector<std::pair<NodeCost, int>> expected{
      {launch, 0}, {launch, 1},         {first, 0},  {first_arrives, 1},
      {second, 0}, {second_arrives, 1}, {first, 1},  {first_arrives, 0},
      {second, 1}, {second_arrives, 0}, {reduce, 0}, {receive, 0},
      {reduce, 1}, {receive, 1}};
  REQUIRE(lowered.graph->size() == static_cast<std::int32_t>(expected.size()));
  for (TransferId node = 0; node < lowered.graph->size(); ++node) {
    CAPTURE(node);
    CHECK(lowered.costs.of(node) == expected[static_cast<std::size_t>(node)].first);
    CHECK(lowered.origins[static_cast<std::size_t>(node)].rank ==
          expected[static_cast<std::size_t>(node)].second);
  }
  CHECK(lowered.costs.delays.empty());
  check_numbers(lowered, model, *f);
}

TEST_CASE("records and delays give every number of a graph", "[sim][node-cost]") {
  const CostModel a100 = shipped_cost_model("a100");
  SECTION("all algorithms, whole and in tiles, in all protocols") {
    const auto f = fabric("ndv4");
    for (const auto& [collective, algorithm] : combinations(8)) {
      for (const Protocol protocol : all_protocols()) {
        for (const std::uint64_t tile_bytes : {0U, 4096U}) {
          CAPTURE(algorithm, to_string(protocol), tile_bytes);
          Config config = config_of(algorithm, 2, protocol);
          config.tile_bytes = tile_bytes;
          config.slots = tile_bytes == 0 ? 0 : 2;
          check_numbers(lower(program_of(algorithm, collective, 8, 2), *f, a100,
                              call_of(collective, 1 << 18), config),
                        a100, *f);
        }
      }
    }
  }
  SECTION("late ranks") {
    const auto f = fabric("ndv4");
    const std::vector<double> late_s{1e-6, 0, 3e-6, 0, 0, 1e-9, 0, 0};
    for (const char* model_name : {"a100", "hockney"}) {
      const CostModel model = shipped_cost_model(model_name);
      const LoweredProgram lowered =
          lower(program_of("ring", CollectiveKind::AllReduce, 8), *f, model,
                call_of(CollectiveKind::AllReduce, 1 << 18), config_of("ring"), late_s);
      REQUIRE(lowered.costs.delays.size() == 3);
      for (const NodeCosts::Delay& delay : lowered.costs.delays) {
        const NodeOrigin& origin = lowered.origins[static_cast<std::size_t>(delay.node)];
        CHECK(origin.role == NodeRole::Launch);
        CHECK(delay.seconds == late_s[static_cast<std::size_t>(origin.rank)]);
      }
      check_numbers(lowered, model, *f);
    }
  }
  SECTION("switches, adaptive routes, folded loops") {
    for (const auto& [name, servers, algorithm] :
         {std::tuple{"hgx-h100", 1, "nvls"}, std::tuple{"frontier", 2, "ring"},
          std::tuple{"ndv4", 4, "hierarchical"}}) {
      const auto f = make_fabric({.name = name, .servers = servers});
      const CostModel model = cost_model_for("auto", *f);
      Simulator simulator(f, model, "flow");
      const LoweredProgram lowered =
          simulator.lowered(call_of(CollectiveKind::AllReduce, 1 << 22), config_of(algorithm, 2));
      check_numbers(lowered, model, *f);
      CAPTURE(name);
      CHECK(lowered.costs.records.size() < 60);
    }
    const auto f = fabric("ring", 64);
    const LoweredProgram folded =
        lower(program_of("ring", CollectiveKind::AllReduce, 64), *f, a100,
              call_of(CollectiveKind::AllReduce, 1 << 22), config_of("ring"), {}, Folding::Always);
    REQUIRE(folded.folded);
    check_numbers(folded, a100, *f);
  }
}
