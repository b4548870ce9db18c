// Tests of programs with one node for each class of equal nodes.
#include "sim/classes/class_program.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "core/random.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/analysis.hpp"
#include "sim/classes/exchange_classes.hpp"
#include "sim/config_checks.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"
#include "support/thorough.hpp"
#include "topology_models/fabric_spec.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

std::vector<FabricSpec> specs() {
  return {{.name = "ndv4"},
          {.name = "ndv4", .servers = 2},
          {.name = "ndv4", .servers = 5, .gpus_per_server = 3},
          {.name = "ndv4", .servers = 4, .oversubscription = 2, .servers_per_leaf = 2},
          {.name = "ndv4", .servers = 5, .oversubscription = 3, .servers_per_leaf = 2},
          {.name = "ndv4", .servers = 4, .servers_per_leaf = 2, .rails = true},
          {.name = "ndv4", .servers = 3, .nic_binding = NicBinding::SingleNic},
          {.name = "ndv4", .servers = 3, .without = "server1/nic3"},
          {.name = "dgx1"},
          {.name = "dgx2"},
          {.name = "hgx-h100", .servers = 3},
          {.name = "hgx-h100", .servers = 2, .nvls = true},
          {.name = "ethernet", .servers = 12},
          {.name = "frontier", .servers = 4, .routing = Routing::Minimal},
          {.name = "frontier", .servers = 4, .routing = Routing::Adaptive},
          {.name = "perlmutter", .servers = 6, .routing = Routing::Valiant},
          {.name = "ring", .gpus = 9},
          {.name = "fully_connected", .gpus = 8}};
}

int between(Random& random, int low, int high) {
  return static_cast<int>(random.integer(low, high));
}

Config random_config(Random& random, const std::string& algorithm) {
  Config config = config_of(algorithm, between(random, 1, 3));
  config.protocol = all_protocols()[random() % 3];
  config.instances = between(random, 1, 2);
  config.threads = 64 * between(random, 1, 8);
  if (random() % 2 == 0) {
    config.tile_bytes = std::uint64_t{1} << between(random, 13, 17);
    config.slots = between(random, 1, kMostSlots);
  }
  return config;
}

constexpr double kClose = 1e-9;

bool close(double a, double b) { return std::abs(a - b) <= kClose * std::abs(b); }

bool same_ranks(const SimulationRecord& folded, const SimulationRecord& full) {
  return std::ranges::equal(folded.result.rank_time_s, full.result.rank_time_s, close);
}

void check_equal(const SimulationRecord& folded, const SimulationRecord& full) {
  CHECK(close(folded.result.time_s, full.result.time_s));
  CHECK(same_ranks(folded, full));
  CHECK(folded.result.steps == full.result.steps);
  CHECK(folded.result.flows == full.result.flows);
  CHECK(folded.result.tiles == full.result.tiles);
  CHECK(folded.result.simulated_tiles == full.result.simulated_tiles);
  REQUIRE(folded.result.kernels.size() == full.result.kernels.size());
  for (std::size_t k = 0; k < full.result.kernels.size(); ++k) {
    CHECK(std::abs(folded.result.kernels[k].start_s - full.result.kernels[k].start_s) <=
          kClose * full.result.time_s);
    CHECK(std::abs(folded.result.kernels[k].time_s - full.result.kernels[k].time_s) <=
          kClose * full.result.time_s);
  }
  const std::vector<LinkUse> uses = link_use(folded, false);
  const std::vector<LinkUse> expected = link_use(full, false);
  REQUIRE(uses.size() == expected.size());
  double bytes_off = 0;
  double busy_off_s = 0;
  bool same_capacities = true;
  for (std::size_t link = 0; link < uses.size(); ++link) {
    bytes_off = std::max(bytes_off, std::abs(uses[link].bytes - expected[link].bytes));
    busy_off_s = std::max(busy_off_s, std::abs(uses[link].busy_s - expected[link].busy_s));
    same_capacities = same_capacities && (expected[link].bytes == 0 ||
                                          uses[link].capacity_Bps == expected[link].capacity_Bps);
  }
  CHECK(bytes_off <= kClose * static_cast<double>(full.call.bytes));
  // Rounding may pull equal messages apart that go through many tiles node by node.
  CHECK(busy_off_s <= (full.result.tiles > 1 ? 1e-3 : kClose) * full.result.time_s);
  CHECK(same_capacities);
}

// A simulator that folds programs of any size, and one that folds none.
struct Both {
  Both(std::shared_ptr<const Fabric> on, CostModel costs)
      : fabric(std::move(on)),
        model(std::move(costs)),
        folding(fabric, model, "flow"),
        full(fabric, model, "flow") {
    folding.set_fold_from({.messages = 0, .firings = 0});
  }

  // Record with classes, checked against the one with all messages. A pipeline may amplify rounding
  // (docs/architecture.md, "Engines"). If the records differ, starts that differ by 1e-18 s must
  // move the ends of the ranks, too; then times are only compared to 2 %, and `chaotic` grows by 1.
  SimulationRecord checked(const Call& call, const Config& config, int& chaotic) {
    SimulationRecord classes = folding.record(call, config, 0, 0, RecordDetail::Classes);
    const SimulationRecord all = full.record(call, config);
    if (same_ranks(classes, all)) {
      check_equal(classes, all);
      return classes;
    }
    ++chaotic;
    NoiseProfile late;
    late.start_skew_s = 1e-18;
    Simulator skewed(fabric, model, "flow");
    skewed.set_noise(late);
    CHECK(!same_ranks(skewed.record(call, config), all));
    CHECK(std::abs(classes.result.time_s - all.result.time_s) <= 0.02 * all.result.time_s);
    return classes;
  }

  std::shared_ptr<const Fabric> fabric;
  CostModel model;
  Simulator folding;
  Simulator full;
};

}  // namespace

TEST_CASE("the outline of all messages of a direct exchange is that of the compiled program",
          "[sim][classes]") {
  using Block = std::tuple<int, int, int, Opcode, int>;
  const auto blocks_of = [](const ProgramOutline& outline, int rank) {
    std::vector<Block> blocks;
    for (std::uint32_t b = outline.first_block(rank); b < outline.first_block(rank + 1); ++b) {
      const OutlineBlock& block = outline.blocks[b];
      REQUIRE(block.steps == 1);
      REQUIRE(block.kernel == 0);
      const std::uint32_t step = outline.loops_of(b).front().first;
      REQUIRE(outline.waits_of(step).empty());
      blocks.emplace_back(block.send_peer, block.recv_peer, block.channel,
                          outline.steps[step].opcode, outline.steps[step].count);
    }
    std::ranges::sort(blocks);
    return blocks;
  };
  const auto local = [](const Block& block) { return std::get<3>(block) == Opcode::Copy; };
  int exchanges = 0;
  for (const AlgorithmEntry& algorithm : shipped_algorithms()) {
    for (const CollectiveKind collective : algorithm.collectives) {
      for (int ranks = 2; ranks <= 7; ++ranks) {
        if (check_ranks(algorithm, ranks)) continue;
        for (const bool deployed : {false, true}) {
          AlgorithmRequest request{
              .collective = collective, .ranks = ranks, .channels = 1 + ranks % 3};
          if (deployed) request.compile = deployed_compile_options(algorithm);
          request.compile.instances = 1 + ranks % 2;
          if (check_request(algorithm, request)) continue;
          const auto exchange = direct_exchange(algorithm, request);
          if (!exchange) continue;
          ++exchanges;
          std::vector<ExchangeMessage> messages;
          for (int source = 0; source < ranks; ++source) {
            for (int target = 0; target < ranks; ++target) {
              for (int channel = 0; channel < exchange->channels && source != target; ++channel) {
                messages.push_back({source, target, channel});
              }
            }
          }
          CHECK(exchange->messages() == static_cast<std::int64_t>(messages.size()));
          const ProgramOutline written = exchange_outline(algorithm, request, messages);
          const ProgramOutline compiled = outline_of(*build_algorithm(algorithm, request));
          CHECK(written.name == compiled.name);
          CHECK(written.channels == compiled.channels);
          CHECK(written.traits == compiled.traits);
          CHECK(written.contract.chunks_per_call() == compiled.contract.chunks_per_call());
          CHECK(compiled.kernels() == 1);
          CHECK(compiled.gates.empty());
          for (int rank = 0; rank < ranks; ++rank) {
            std::vector<Block> expected = blocks_of(compiled, rank);
            CHECK(exchange->blocks_per_rank() == static_cast<std::int64_t>(expected.size()));
            if (rank > 0) std::erase_if(expected, local);
            CHECK(blocks_of(written, rank) == expected);
          }
        }
      }
    }
  }
  CHECK(exchanges == 12);
}

TEST_CASE("a folded direct exchange has the dates and loads of all its messages",
          "[sim][classes][thorough]") {
  Random random = Random::stream(31, {});
  int folded = 0;
  int chaotic = 0;
  for (const FabricSpec& spec : specs()) {
    const auto fabric = make_fabric(spec);
    for (const std::string model : {"auto", "hockney"}) {
      Both both(fabric, cost_model_for(model, *fabric));
      for (int i = 0; i < (test::thorough() ? 6 : 2); ++i) {
        const Config config = random_config(random, "naive");
        const Call call = call_of(CollectiveKind::AllToAll,
                                  std::uint64_t{4} * static_cast<std::uint64_t>(fabric->ranks()) *
                                      static_cast<std::uint64_t>(between(random, 1, 1 << 16)));
        if (!check_resident(both.full.algorithms(), call, config, *fabric, both.full.cost_model())
                 .empty()) {
          continue;
        }
        CAPTURE(spec.name, fabric->servers(), model, config.channels, config.instances,
                config.tile_bytes, config.slots, to_string(config.protocol), call.bytes);
        const SimulationRecord classes = both.checked(call, config, chaotic);
        if (classes.lowered.classes && classes.lowered.classes->examples) ++folded;
        CHECK(both.folding.simulate(call, config).time_s == classes.result.time_s);
      }
    }
  }
  CHECK(chaotic <= 1);
  CHECK(folded > (test::thorough() ? 100 : 30));
}

TEST_CASE("any program that is folded has the dates and loads of all its nodes",
          "[sim][classes][thorough]") {
  Random random = Random::stream(32, {});
  int folded = 0;
  int chaotic = 0;
  for (const FabricSpec& spec : specs()) {
    const auto fabric = make_fabric(spec);
    const CostModel model = cost_model_for("auto", *fabric);
    Both both(fabric, model);
    std::vector<Combination> all;  // programs of switches included
    for (const AlgorithmEntry& algorithm : shipped_algorithms()) {
      if (check_ranks(algorithm, fabric->ranks())) continue;
      // Programs of one node, which these fabrics refuse, would only use up the draws.
      if (algorithm.name.starts_with("symmetric-") && fabric->servers() > 1) continue;
      for (const CollectiveKind kind : algorithm.collectives) all.push_back({kind, algorithm.name});
    }
    for (int i = 0; i < (test::thorough() ? 40 : 12); ++i) {
      const Combination& each = all[random() % all.size()];
      Config config = random_config(random, each.algorithm);
      config.instances = 1;
      config.slots = std::min(config.slots * 2, kMostSlots);
      const Call call =
          call_of(each.collective, std::uint64_t{4} * static_cast<std::uint64_t>(fabric->ranks()) *
                                       static_cast<std::uint64_t>(between(random, 1, 1 << 14)));
      if (!check_config(both.full.algorithms(), call, config, fabric->ranks()).empty() ||
          !check_resident(both.full.algorithms(), call, config, *fabric, both.full.cost_model())
               .empty()) {
        continue;
      }
      CAPTURE(spec.name, fabric->servers(), to_string(each.collective), each.algorithm,
              config.channels, config.tile_bytes, config.slots, to_string(config.protocol),
              call.bytes);
      const SimulationRecord classes = both.checked(call, config, chaotic);
      folded += classes.lowered.classes ? 1 : 0;
    }
  }
  CHECK(chaotic <= 1);
  CHECK(folded > (test::thorough() ? 150 : 40));
}

TEST_CASE("classes of an exchange are those of its full graph", "[sim][classes]") {
  FabricSpec spec{.name = "ndv4", .servers = 3};
  const auto fabric = make_fabric(spec);
  const DirectExchange exchange{.ranks = fabric->ranks(), .channels = 1};
  std::vector<double> capacities_Bps;
  for (const Link& link : fabric->links()) capacities_Bps.push_back(link.capacity_Bps());
  const auto classes = find_exchange_classes(*fabric, exchange, capacities_Bps);
  REQUIRE(classes);
  // Counts every class again, message by message.
  std::int64_t messages = 0;
  for (const std::int64_t count : classes->messages) messages += count;
  CHECK(messages == exchange.messages());
  for (std::size_t of = 0; of < classes->first.size(); ++of) {
    const ExchangeMessage& first = classes->first[of];
    std::vector<std::int32_t> crossed;
    for (const LinkId link : fabric->route(first.source, first.target, first.channel)) {
      crossed.push_back(classes->link_class[static_cast<std::size_t>(link)]);
    }
    for (const ExchangeClasses::Load& load : classes->loads[of]) {
      CHECK(load.messages > 0);
      CHECK(std::ranges::count(crossed, load.link) > 0);
    }
  }
  // One faster link splits the classes; the old ones no longer hold.
  CHECK(classes->hold_for(capacities_Bps));
  std::vector<double> faster_Bps = capacities_Bps;
  for (double& capacity_Bps : faster_Bps) capacity_Bps *= 2;
  CHECK(classes->hold_for(faster_Bps));
  const std::size_t changed = static_cast<std::size_t>(classes->link.front());
  faster_Bps[changed] *= 2;
  CHECK_FALSE(classes->hold_for(faster_Bps));
  const auto split = find_exchange_classes(*fabric, exchange, faster_Bps);
  CHECK((!split || split->link.size() > classes->link.size()));
}

TEST_CASE("noise, adaptive routes and engine simgrid keep every node", "[sim][classes]") {
  const Call call = call_of(CollectiveKind::AllToAll, 1 << 20);
  const auto is_folded = [&](Simulator& simulator) {
    simulator.set_fold_from({.messages = 0, .firings = 0});
    const SimulationRecord record =
        simulator.record(call, config_of("naive"), 1, 0, RecordDetail::Classes);
    return record.lowered.classes != nullptr;
  };
  const auto ndv4 = make_fabric({.name = "ndv4", .servers = 2});
  const CostModel model = cost_model_for("auto", *ndv4);
  Simulator quiet(ndv4, model, "flow");
  CHECK(is_folded(quiet));
  const SimulationRecord nodes = quiet.record(call, config_of("naive"));
  CHECK(nodes.lowered.classes == nullptr);
  quiet.set_noise(noise_profile_for("cloud-ib"));
  CHECK_FALSE(is_folded(quiet));
  const auto frontier =
      make_fabric({.name = "frontier", .servers = 4, .groups = 2, .routing = Routing::Adaptive});
  Simulator adaptive(frontier, cost_model_for("auto", *frontier), "flow");
  CHECK_FALSE(is_folded(adaptive));
  for (const std::string& engine : engine_names()) {
    if (engine == "flow") continue;
    Simulator other(ndv4, model, engine);
    CHECK_FALSE(is_folded(other));
  }
}

TEST_CASE("the folded exchange follows a new cost model", "[sim][classes]") {
  const auto fabric = make_fabric({.name = "ndv4", .servers = 3});
  const CostModel model = cost_model_for("auto", *fabric);
  CostModel slower = model;
  for (double& efficiency : slower.link_efficiency) efficiency *= 0.5;
  const Call call = call_of(CollectiveKind::AllToAll, 3 << 20);
  Both both(fabric, model);
  for (const CostModel& each : {model, slower, model}) {
    both.folding.set_cost_model(each);
    both.full.set_cost_model(each);
    check_equal(both.folding.record(call, config_of("naive"), 0, 0, RecordDetail::Classes),
                both.full.record(call, config_of("naive")));
  }
}
