// Compares tiles and FIFO slots with closed forms.
#include "sim/call/tiles.hpp"

#include <algorithm>
#include <cmath>

#include "collectives/verifier/deadlock.hpp"
#include "core/error.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/lowering/tile_programs.hpp"
#include "sim/prices/transfer_cost.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"
#include "support/shipped_algorithms.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

constexpr double kAlpha = 1e-6;

Config tiled(std::uint64_t tile_bytes, int slots) {
  Config config;
  config.tile_bytes = tile_bytes;
  config.slots = slots;
  return config;
}

double time_of(const std::shared_ptr<const ThreadBlockProgram>& program,
               const std::shared_ptr<const Fabric>& fabric, const std::string& engine,
               std::uint64_t bytes, const Config& config) {
  Simulator simulator(fabric, shipped_cost_model("hockney"), engine);
  return simulator.record_program(program, call_of(CollectiveKind::Broadcast, bytes), config)
      .result.time_s;
}

// Rank 0 sends over the first link, and rank 1 forwards over the second: in one fused step, in two
// steps of a thread block, or in two thread blocks.
enum class Relay { Fused, OneBlock, TwoBlocks };
std::shared_ptr<const ThreadBlockProgram> two_phases(Relay relay) {
  ProgramByHand program(3, 1);
  program.add_block(0, -1, 1, {step(Opcode::Send)});
  if (relay == Relay::Fused) {
    program.add_block(1, 0, 2, {step(Opcode::RecvCopySend)});
  } else if (relay == Relay::OneBlock) {
    program.add_block(1, 0, 2, {step(Opcode::Recv), step(Opcode::Send)});
  } else {
    const int receiver = program.add_block(1, 0, -1, {step(Opcode::Recv)});
    program.add_block(1, -1, 2, {step(Opcode::Send, {{receiver, 0}})});
  }
  program.add_block(2, 1, -1, {step(Opcode::Recv)});
  return program.get();
}

std::string stall_of(const std::shared_ptr<const ThreadBlockProgram>& program,
                     const std::string& engine, const Config& config) {
  try {
    (void)time_of(program, fabric("ring", 2), engine, 8 << 20, config);
  } catch (const SimulationStalled& stalled) {
    return stalled.what();
  }
  return {};
}

}  // namespace

TEST_CASE("intra- and inter-server phases overlap across tiles", "[sim][tiles]") {
  // MSCCLang's Fig 6: T tiles through two links take a + c + (T - 1) max(a, c), not T (a + c).
  constexpr std::uint64_t kBytes = 1 << 20;
  for (const auto& [first_Bps, second_Bps] :
       {std::pair{100e9, 25e9}, std::pair{25e9, 100e9}, std::pair{25e9, 25e9}}) {
    const auto row = row_fabric({first_Bps, second_Bps}, kAlpha);
    for (const std::string& engine : engine_names()) {
      for (const int tiles : {1, 2, 3, 16, 50}) {
        const double tile_bytes = static_cast<double>(kBytes) / tiles;
        const double a_s = kAlpha + tile_bytes / first_Bps;
        const double c_s = kAlpha + tile_bytes / second_Bps;
        const double overlapped_s = a_s + c_s + (tiles - 1) * std::max(a_s, c_s);
        const auto tile = static_cast<std::uint64_t>(std::ceil(tile_bytes));
        for (const int slots : {0, 1, 2, 8}) {
          for (const Relay relay : {Relay::Fused, Relay::OneBlock, Relay::TwoBlocks}) {
            CAPTURE(engine, first_Bps, second_Bps, tiles, slots, static_cast<int>(relay));
            const double time_s =
                time_of(two_phases(relay), row, engine, kBytes, tiled(tile, slots));
            // A fused step frees its slot only when the tile has moved on, so with one slot nothing
            // overlaps.
            const bool serial = relay == Relay::Fused && slots == 1;
            CHECK(time_s == Approx(serial ? tiles * (a_s + c_s) : overlapped_s).epsilon(1e-9));
          }
        }
      }
    }
  }
}

TEST_CASE("a sender runs ahead of a slow receiver by its slots", "[sim][tiles]") {
  // Rank 1 receives over link 0, then works (receives from rank 2 over the slow link) before it
  // receives again. Message k of rank 0 starts when message k - s has been received.
  constexpr int kMessages = 6;
  constexpr double kFast = 1e9;
  constexpr double kSlow = 1e8;
  const auto row = row_fabric({kFast, kSlow}, 0);
  ProgramByHand program(3, kMessages);
  const int slow =
      program.add_block(1, 2, -1, std::vector<Instruction>(kMessages, step(Opcode::Recv)));
  std::vector<Instruction> receives;
  for (int k = 0; k < kMessages; ++k) receives.push_back(step(Opcode::Recv, {{slow, k}}));
  program.add_block(1, 0, -1, receives);
  program.add_block(2, -1, 1, std::vector<Instruction>(kMessages, step(Opcode::Send)));
  program.add_block(0, -1, 1, std::vector<Instruction>(kMessages, step(Opcode::Send)));
  constexpr double kChunk = 1000;
  for (const std::string& engine : engine_names()) {
    for (int slots = 0; slots <= kMostSlots; ++slots) {
      Simulator simulator(row, shipped_cost_model("hockney"), engine);
      const SimulationRecord record = simulator.record_program(
          program.get(), call_of(CollectiveKind::Broadcast, kMessages * 1000), tiled(0, slots));
      int seen = 0;
      for (TransferId id = 0; id < record.lowered.graph->size(); ++id) {
        const NodeOrigin& origin = record.lowered.origins[static_cast<std::size_t>(id)];
        if (origin.rank != 0 || origin.peer_rank != 1) continue;
        ++seen;
        const int k = origin.step;
        // Receive k ends with slow message k, after (k + 1) slow times.
        const double freed_s =
            slots > 0 && k >= slots ? (k - slots + 1) * (kChunk / kSlow) : k * (kChunk / kFast);
        const double expected_s = std::max(freed_s, k * (kChunk / kFast));
        CAPTURE(engine, slots, k);
        CHECK(record.start_s[static_cast<std::size_t>(id)] ==
              Approx(expected_s).epsilon(1e-9).margin(1e-15));
      }
      CHECK(seen == kMessages);
    }
  }
}

TEST_CASE("a deadlock through finite slots is found and named", "[sim][tiles]") {
  // Both ranks send three messages before they receive any.
  ProgramByHand program(2, 4);
  for (int rank = 0; rank < 2; ++rank) {
    program.add_block(rank, 1 - rank, 1 - rank,
                      {step(Opcode::Send), step(Opcode::Send), step(Opcode::Send),
                       step(Opcode::Recv), step(Opcode::Recv), step(Opcode::Recv)});
  }
  for (const std::string& engine : engine_names()) {
    for (const std::uint64_t tile_bytes : {std::uint64_t{0}, std::uint64_t{1} << 18}) {
      CAPTURE(engine, tile_bytes);
      for (const int slots : {1, 2}) {
        const std::string what = stall_of(program.get(), engine, tiled(tile_bytes, slots));
        CAPTURE(what);
        CHECK(what.find("wait forever") != std::string::npos);
        for (int rank = 0; rank < 2; ++rank) {
          const std::string waiting = "rank " + std::to_string(rank) + ", thread block 0, step " +
                                      std::to_string(slots) + ": send to rank " +
                                      std::to_string(1 - rank);
          CHECK(what.find(waiting) != std::string::npos);
        }
      }
      for (const int slots : {0, 3, 8}) {
        CHECK(stall_of(program.get(), engine, tiled(tile_bytes, slots)).empty());
      }
    }
  }
}

TEST_CASE("programs stop in the simulator if and only if their steps do", "[sim][tiles]") {
  // find_deadlock executes steps without time or tiles, so this compares two implementations of one
  // rule.
  const auto f = fabric("fully_connected", 8);
  Simulator simulator(f, shipped_cost_model("hockney"), "flow");
  std::vector<std::shared_ptr<const ThreadBlockProgram>> programs;
  for (const Combination& combination : combinations(8)) {
    for (const bool fuse : {false, true}) {
      AlgorithmRequest request;
      request.collective = combination.collective;
      request.ranks = 8;
      request.channels = 2;
      request.compile.fuse = fuse;
      programs.push_back(build_algorithm(combination.algorithm, request));
    }
  }
  // Ranks send `a` messages, receive `b`, then send and receive the rest of five messages.
  for (int a = 0; a <= 5; ++a) {
    for (int b = 0; b <= a; ++b) {
      ProgramByHand program(8, 8);
      std::vector<Instruction> steps(static_cast<std::size_t>(a), step(Opcode::Send));
      steps.insert(steps.end(), static_cast<std::size_t>(b), step(Opcode::Recv));
      steps.insert(steps.end(), static_cast<std::size_t>(5 - a), step(Opcode::Send));
      steps.insert(steps.end(), static_cast<std::size_t>(5 - b), step(Opcode::Recv));
      for (int rank = 0; rank < 8; ++rank) {
        program.add_block(rank, (rank + 7) % 8, (rank + 1) % 8, steps);
      }
      programs.push_back(program.get());
    }
  }
  int stops = 0;
  for (const auto& program : programs) {
    for (const int slots : {1, 2, 3, 8}) {
      const bool expected = find_deadlock(*program, slots).has_value();
      for (const std::uint64_t tile_bytes : {0U, 1000U}) {
        const auto chunks = static_cast<std::uint64_t>(program->contract.chunks_per_call());
        bool stopped = false;
        try {
          (void)simulator.record_program(program, call_of(program->contract.kind(), chunks * 3000),
                                         tiled(tile_bytes, slots));
        } catch (const SimulationStalled&) {
          stopped = true;
        }
        CAPTURE(program->name, slots, tile_bytes);
        CHECK(stopped == expected);
        stops += stopped ? 1 : 0;
      }
    }
  }
  CHECK(stops >= 20);
}

TEST_CASE("tiles are equal and lose no byte; a launch is paid once", "[sim][tiles]") {
  const auto f = fabric("ndv4");
  const CostModel model = shipped_cost_model("a100");
  AlgorithmRequest request;
  request.collective = CollectiveKind::AllReduce;
  request.ranks = 8;
  const auto program = build_algorithm("ring", request);
  const Call call = call_of(CollectiveKind::AllReduce, 10'000'000);
  const auto whole = lower(program, *f, model, call, config_of("ring"));
  CHECK(whole.tiles == 1);
  CHECK_FALSE(whole.graph->folded());
  Config config = config_of("ring");
  config.tile_bytes = 100'000;
  const auto cut = lower(program, *f, model, call, config);
  CHECK(cut.tiles == 13);  // a chunk is an eighth of the call
  double whole_bytes = 0;
  for (TransferId id = 0; id < whole.graph->size(); ++id) whole_bytes += whole.graph->bytes(id);
  double cut_bytes = 0;
  for (TransferId id = 0; id < cut.graph->size(); ++id) {
    cut_bytes += cut.graph->bytes(id) * cut.graph->repeat(id);
    if (cut.origins[static_cast<std::size_t>(id)].thread_block < 0) {
      CHECK(cut.graph->repeat(id) == 1);
      CHECK(cut.graph->latency_s(id) > 7e-6);
    }
  }
  CHECK(cut_bytes == Approx(whole_bytes).epsilon(1e-12));
  CHECK(cut.steps == whole.steps);

  // A tile at least as large as a chunk has no effect.
  config.tile_bytes = 2'000'000;
  const auto same = lower(program, *f, model, call, config);
  CHECK(same.tiles == 1);
  CHECK(same.graph->size() == whole.graph->size());
  CHECK_FALSE(same.graph->folded());
}

TEST_CASE("eight slots hardly slow down the shipped programs", "[sim][tiles]") {
  const auto f = fabric("dgx1");
  Simulator simulator(f, shipped_cost_model("v100"), "flow");
  for (const Combination& combination : combinations(8)) {
    const Call call = call_of(combination.collective, 1 << 20);
    Config config = config_of(combination.algorithm, 2);
    const double unbounded_s = simulator.simulate(call, config).time_s;
    config.slots = 8;
    const double eight_s = simulator.simulate(call, config).time_s;
    CAPTURE(combination.algorithm, to_string(combination.collective));
    CHECK(eight_s == Approx(unbounded_s).epsilon(0.25));
  }
}

TEST_CASE("slots and tiles out of range are refused", "[sim][tiles]") {
  Simulator simulator(fabric("ring", 4), shipped_cost_model("hockney"), "flow");
  const auto message = [&simulator](const Config& config) -> std::string {
    try {
      (void)simulator.simulate(call_of(CollectiveKind::AllReduce, std::uint64_t{1} << 40), config);
    } catch (const UserError& error) {
      return error.what();
    }
    return "accepted";
  };
  CHECK(message(tiled(0, 9)) == "slots must be 0 (unbounded) to 8, found 9");
  CHECK(message(tiled(0, -1)) == "slots must be 0 (unbounded) to 8, found -1");
  CHECK(message(tiled(1, 0)).find("more than 10^9") != std::string::npos);
}

TEST_CASE("a program's tiles are NCCL's chunks, or come from the cost model", "[sim][tiles]") {
  const CostModel model = shipped_cost_model("a100");
  struct Expected {
    std::string program;
    Protocol protocol = Protocol::Simple;
    CollectiveKind collective = CollectiveKind::AllReduce;
    std::uint64_t tile_bytes = 0;
    int slots = 0;
  };
  const std::vector<Expected> expected{
      {"ring", Protocol::LL, CollectiveKind::AllReduce, 32 << 10, 8},
      {"ring", Protocol::Simple, CollectiveKind::AllReduce, 2 << 20, 2},
      {"ring", Protocol::Simple, CollectiveKind::Broadcast, 512 << 10, 8},
      {"tree", Protocol::Simple, CollectiveKind::AllReduce, 512 << 10, 8},
      {"tree", Protocol::LL128, CollectiveKind::AllReduce, 72000, 8},
      {"nvls", Protocol::Simple, CollectiveKind::AllReduce, 64 << 10, 8},
      {"naive", Protocol::Simple, CollectiveKind::AllToAll, 1 << 20, 4}};
  for (const Expected& one : expected) {
    CAPTURE(one.program, to_string(one.protocol), to_string(one.collective));
    const Config config =
        with_protocol_tiles(model, one.collective, config_of(one.program, 1, one.protocol));
    CHECK(config.tile_bytes == one.tile_bytes);
    CHECK(config.slots == one.slots);
    const Config none = with_protocol_tiles(shipped_cost_model("hockney"), one.collective, config);
    CHECK(none.tile_bytes == 0);
    CHECK(none.slots == 0);
  }
}
