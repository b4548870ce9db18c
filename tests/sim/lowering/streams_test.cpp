// Tests of steps that send a message on while it arrives, and of blocks that share an SM.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "sim/engine/engine.hpp"
#include "sim/lowering/graph_shape.hpp"
#include "sim/lowering/lowering.hpp"
#include "sim/prices/transfer_cost.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"
#include "topology_models/fabric_file.hpp"

namespace cclgym::test {
namespace {

// Costs in powers of two, so that sums are exact. A unit is 8 B of each of 512 threads: 4 KiB.
CostModel stream_model() {
  CostModel model;
  model.kernel_launch_s = 0x1p-18;
  model.instruction_overhead_s = 0x1p-24;
  for (ProtocolCost& protocol : model.protocols) {
    protocol.step_latency_s = 0x1p-20;
    protocol.efficiency = 0.5;
    protocol.thread_block_rate_Bps = 0x1p32;
    protocol.reduce_rate_Bps = 0x1p30;
  }
  for (auto& alpha : model.alpha_s) alpha = 0.0;
  return model;
}

constexpr double kLaunch_s = 0x1p-18;
constexpr double kInstruction_s = 0x1p-24;
constexpr double kArrival_s = 0x1p-20;
constexpr double kUnit_s = 0x1p13 / 0x1p32;  // 4 KiB of data on the wire, at a thread block's rate

// A program in which rank 0 sends one chunk, and every other rank but the last sends it on.
std::shared_ptr<const ThreadBlockProgram> chain(int ranks) {
  auto program = std::make_shared<ThreadBlockProgram>(
      ThreadBlockProgram{.name = "chain",
                         .contract = Contract::make(CollectiveKind::Broadcast, ranks, 1),
                         .channels = 1,
                         .gpus = {},
                         .traits = {.runtime = Runtime::Nccl}});
  for (int rank = 0; rank < ranks; ++rank) {
    ThreadBlock block;
    block.send_peer = rank + 1 < ranks ? rank + 1 : -1;
    block.recv_peer = rank - 1;
    Instruction step;
    step.opcode = rank == 0           ? Opcode::Send
                  : rank + 1 == ranks ? Opcode::Recv
                                      : Opcode::RecvCopySend;
    step.source = {Buffer::Input, 0};
    step.target = {Buffer::Output, 0};
    block.steps.push_back(step);
    GpuProgram gpu;
    gpu.input_chunks = gpu.output_chunks = 1;
    gpu.thread_blocks.push_back(block);
    program->gpus.push_back(gpu);
  }
  return program;
}

double time_s(const std::shared_ptr<const Fabric>& on, const CostModel& model, Protocol protocol,
              std::uint64_t bytes, const std::string& engine = "flow") {
  const LoweredProgram lowered =
      lower(chain(on->ranks()), *on, model, call_of(CollectiveKind::Broadcast, bytes),
            config_of("chain", 1, protocol));
  CHECK(lowered.steps == on->ranks() - 1);
  const auto runs = make_engine(engine);
  runs->load(lowered.graph);
  const EngineResult result = runs->run();
  return *std::max_element(result.end_s.begin(), result.end_s.end());
}

TEST_CASE("a chain sends a message on as soon as its first unit has arrived",
          "[sim][lowering][streams]") {
  const CostModel model = stream_model();
  const auto f = fabric("ndv4");
  for (const std::string& engine : engine_names()) {
    CAPTURE(engine);
    for (const double units : {1.0, 2.0, 7.0, 64.0}) {
      CAPTURE(units);
      // Six of seven messages are sent on after their heads.
      const double head_s = kInstruction_s + kUnit_s + kArrival_s;
      const double whole_s = kInstruction_s + units * kUnit_s + kArrival_s;
      const auto bytes = static_cast<std::uint64_t>(units * 4096);
      CHECK(time_s(f, model, Protocol::LL, bytes, engine) ==
            Approx(kLaunch_s + 6 * head_s + whole_s).epsilon(1e-9));
      // With Simple, a message is sent on when it is complete.
      CHECK(time_s(f, model, Protocol::Simple, bytes, engine) ==
            Approx(kLaunch_s + 7 * whole_s).epsilon(1e-9));
    }
  }
}

TEST_CASE("a message that is sent on does not arrive before it has been received",
          "[sim][lowering][streams]") {
  // The first link is slower than a thread block, so that the second message is soon sent, but must
  // wait for its last bytes.
  const auto line = read_fabric(parse_yaml(R"(
name: line
nodes:
  - {name: gpu0..2, server: 0}
links:
  - {from: gpu0, to: gpu1, kind: nvlink, bandwidth: 67108864 B/s, latency: 0 s}
  - {from: gpu1, to: gpu2, kind: nvlink, bandwidth: 68719476736 B/s, latency: 0 s}
  - {from: gpu2, to: gpu0, kind: nvlink, bandwidth: 68719476736 B/s, latency: 0 s}
)",
                                           "line.yaml"),
                                "line");
  const CostModel model = stream_model();
  for (const std::string& engine : engine_names()) {
    CAPTURE(engine);
    CHECK(time_s(line, model, Protocol::LL, 1 << 16, engine) ==
          Approx(kLaunch_s + kInstruction_s + 0x1p17 / 0x1p26 + 2 * kArrival_s).epsilon(1e-9));
  }
}

TEST_CASE("the unit of LL and LL128 is what their threads move at once",
          "[sim][lowering][streams]") {
  const CostModel model = stream_model();
  Config config = config_of("ring", 1, Protocol::LL);
  CHECK(streamed_unit_bytes(model, config, {}) == 4096);
  config.threads = 128;
  CHECK(streamed_unit_bytes(model, config, {}) == 1024);
  config.protocol = Protocol::LL128;  // 8 words of 8 B, less a flag in every 16 words
  CHECK(streamed_unit_bytes(model, config, {}) == 128 * 60);
  config.protocol = Protocol::Simple;
  CHECK(std::isinf(streamed_unit_bytes(model, config, {})));
  config.protocol = Protocol::LL;
  CHECK(std::isinf(streamed_unit_bytes(model, config, {.runtime = Runtime::Sccl})));
  CHECK(std::isinf(streamed_unit_bytes(model, config, {.copy = CopyEngine::Dma})));
  CostModel hockney = model;
  hockney.hockney = true;
  CHECK(std::isinf(streamed_unit_bytes(hockney, config, {})));

  // Two chunks of 400 B fit into a unit of 1,024 B.
  CHECK(whole_chunks(model, config, {}, 400, 8) == 2);
  CHECK(whole_chunks(model, config, {}, 400, 2) == 2);
  CHECK(whole_chunks(model, config, {}, 2000, 8) == 0);
}

TEST_CASE("messages over the network are not sent on before they are complete",
          "[sim][lowering][streams]") {
  CostModel model = stream_model();
  const auto nodes = make_fabric({.name = "ethernet", .servers = 3});
  const double rate_Bps = 0x1p26;  // below that of the links
  for (ProtocolCost& protocol : model.protocols) protocol.thread_block_rate_Bps = rate_Bps;
  const double whole_s = kInstruction_s + 0x1p17 / rate_Bps + kArrival_s;
  CHECK(time_s(nodes, model, Protocol::LL, 1 << 16) ==
        Approx(kLaunch_s + 2 * whole_s).epsilon(1e-9));
}

TEST_CASE("blocks on one SM have equal parts of the rate of one block with all their threads",
          "[sim][lowering][streams]") {
  CostModel model = stream_model();
  model.half_rate_threads = 512;
  Config config = config_of("ring", 1, Protocol::LL);
  const auto f = fabric("ndv4");
  const auto rate_Bps = [&](double sharing_blocks) {
    return transfer_cost(model, *f, f->route(0, 1, 0), config, {}, 4096, false, 0, sharing_blocks)
        .rate_cap_Bps;
  };
  CHECK(rate_Bps(0.5) == 0x1p32);  // each block has an SM of its own
  CHECK(rate_Bps(2) == 0x1p31);    // blocks of 512 threads have nothing to gain
  config.threads = 128;
  const double share = 128.0 / (128 + 512) * 2;
  CHECK(rate_Bps(1) == Approx(0x1p32 * share).epsilon(1e-12));
  CHECK(rate_Bps(2) == Approx(0x1p32 * 256.0 / (256 + 512) * 2 / 2).epsilon(1e-12));
  CHECK(rate_Bps(8) == Approx(0x1p32 / 8).epsilon(1e-12));
  model.half_rate_threads = 0;  // linear: two small blocks do not disturb each other
  CHECK(rate_Bps(2) == rate_Bps(1));

  config.threads = 512;
  const auto copy_s = [&](double sharing_blocks) {
    return local_cost_s(model, config, Runtime::Nccl, Opcode::Copy, 1e6, sharing_blocks);
  };
  CHECK(copy_s(4) - kInstruction_s == Approx(4 * (copy_s(1) - kInstruction_s)).epsilon(1e-12));
}

TEST_CASE("a program with more blocks than SMs slows its blocks down", "[sim][lowering][streams]") {
  const auto f = fabric("ndv4");
  CostModel model = stream_model();
  model.resident_threads = 2048;
  Config config = config_of("all-pairs", 1, Protocol::LL);
  config.instances = 4;  // 28 blocks
  config.threads = 512;
  const auto terms = [&](int sms) {
    model.max_thread_blocks = sms;
    Simulator simulator(f, model, "flow");
    return simulator.lowered(call_of(CollectiveKind::AllReduce, 1 << 20), config).costs.terms;
  };
  CHECK(terms(0).sharing_blocks == 1);
  CHECK(terms(28).sharing_blocks == 1);
  CHECK(terms(56).sharing_blocks == 1);
  CHECK(terms(14).sharing_blocks == 2);
  CHECK(terms(8).sharing_blocks == 3.5);
}

}  // namespace
}  // namespace cclgym::test
