// Tests of the cost traits of SCCL's runtime: generated kernels, pull, DMA engines, direct copies.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "collectives/library/program_entry.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/prices/price.hpp"
#include "sim/prices/transfer_cost.hpp"
#include "sim/simulator.hpp"
#include "sim/tuners/named_programs.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {
namespace {

const std::string kScatterPairs =
    source_path("docs/examples/own_program/scatter_pairs.xml");  // a Broadcast on 8 ranks

// Costs in powers of two, so that sums are exact.
CostModel round_model() {
  CostModel model;
  model.kernel_launch_s = 0x1p-18;
  model.channel_overhead_s = 0x1p-22;
  model.interpreter_launch_s = 0x1p-19;
  model.interpreter_block_s = 0x1p-21;
  model.interpreter_step_s = 0x1p-23;
  model.instruction_overhead_s = 0x1p-24;
  for (ProtocolCost& protocol : model.protocols) protocol.thread_block_rate_Bps = 0x1p34;
  return model;
}

std::string table_refusal(const std::string& item) {
  AlgorithmLibrary library = AlgorithmLibrary::shipped();
  try {
    add_program(library, read_named_program(parse_yaml(item, "table.yaml")));
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

AlgorithmLibrary library_with(const std::string& traits) {
  AlgorithmLibrary library = AlgorithmLibrary::shipped();
  const std::string item = "{file: " + kScatterPairs + ", name: pairs" + traits + "}";
  add_program(library, read_named_program(parse_yaml(item, "table.yaml")));
  return library;
}

double time_s(const std::string& traits, const CostModel& model, const Config& choice) {
  const AlgorithmLibrary library = library_with(traits);
  Simulator simulator(make_fabric({.name = "ndv4"}), model, "flow", library);
  Config config = choice;
  config.algorithm = "pairs";
  config.channels = library.at("pairs").program->channels;
  return simulator.simulate({.collective = CollectiveKind::Broadcast, .bytes = 1 << 24}, config)
      .time_s;
}

}  // namespace

TEST_CASE("a generated kernel has NCCL's launch and interprets nothing", "[sim][lowering]") {
  const CostModel model = round_model();
  CHECK(launch_cost_s(model, Runtime::Sccl, 4, 8) == launch_cost_s(model, Runtime::Nccl, 4, 8));
  CHECK(launch_cost_s(model, Runtime::Sccl, 4, 8) == 0x1p-18 + 4 * 0x1p-22);
  CHECK(launch_cost_s(model, Runtime::Interpreter, 4, 8) == 0x1p-18 + 0x1p-19 + 8 * 0x1p-21);
  CHECK(instruction_cost_s(model, Runtime::Sccl) == 0x1p-24);
  CHECK(instruction_cost_s(model, Runtime::Interpreter) == 0x1p-24 + 0x1p-23);
}

TEST_CASE("pulling adds a tenth of the bytes, DMA engines take away a tenth", "[sim][lowering]") {
  const CostModel model = round_model();
  const auto cost = [&](const CostTraits& traits, int servers = 1) {
    const auto fabric = make_fabric({.name = "ndv4", .servers = servers});
    return transfer_cost(model, *fabric, fabric->route(0, fabric->ranks() - 1, 0), Config{}, traits,
                         11000, false);
  };
  const TransferCost push = cost({.runtime = Runtime::Sccl});
  CHECK(push.wire_bytes == 11000);
  CHECK(push.latency_s == 0x1p-24);
  CHECK(push.rate_cap_Bps == 0x1p34);
  const TransferCost pull = cost({.runtime = Runtime::Sccl, .initiator = Initiator::Pull});
  CHECK(pull.wire_bytes == Approx(12100).epsilon(1e-12));
  CHECK(pull.rate_cap_Bps == push.rate_cap_Bps);
  const TransferCost dma = cost({.runtime = Runtime::Sccl, .copy = CopyEngine::Dma});
  CHECK(dma.wire_bytes == Approx(10000).epsilon(1e-12));
  CHECK(dma.latency_s == 0x1p-24 + 0x1p-18);
  CHECK(dma.rate_cap_Bps == kNoRateCap);
  CHECK(dma.arrival_s == push.arrival_s);
  // Messages between nodes are the proxy's and the NIC's.
  const CostTraits both{
      .runtime = Runtime::Sccl, .initiator = Initiator::Pull, .copy = CopyEngine::Dma};
  CHECK(cost(both, 2).wire_bytes == cost({.runtime = Runtime::Sccl}, 2).wire_bytes);
  CHECK(cost(both, 2).rate_cap_Bps == cost({.runtime = Runtime::Sccl}, 2).rate_cap_Bps);
  // The reference model has alpha and beta only.
  const CostModel hockney = shipped_cost_model("hockney");
  const auto fabric = make_fabric({.name = "dgx1"});
  CHECK(transfer_cost(hockney, *fabric, fabric->route(0, 1, 0), Config{}, both, 1000, false)
            .wire_bytes == 1000);
}

TEST_CASE("a direct copy is in place when it arrives", "[sim][lowering]") {
  const CostModel model = round_model();
  const auto fabric = make_fabric({.name = "ndv4"});
  PriceTerms terms{Config{}, {.runtime = Runtime::Sccl}, 0x1p20};
  const NodeCost receive{.work = Work::Local, .opcode = Opcode::Recv, .chunks = 1};
  CHECK(price(model, *fabric, terms, {}, receive).latency_s == 0x1p-24 + 0x1p-14);
  terms.traits.direct = true;
  CHECK(price(model, *fabric, terms, {}, receive).latency_s == 0x1p-24);
  const NodeCost copy{.work = Work::Local, .opcode = Opcode::Copy, .chunks = 1};
  CHECK(price(model, *fabric, terms, {}, copy).latency_s > 0);
}

TEST_CASE("direct copies wait for no slots", "[sim][lowering]") {
  const CostModel model = shipped_cost_model("a100");
  const Config one_slot{.tile_bytes = 1 << 16, .slots = 1};
  const Config free{.tile_bytes = 1 << 16, .slots = 0};
  const std::string direct = ", runtime: sccl, direct: true";
  CHECK(time_s(direct, model, one_slot) == time_s(direct, model, free));
  CHECK(time_s(", runtime: sccl", model, one_slot) > 1.05 * time_s(", runtime: sccl", model, free));
}

TEST_CASE("the runtime of a program changes its time, and its hash", "[sim][tuners]") {
  const CostModel model = shipped_cost_model("a100");
  const double interpreted_s = time_s("", model, {});
  CHECK(time_s(", runtime: interpreter, initiator: push, copy: kernel, direct: false", model, {}) ==
        interpreted_s);
  CHECK(time_s(", runtime: sccl", model, {}) < interpreted_s - model.interpreter_launch_s / 2);
  CHECK(time_s(", initiator: pull", model, {}) > interpreted_s);
  const auto hash_of = [](const std::string& traits) {
    return program_hash(*library_with(traits).at("pairs").program);
  };
  CHECK(hash_of("") == program_hash(*read_program_entry("pairs", kScatterPairs).program));
  std::vector<std::string> hashes;
  for (const std::string traits :
       {"", ", runtime: sccl", ", initiator: pull", ", copy: dma", ", direct: true"}) {
    hashes.push_back(hash_of(traits));
    const AlgorithmLibrary library = library_with(traits);
    CHECK(traits_yaml(library.at("pairs").traits) == traits);
  }
  std::sort(hashes.begin(), hashes.end());
  CHECK(std::unique(hashes.begin(), hashes.end()) == hashes.end());
}

TEST_CASE("wrong traits of a program are refused where they are", "[sim][tuners]") {
  const std::string file = "{file: " + kScatterPairs + ", name: pairs, ";
  CHECK(table_refusal(file + "runtime: scl}").find("did you mean 'sccl'?") != std::string::npos);
  CHECK(table_refusal(file + "copy: dam}").find("did you mean 'dma'?") != std::string::npos);
  CHECK(table_refusal(file + "direct: 2}").starts_with("table.yaml:1:"));
  CHECK(table_refusal(file + "copy: dma}").empty());
  const std::string reduces =
      "{file: " + source_path("tests/fuzz/seeds/msccl_xml/reducescatter.xml") + ", name: scatter, ";
  CHECK(table_refusal(reduces + "runtime: sccl}").empty());
  CHECK(table_refusal(reduces + "copy: dma}").find("which DMA engines cannot") !=
        std::string::npos);
}

}  // namespace cclgym::test
