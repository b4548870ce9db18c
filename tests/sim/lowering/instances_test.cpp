// Tests of instances: several copies of a program, each with its part of the data.
#include <algorithm>
#include <fmt/core.h>

#include "collectives/verifier/verify.hpp"
#include "core/error.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"
#include "support/shipped_algorithms.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

Config with_instances(Config config, int instances) {
  config.instances = instances;
  return config;
}

std::size_t blocks_of(const SimulationRecord& record) {
  std::size_t most = 0;
  for (const GpuProgram& gpu : record.lowered.program->gpus) {
    most = std::max(most, gpu.thread_blocks.size());
  }
  return most;
}

CostModel unlimited(const std::string& name) {
  CostModel model = shipped_cost_model(name);
  model.max_thread_blocks = 0;
  model.resident_threads = 0;
  return model;
}

}  // namespace

TEST_CASE("r instances have r times the channels, blocks and messages, and move the same bytes",
          "[sim][instances]") {
  Simulator simulator(fabric("ndv4"), unlimited("a100"), "flow");
  for (const Combination& combination : combinations(8)) {
    const Call call = call_of(combination.collective, 1 << 20);
    const Config once = config_of(combination.algorithm, 2, Protocol::LL);
    const SimulationRecord one = simulator.record(call, once);
    const SimulationRecord three = simulator.record(call, with_instances(once, 3));
    CAPTURE(combination.algorithm, to_string(combination.collective));
    CHECK(three.lowered.program->channels == 3 * one.lowered.program->channels);
    // pat and bruck copy in the thread blocks of their messages, which does not work for parts of
    // messages.
    if (combination.algorithm == "pat" || combination.algorithm == "bruck") {
      CHECK(blocks_of(three) >= 3 * blocks_of(one));
    } else {
      CHECK(blocks_of(three) == 3 * blocks_of(one));
    }
    CHECK(three.result.flows == 3 * one.result.flows);
    CHECK(three.result.steps == one.result.steps);
    CHECK(verify(*three.lowered.program).ok);
    double bytes_of_one = 0;
    double bytes_of_three = 0;
    for (TransferId id = 0; id < one.graph->size(); ++id) {
      if (one.graph->route_of(id) >= 0) bytes_of_one += one.graph->bytes(id);
    }
    for (TransferId id = 0; id < three.graph->size(); ++id) {
      if (three.graph->route_of(id) >= 0) bytes_of_three += three.graph->bytes(id);
    }
    CHECK(bytes_of_three == Approx(bytes_of_one).epsilon(1e-12));
  }
}

TEST_CASE("under Hockney's model, instances that share links take as long as one program",
          "[sim][instances]") {
  // Every flow of r instances has 1/r of the bytes, at 1/r of the link's rate.
  Simulator simulator(fabric("ring", 6), shipped_cost_model("hockney"), "flow");
  for (const std::string algorithm : {"ring", "spread-ring"}) {
    for (const std::uint64_t bytes : {std::uint64_t{1} << 12, std::uint64_t{1} << 24}) {
      const Call call = call_of(CollectiveKind::AllReduce, bytes);
      const double one_s = simulator.simulate(call, config_of(algorithm)).time_s;
      for (const int instances : {2, 8}) {
        const Config config = with_instances(config_of(algorithm), instances);
        CHECK(simulator.simulate(call, config).time_s == Approx(one_s).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("MSCCLang's Ring AllReduce, ch=4 r=8: 32 channels, faster at large sizes",
          "[sim][instances]") {
  Simulator simulator(fabric("ndv4"), shipped_cost_model("a100"), "flow");
  const Config once = config_of("spread-ring", 4, Protocol::LL128);
  const Call large = call_of(CollectiveKind::AllReduce, 1 << 28);
  const SimulationRecord record = simulator.record(large, with_instances(once, 8));
  CHECK(record.lowered.program->channels == 32);
  CHECK(simulator.simulate(large, once).time_s > 2 * record.result.time_s);
}

TEST_CASE("instances that are not all resident, or fewer than one, are refused",
          "[sim][instances]") {
  const auto f = fabric("ndv4");
  Simulator simulator(f, shipped_cost_model("a100"), "flow");
  const Call call = call_of(CollectiveKind::AllReduce, 1 << 20);
  for (const std::string algorithm : {"all-pairs", "ring", "spread-ring", "tree"}) {
    std::size_t blocks_of_one = 0;
    for (const int instances : {1, 4, 8, 15, 16, 54, 108, 109}) {
      const Config config = with_instances(config_of(algorithm), instances);
      std::string refusal;
      try {
        const std::size_t blocks = blocks_of(simulator.record(call, config));
        if (instances == 1) blocks_of_one = blocks;
        // NCCL runs one block per channel.
        if (shipped_algorithm(algorithm).traits.runtime == Runtime::Nccl) blocks_of_one = 1;
      } catch (const UserError& error) {
        refusal = error.what();
      }
      CAPTURE(algorithm, instances, refusal);
      CHECK(refusal ==
            check_resident(AlgorithmLibrary::shipped(), call, config, *f, simulator.cost_model()));
      const auto limit =
          static_cast<std::size_t>(simulator.cost_model().resident_thread_blocks(config.threads));
      CHECK(refusal.empty() == (static_cast<std::size_t>(instances) * blocks_of_one <= limit));
      if (!refusal.empty()) {
        CHECK(refusal.find(fmt::format("{} instances", instances)) != std::string::npos);
      }
    }
  }
  CHECK(check_config(AlgorithmLibrary::shipped(), call, with_instances(config_of("ring"), 0), 8) ==
        "instances must be >= 1, found 0");
}

TEST_CASE("programs with different instances are cached separately", "[sim][instances]") {
  Simulator simulator(fabric("ndv4"), shipped_cost_model("a100"), "flow");
  const Call call = call_of(CollectiveKind::AllReduce, 1 << 24);
  const double one_s = simulator.simulate(call, config_of("ring")).time_s;
  const double four_s = simulator.simulate(call, with_instances(config_of("ring"), 4)).time_s;
  CHECK(four_s < one_s);
  CHECK(simulator.simulate(call, config_of("ring")).time_s == one_s);
  CHECK(simulator.simulate(call, with_instances(config_of("ring"), 4)).time_s == four_s);
}
