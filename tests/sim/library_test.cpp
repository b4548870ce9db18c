// Checks that a simulator's algorithms are those of its library, and that no name decides a time.
#include <vector>

#include "collectives/library/program_entry.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/fast/call_timer.hpp"
#include "sim/simulator.hpp"
#include "sim_fixtures.hpp"
#include "support/catch.hpp"
#include "support/shipped_algorithms.hpp"
#include "support/thrown.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {

namespace {

template <typename Action>
bool says(Action action, const char* text) {
  return thrown(action).find(text) != std::string::npos;
}

AlgorithmLibrary with_renamed(const std::vector<std::string>& algorithms) {
  AlgorithmLibrary library = AlgorithmLibrary::shipped();
  for (const std::string& algorithm : algorithms) {
    AlgorithmEntry entry = shipped_algorithm(algorithm);
    entry.name = "my-" + algorithm;
    library.add(entry);
  }
  return library;
}

}  // namespace

TEST_CASE("an algorithm under another name takes the same time", "[sim][library]") {
  // Set gh200 has a latency for trees. Fabric ring is a single node, in which a tree is a chain.
  for (const auto& [fabric, model] : {std::pair<FabricSpec, const char*>{{.name = "ndv4"}, "a100"},
                                      {{.name = "ndv4", .servers = 4}, "a100-abci"},
                                      {{.name = "alps", .servers = 4}, "gh200"},
                                      {{.name = "ring", .gpus = 16}, "a100"}}) {
    const auto on = make_fabric(fabric);
    Simulator simulator(on, shipped_cost_model(model), "flow",
                        with_renamed({"ring", "tree", "hierarchical"}));
    for (const std::string algorithm : {"ring", "tree", "hierarchical"}) {
      for (const Protocol protocol : all_protocols()) {
        Config config{.algorithm = algorithm, .protocol = protocol, .channels = 2};
        const Call call{.bytes = 1 << 16};
        const double own_s = simulator.simulate(call, config).time_s;
        config.algorithm = "my-" + algorithm;
        INFO(fabric.name << " " << config.algorithm << " " << to_string(protocol));
        CHECK(simulator.simulate(call, config).time_s == own_s);
      }
    }
  }
}

TEST_CASE("the latency of trees is a trait, not a name", "[sim][library]") {
  const auto fabric = make_fabric({.name = "ndv4", .servers = 4});
  CostModel model = shipped_cost_model("a100");
  for (ProtocolCost& cost : model.protocols) cost.tree_latency_s = 5e-6;
  AlgorithmLibrary library = with_renamed({"tree"});
  AlgorithmEntry free = shipped_algorithm("tree");
  free.name = "free-tree";
  free.traits.tree_latency = false;
  library.add(free);
  Simulator simulator(fabric, model, "flow", library);
  const auto time_s = [&](const char* algorithm) {
    return simulator.simulate({.bytes = 4096}, {.algorithm = algorithm}).time_s;
  };
  CHECK(time_s("tree") == time_s("my-tree"));
  CHECK(time_s("tree") > time_s("free-tree") + 5e-6);
}

TEST_CASE("a fixed program takes the time of the algorithm that it was made by", "[sim][library]") {
  const auto fabric = make_fabric({.name = "ndv4"});
  const CostModel model = shipped_cost_model("a100");
  const auto program = [&] {
    Simulator simulator(fabric, model, "flow");
    return simulator.compiled({.bytes = 4096}, {.algorithm = "all-pairs", .channels = 2});
  }();
  AlgorithmLibrary library = AlgorithmLibrary::shipped();
  library.add(program_entry("ap", program));
  Simulator simulator(fabric, model, "flow", library);
  for (const std::uint64_t bytes : {std::uint64_t{4096}, std::uint64_t{1} << 20U}) {
    const Call call{.bytes = bytes};
    CHECK(simulator.simulate(call, {.algorithm = "ap", .channels = 2}).time_s ==
          simulator.simulate(call, {.algorithm = "all-pairs", .channels = 2}).time_s);
  }
  CHECK(says([&] { return simulator.simulate({.bytes = 4096}, {.algorithm = "ap"}); },
             "channels of program 'ap' must be 2, found 1"));
  const auto site = std::make_shared<CallSite>();
  site->fabrics = {fabric};
  site->cost_model = model;
  site->algorithms = library;
  CallTimer timer(site, 64);
  const Config config{.algorithm = "ap", .channels = 2};
  const PlainConfig plain = plain_config(library, config);
  CHECK(plain.program == AlgorithmLibrary::shipped().entries().size());
  CHECK(full_config(library, plain) == config);
  CHECK(timer.time({.bytes = 4096}, plain).time_s ==
        Approx(simulator.simulate({.bytes = 4096}, config).time_s).epsilon(1e-9));
  CHECK_THROWS_AS(plain_config(AlgorithmLibrary::shipped(), config), UserError);
}

TEST_CASE("a custom collective is simulated under the name of its program", "[sim][library]") {
  ProgramBuilder p("shift",
                   Contract::custom("shift", 8, std::vector<int>(8, 1), std::vector<int>(8, 1),
                                    [](int rank, int) {
                                      return std::optional<RequiredValue>({{(rank + 7) % 8, 0}});
                                    }));
  for (int rank = 0; rank < 8; ++rank) {
    (void)p.chunk(rank, Buffer::Input, 0).copy((rank + 1) % 8, Buffer::Output, 0);
  }
  AlgorithmLibrary library = AlgorithmLibrary::shipped();
  library.add(program_entry(
      "shift", std::make_shared<const ThreadBlockProgram>(compile(p.finish(), CompileOptions{}))));
  Simulator simulator(make_fabric({.name = "ndv4"}), shipped_cost_model("a100"), "flow", library);
  const Call call{.collective = CollectiveKind::Custom, .bytes = 1 << 20};
  CHECK(simulator.simulate(call, {.algorithm = "shift"}).time_s > 0);
  CHECK(says([&] { return simulator.simulate({.bytes = 1 << 20}, {.algorithm = "shift"}); },
             "has no allreduce; it has custom"));
}

TEST_CASE("keys of times that packed into the same bits differ", "[sim][cache]") {
  // The hashes of these keys are equal, because they shift instances by 34 bits and threads by 48,
  // programs by 0 and bindings by 8.
  const PlainConfig few{.instances = 1, .threads = 513};
  const PlainConfig many{.instances = 1 | 1 << 14, .threads = 512};
  const TimeKey one{.bytes = 1024, .config = few};
  const TimeKey other{.bytes = 1024, .config = many};
  CHECK(TimeKeyHash{}(one) == TimeKeyHash{}(other));
  CHECK_FALSE(one == other);
  const TimeKey program{.config = {.program = 256}};
  const TimeKey binding{.config = {.binding = 1}};
  CHECK(TimeKeyHash{}(program) == TimeKeyHash{}(binding));
  CHECK_FALSE(program == binding);
  TimeCache cache(64);
  cache.insert(one, {.time_s = 1});
  TimedCall found;
  CHECK(cache.find(one, found));
  CHECK_FALSE(cache.find(other, found));
}

}  // namespace cclgym
