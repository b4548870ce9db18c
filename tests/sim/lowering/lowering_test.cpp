#include "sim/lowering/lowering.hpp"

#include "core/error.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/prices/transfer_cost.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/shipped_algorithms.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

// A program of two ranks. Rank 0 sends `sends` single chunks to rank 1, which receives `receives`
// chunks.
std::shared_ptr<ThreadBlockProgram> sender_receiver(int sends, int receives) {
  const Contract contract = Contract::make(CollectiveKind::Broadcast, 2, 4);
  auto program = std::make_shared<ThreadBlockProgram>(
      ThreadBlockProgram{.name = "test", .contract = contract, .channels = 1, .gpus = {}});
  program->gpus.resize(2);
  for (GpuProgram& gpu : program->gpus) gpu.input_chunks = gpu.output_chunks = 4;
  ThreadBlock sender;
  sender.send_peer = 1;
  for (int i = 0; i < sends; ++i) {
    Instruction send;
    send.opcode = Opcode::Send;
    send.source = {Buffer::Input, i};
    sender.steps.push_back(send);
  }
  ThreadBlock receiver;
  receiver.recv_peer = 0;
  for (int i = 0; i < receives; ++i) {
    Instruction receive;
    receive.opcode = Opcode::Recv;
    receive.target = {Buffer::Output, i};
    receiver.steps.push_back(receive);
  }
  program->gpus[0].thread_blocks.push_back(sender);
  program->gpus[1].thread_blocks.push_back(receiver);
  return program;
}

LoweredProgram lowered_of(const std::shared_ptr<ThreadBlockProgram>& program) {
  return lower(program, *fabric("ring", 2), shipped_cost_model("hockney"),
               call_of(CollectiveKind::Broadcast, 4096), config_of("test"));
}

}  // namespace

TEST_CASE("a ring costs one flow per step and peer", "[sim][lowering]") {
  for (const int channels : {1, 4}) {
    AlgorithmRequest request;
    request.collective = CollectiveKind::AllReduce;
    request.ranks = 8;
    request.channels = channels;
    const auto lowered =
        lower(build_algorithm("ring", request), *fabric("ring", 8), shipped_cost_model("hockney"),
              call_of(CollectiveKind::AllReduce, 1 << 20), config_of("ring", channels));
    CHECK(lowered.graph->size() == 8 * 14 * channels);
    CHECK(lowered.graph->flow_firings() == 8 * 14 * channels);
    CHECK(lowered.steps == 14);
    CHECK(lowered.graph->bytes(0) == (1 << 20) / 8.0 / channels);
  }
}

TEST_CASE("an unmatched receive stalls the simulation and is named", "[sim][lowering]") {
  const auto program = sender_receiver(2, 3);
  for (const std::string& engine : engine_names()) {
    Simulator simulator(fabric("ring", 2), shipped_cost_model("hockney"), engine);
    try {
      (void)simulator.record_program(program, call_of(CollectiveKind::Broadcast, 4096),
                                     config_of("test"));
      FAIL("finished");
    } catch (const SimulationStalled& stalled) {
      const std::string what = stalled.what();
      CAPTURE(engine, what);
      CHECK(what.find("cannot finish: 1 operation waits forever") != std::string::npos);
      CHECK(what.find("rank 1, thread block 0, step 2: recv from rank 0 on channel 0") !=
            std::string::npos);
    }
    // The engine is fully usable afterwards.
    CHECK(simulator
              .record_program(sender_receiver(2, 2), call_of(CollectiveKind::Broadcast, 4096),
                              config_of("test"))
              .result.time_s == Approx(2 * (0.7e-6 + 1024 / 25e9)).epsilon(1e-12));
  }
}

TEST_CASE("a dependency cycle stalls the simulation, which names the waiting steps",
          "[sim][lowering]") {
  // Each rank receives before it sends.
  auto program = sender_receiver(0, 0);
  for (int rank = 0; rank < 2; ++rank) {
    ThreadBlock block;
    block.send_peer = block.recv_peer = 1 - rank;
    Instruction receive;
    receive.opcode = Opcode::Recv;
    Instruction send;
    send.opcode = Opcode::Send;
    block.steps = {receive, send};
    program->gpus[static_cast<std::size_t>(rank)].thread_blocks = {block};
  }
  for (const std::string& engine : engine_names()) {
    Simulator simulator(fabric("ring", 2), shipped_cost_model("hockney"), engine);
    try {
      (void)simulator.record_program(program, call_of(CollectiveKind::Broadcast, 4096),
                                     config_of("test"));
      FAIL("finished");
    } catch (const SimulationStalled& stalled) {
      const std::string what = stalled.what();
      CHECK(what.find("2 operations wait forever") != std::string::npos);
      CHECK(what.find("rank 0, thread block 0, step 1: send to rank 1") != std::string::npos);
      CHECK(what.find("rank 1, thread block 0, step 1: send to rank 0") != std::string::npos);
    }
  }
}

TEST_CASE("invalid programs are refused", "[sim][lowering]") {
  const auto message = [](const std::shared_ptr<ThreadBlockProgram>& program) -> std::string {
    try {
      (void)lowered_of(program);
    } catch (const UserError& error) {
      return error.what();
    }
    return "accepted";
  };
  CHECK(message(sender_receiver(3, 2))
            .find("step 2: send to rank 1 on channel 0 sends a message that is never received") !=
        std::string::npos);

  auto counts = sender_receiver(1, 1);
  counts->gpus[1].thread_blocks[0].steps[0].count = 2;
  CHECK(message(counts).find("sends 1 chunks, but rank 1") != std::string::npos);

  auto shared = sender_receiver(1, 2);
  shared->gpus[0].thread_blocks.push_back(shared->gpus[0].thread_blocks[0]);
  CHECK(message(shared).find(
            "thread blocks 0 and 1 both send on the connection rank 0 -> rank 1, channel 0") !=
        std::string::npos);

  auto ranks = sender_receiver(1, 1);
  ranks->gpus.emplace_back();
  CHECK(message(ranks).find("is for 3 ranks, but fabric 'ring' has 2") != std::string::npos);
}

TEST_CASE("an explicit latency overrides the cost model's alpha, a fabric's default does not",
          "[sim][lowering]") {
  CostModel model = shipped_cost_model("a100");
  model.protocols[static_cast<std::size_t>(Protocol::LL)].network_latency_s = 0;
  model.alpha_s[static_cast<std::size_t>(LinkKind::NvLink)] = 0.15e-6;
  const double rest_s = model.protocols[static_cast<std::size_t>(Protocol::LL)].step_latency_s;
  const auto latency_s = [&](const FabricSpec& spec, int to) {
    const auto f = make_fabric(spec);
    return transfer_cost(model, *f, f->route(0, to, 0), config_of("ring", 1, Protocol::LL),
                         {.runtime = Runtime::Nccl}, 1000, false)
        .arrival_s;
  };
  CHECK(latency_s({.name = "ndv4"}, 1) == Approx(2 * 0.15e-6 + rest_s).epsilon(1e-12));
  CHECK(latency_s({.name = "ndv4", .latency_s = 5e-6}, 1) ==
        Approx(2 * 5e-6 + rest_s).epsilon(1e-12));
  CHECK(latency_s({.name = "ndv4", .latency_s = 0}, 1) == Approx(rest_s).epsilon(1e-12));
  // The option applies to NVLink, so between nodes nothing changes.
  CHECK(latency_s({.name = "ndv4", .servers = 2, .latency_s = 5e-6}, 8) ==
        latency_s({.name = "ndv4", .servers = 2}, 8));
  const std::string file = source_path("experiments/fabrics/two-islands.yaml");
  CHECK(latency_s({.name = file}, 1) == Approx(0.7e-6 + rest_s).epsilon(1e-12));
  CHECK(latency_s({.name = file}, 4) == Approx(3 * 0.5e-6 + rest_s).epsilon(1e-12));
  // If the cost model has no alpha, the default applies.
  model.alpha_s = {};
  CHECK(latency_s({.name = "ndv4"}, 1) == Approx(2 * 0.35e-6 + rest_s).epsilon(1e-12));
}

TEST_CASE("protocol costs of one message", "[sim][lowering]") {
  const auto f = fabric("ndv4");
  CostModel model;
  model.alpha_s[static_cast<std::size_t>(LinkKind::NvLink)] = 0.15e-6;
  model.link_efficiency[static_cast<std::size_t>(LinkKind::NvLink)] = 0.8;
  model.full_threads = 512;
  model.instruction_overhead_s = 0.05e-6;
  model.local_copy_rate_Bps = 20e9;
  model.local_reduce_rate_Bps = 10e9;
  model.kernel_launch_s = 6.6e-6;
  model.channel_overhead_s = 1e-6;
  model.interpreter_launch_s = 3e-6;
  model.interpreter_block_s = 0.25e-6;
  model.interpreter_step_s = 0.1e-6;
  model.protocols[static_cast<std::size_t>(Protocol::LL)] = {.step_latency_s = 0.3e-6,
                                                             .network_latency_s = 2e-6,
                                                             .efficiency = 0.5,
                                                             .thread_block_rate_Bps = 9.8e9,
                                                             .reduce_rate_Bps = 2.9e9};
  model.protocols[static_cast<std::size_t>(Protocol::LL128)].efficiency = 0.9375;
  const std::vector<LinkId> route = f->route(0, 1, 0);
  REQUIRE(route.size() == 2);
  Config config = config_of("ring", 1, Protocol::LL);
  const auto cost_of = [&](double bytes, bool reducing, Runtime runtime = Runtime::Nccl) {
    return transfer_cost(model, *f, route, config, {.runtime = runtime}, bytes, reducing);
  };
  CHECK(cost_of(1000, false).wire_bytes == 2000);  // 4 B of flag with every 4 B of data
  CHECK(cost_of(1000, false).latency_s == Approx(0.05e-6).epsilon(1e-12));
  CHECK(cost_of(1000, false, Runtime::Interpreter).latency_s == Approx(0.15e-6).epsilon(1e-12));
  CHECK(cost_of(1000, false).arrival_s == Approx(0.6e-6).epsilon(1e-12));
  CHECK(cost_of(1000, false).rate_cap_Bps == 9.8e9);
  CHECK(cost_of(1000, true).rate_cap_Bps == 2.9e9 / 0.5);
  config.threads = 128;
  CHECK(cost_of(1000, false).rate_cap_Bps == 9.8e9 / 4);
  model.half_rate_threads = 256;  // 128 / 384 instead of 512 / 768 of the rate
  CHECK(cost_of(1000, false).rate_cap_Bps == Approx(9.8e9 / 2).epsilon(1e-12));
  config.threads = 1024;
  CHECK(cost_of(1000, false).rate_cap_Bps == Approx(9.8e9).epsilon(1e-12));

  const auto local_s = [&](Opcode opcode, double bytes, Runtime runtime = Runtime::Nccl) {
    return local_cost_s(model, config, runtime, opcode, bytes);
  };
  CHECK(local_s(Opcode::Copy, 20e3) == Approx(0.05e-6 + 1e-6).epsilon(1e-12));
  CHECK(local_s(Opcode::Recv, 4.9e3) == Approx(0.05e-6 + 1e-6).epsilon(1e-12));
  CHECK(local_s(Opcode::RecvReduceCopy, 2.9e3) == Approx(0.05e-6 + 1e-6).epsilon(1e-12));
  CHECK(local_s(Opcode::Reduce, 10e3, Runtime::Interpreter) ==
        Approx(0.15e-6 + 1e-6).epsilon(1e-12));
  CHECK(local_s(Opcode::Send, 1e9) == 0);
  CHECK(local_s(Opcode::RecvReduceCopySend, 1e9) == 0);
  CHECK(local_s(Opcode::Nop, 1e9) == 0);
  CHECK(launch_cost_s(model, Runtime::Nccl, 8, 16) == Approx(14.6e-6).epsilon(1e-12));
  CHECK(launch_cost_s(model, Runtime::Interpreter, 8, 16) == Approx(13.6e-6).epsilon(1e-12));
  CHECK(link_capacities(*f, model)[static_cast<std::size_t>(route[0])] == Approx(240e9));

  config.protocol = Protocol::LL128;
  CHECK(cost_of(1200, false).wire_bytes == 1280);

  // Between nodes the protocol's network latency is added.
  config.protocol = Protocol::LL;
  const auto two = make_fabric({.name = "ndv4", .servers = 2});
  const auto network_s = [&] {
    return transfer_cost(model, *two, two->route(0, 8, 0), config, {.runtime = Runtime::Nccl}, 8,
                         false)
        .arrival_s;
  };
  const double with_s = network_s();
  model.protocols[static_cast<std::size_t>(Protocol::LL)].network_latency_s = 0;
  CHECK(with_s - network_s() == Approx(2e-6).epsilon(1e-9));

  // A single connection is also limited by the proxy's rate.
  model.protocols[static_cast<std::size_t>(Protocol::LL)].network_rate_Bps = 1e9;
  CHECK(
      transfer_cost(model, *two, two->route(0, 8, 0), config, {.runtime = Runtime::Nccl}, 8, false)
          .rate_cap_Bps == 1e9);
  CHECK(cost_of(1000, false).rate_cap_Bps > 1e9);

  const CostModel hockney = shipped_cost_model("hockney");
  CHECK(local_cost_s(hockney, config, Runtime::Interpreter, Opcode::Reduce, 1e9) == 0);
  const TransferCost plain =
      transfer_cost(hockney, *f, route, config, {.runtime = Runtime::Nccl}, 1000, true);
  CHECK(plain.arrival_s == 0);
  CHECK(plain.latency_s > 0);
}

TEST_CASE("blocks of fewer threads share an SM", "[sim][lowering]") {
  CostModel model;
  model.max_thread_blocks = 108;
  CHECK(model.resident_thread_blocks(512) == 108);
  CHECK(model.resident_thread_blocks(64) == 108);  // a block fills an SM
  model.resident_threads = 682;
  CHECK(model.resident_thread_blocks(640) == 108);
  CHECK(model.resident_thread_blocks(1024) == 108);
  CHECK(model.resident_thread_blocks(256) == 216);
  CHECK(model.resident_thread_blocks(128) == 540);
}
