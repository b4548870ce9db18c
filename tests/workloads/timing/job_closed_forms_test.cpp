// Jobs whose step time is known in closed form, in every engine.
#include <cmath>

#include "sim/call/tiles.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "workloads/timing/job_fixtures.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

JobSettings settings_for(const std::string& engine, const std::string& tuner = "ring/Simple/1") {
  return {.engine = engine, .tuners = {.job = tuner}};
}

double time_alone_s(const std::shared_ptr<const Fabric>& fabric, const CostModel& model,
                    const Call& call, const Config& config) {
  Simulator simulator(fabric, model, "flow");
  return simulator.simulate(call, config).time_s;
}

Config ring_config(const CostModel& model, int channels) {
  return with_protocol_tiles(model, CollectiveKind::AllReduce,
                             {.algorithm = "ring", .channels = channels});
}

// Message about ranks that wait for each other.
std::string stall_of(const JobGraph& job, const std::shared_ptr<const Fabric>& fabric,
                     const JobSettings& settings) {
  try {
    (void)simulate_job(job, fabric, shipped_cost_model("hockney"), settings);
  } catch (const SimulationStalled& error) {
    return error.what();
  }
  return "(nothing thrown)";
}

}  // namespace

TEST_CASE("a job of one call takes the time of the call", "[workloads][timing]") {
  for (const std::string& engine : job_engines()) {
    for (const auto& [name, gpus, set] :
         {std::tuple{"ndv4", 8, "a100"}, std::tuple{"dgx1", 8, "v100"},
          std::tuple{"ring", 4, "hockney"}, std::tuple{"ndv4", 16, "a100"}}) {
      CAPTURE(engine, name, gpus);
      const auto fabric = fabric_of(name, gpus);
      const CostModel model = shipped_cost_model(set);
      for (const std::uint64_t bytes : {std::uint64_t{4096}, std::uint64_t{4} << 20}) {
        JobGraph job = empty_job(gpus);
        for (auto& program : job.programs) {
          program.add(call_on(CollectiveKind::AllReduce, bytes, 0));
        }
        const Call call{.collective = CollectiveKind::AllReduce, .bytes = bytes};
        const double alone_s = time_alone_s(fabric, model, call, ring_config(model, 2));
        for (const JobDetail detail : {JobDetail::Messages, JobDetail::Calls}) {
          if (detail == JobDetail::Calls && engine != "flow") continue;
          JobSettings settings = settings_for(engine, "ring/Simple/2");
          settings.detail = detail;
          const JobRecord record = simulate_job(job, fabric, model, settings);
          CAPTURE(bytes, to_string(detail), record.step_time_s, alone_s);
          CHECK(same_date(record.step_time_s, alone_s));
          CHECK(record.calls == 1);
        }
      }
    }
  }
}

TEST_CASE("a computation and a call that overlap take as long as the longer one",
          "[workloads][timing]") {
  const auto fabric = fabric_of("ring", 4);
  const CostModel model = shipped_cost_model("hockney");
  const Call call{.collective = CollectiveKind::AllReduce, .bytes = 1 << 24};
  const double call_s = time_alone_s(fabric, model, call, ring_config(model, 1));
  for (const std::string& engine : job_engines()) {
    for (const JobDetail detail : {JobDetail::Messages, JobDetail::Calls}) {
      if (detail == JobDetail::Calls && engine != "flow") continue;
      for (const double compute_s : {0.5 * call_s, 2 * call_s}) {
        JobGraph job = empty_job(4);
        job.streams = {"compute", "comm"};
        for (auto& program : job.programs) {
          const auto before = program.add(compute_for(1e-3));
          program.add(compute_for(compute_s), {before});
          program.add(call_on(CollectiveKind::AllReduce, call.bytes, 1), {before});
        }
        JobSettings settings = settings_for(engine);
        settings.detail = detail;
        const double step_s = simulate_job(job, fabric, model, settings).step_time_s;
        CAPTURE(engine, to_string(detail), step_s, compute_s, call_s);
        CHECK(same_date(step_s, 1e-3 + std::max(compute_s, call_s)));
      }
    }
  }
}

TEST_CASE("two messages of different communicators share a link fairly", "[workloads][timing]") {
  const auto fabric = fabric_of("ring", 4);
  const CostModel model = shipped_cost_model("hockney");
  const std::uint64_t bytes = 1 << 26;
  const double capacity_Bps = fabric->links()[at(fabric->route(0, 1, 0)[0])].capacity_Bps();
  const double moving_s = static_cast<double>(bytes) / capacity_Bps;
  const double latency_s =
      time_alone_s(fabric->with_ranks(std::vector<int>{0, 1}), model,
                   {.collective = CollectiveKind::AllToNext, .bytes = bytes},
                   with_protocol_tiles(model, CollectiveKind::AllToAll, {.algorithm = "naive"})) -
      moving_s;
  for (const std::string& engine : job_engines()) {
    JobGraph job = empty_job(4);
    const auto one = add_group(job, "one", {0, 1});
    const auto other = add_group(job, "other", {0, 1});
    job.streams = {"a", "b"};
    for (int rank = 0; rank < 2; ++rank) {
      const JobOpKind kind = rank == 0 ? JobOpKind::Send : JobOpKind::Recv;
      job.programs[at(rank)].add(message_on(kind, 1 - rank, bytes, 0, one));
      job.programs[at(rank)].add(message_on(kind, 1 - rank, bytes / 2, 1, other));
    }
    const JobRecord record =
        simulate_job(job, fabric, model, settings_for(engine, "naive/Simple/1"));
    // Both move at half the capacity until the small one is done, after `bytes` together; then the
    // large one has half of its bytes left, and all of the capacity.
    CAPTURE(engine, record.step_time_s, moving_s, latency_s);
    CHECK(same_date(record.step_time_s, latency_s + 1.5 * moving_s));
    CHECK(same_date(record.end_s[1], latency_s + moving_s));
  }
}

TEST_CASE("a pipeline has the bubble (p - 1) / (m + p - 1)", "[workloads][timing]") {
  const CostModel model = shipped_cost_model("hockney");
  for (const auto& [stages, batches] : {std::pair{2, 1}, std::pair{4, 8}, std::pair{8, 3}}) {
    const auto fabric = fabric_of("ring", stages < 3 ? 3 : stages);
    const std::uint64_t bytes = 1 << 20;
    const double message_s =
        time_alone_s(fabric->with_ranks(std::vector<int>{0, 1}), model,
                     {.collective = CollectiveKind::AllToNext, .bytes = bytes},
                     with_protocol_tiles(model, CollectiveKind::AllToAll, {.algorithm = "naive"}));
    const double compute_s = 3 * message_s;
    for (const std::string& engine : job_engines()) {
      JobGraph job = empty_job(stages);
      job.streams = {"compute", "send", "receive"};
      for (int stage = 0; stage < stages; ++stage) {
        RankProgram& program = job.programs[at(stage)];
        for (int batch = 0; batch < batches; ++batch) {
          std::vector<std::int32_t> needs;
          if (stage > 0) {
            needs.push_back(program.add(message_on(JobOpKind::Recv, stage - 1, bytes, 2)));
          }
          const auto computed = program.add(compute_for(compute_s), needs);
          if (stage + 1 < stages) {
            program.add(message_on(JobOpKind::Send, stage + 1, bytes, 1), {computed});
          }
        }
      }
      const JobRecord record =
          simulate_job(job, fabric, model, settings_for(engine, "naive/Simple/1"));
      const double expected_s = (batches + stages - 1) * compute_s + (stages - 1) * message_s;
      CAPTURE(engine, stages, batches, record.step_time_s, expected_s);
      CHECK(same_date(record.step_time_s, expected_s));
      const double busy_s = batches * compute_s;
      const double bubble = 1 - busy_s / (record.step_time_s - (stages - 1) * message_s);
      CHECK(bubble == Approx((stages - 1.0) / (batches + stages - 1)).epsilon(1e-9));
    }
  }
}

TEST_CASE("resident thread blocks take SMs from computation", "[workloads][timing]") {
  const auto fabric = fabric_of("ndv4", 8);
  const CostModel model = shipped_cost_model("a100");
  const Call call{.collective = CollectiveKind::AllReduce, .bytes = 1 << 26};
  const Config config = ring_config(model, 8);
  const double call_s = time_alone_s(fabric, model, call, config);
  for (const std::string& engine : job_engines()) {
    JobGraph job = empty_job(8);
    job.streams = {"compute", "comm"};
    const double compute_s = 3 * call_s;
    for (auto& program : job.programs) {
      program.add(compute_for(compute_s));
      program.add(call_on(CollectiveKind::AllReduce, call.bytes, 1));
    }
    const JobRecord record =
        simulate_job(job, fabric, model, settings_for(engine, "ring/Simple/8"));
    Simulator simulator(fabric, model, "flow");
    const LoweredProgram lowered = simulator.lowered(call, config);
    double launch_s = 0;
    for (TransferId node = 0; node < lowered.graph->size(); ++node) {
      if (lowered.origins[at(node)].role == NodeRole::Launch)
        launch_s = lowered.graph->latency_s(node);
    }
    const double taken = 8.0 / model.max_thread_blocks;
    const double expected_s = compute_s + (call_s - launch_s) * taken;
    CAPTURE(engine, record.step_time_s, expected_s, call_s, launch_s);
    CHECK(same_date(record.step_time_s, expected_s));
  }
}

TEST_CASE("computation is a roofline of arithmetic and memory", "[workloads][timing]") {
  const auto fabric = fabric_of("ndv4", 8);
  const CostModel model = shipped_cost_model("a100");
  JobGraph job = empty_job(1);
  job.programs[0].add({.flop = 312e12, .memory_bytes = 1555e9});
  for (const std::string& engine : job_engines()) {
    JobSettings settings = settings_for(engine);
    settings.efficiency = {.flops = 0.5, .memory = 0.25};
    CHECK(same_date(simulate_job(job, fabric, model, settings).step_time_s, 4.0));
    settings.efficiency = {.flops = 0.1, .memory = 0.25};
    CHECK(same_date(simulate_job(job, fabric, model, settings).step_time_s, 10.0));
  }
}

TEST_CASE("ranks that wait for each other are named", "[workloads][timing]") {
  const auto fabric = fabric_of("ring", 4);
  JobGraph job = empty_job(4);
  const auto one = add_group(job, "one", {0, 1});
  const auto other = add_group(job, "other", {0, 1});
  job.names = {"", "first", "second"};
  for (int rank = 0; rank < 2; ++rank) {
    JobOp first = call_on(CollectiveKind::AllReduce, 1024, 0, rank == 0 ? one : other);
    JobOp second = call_on(CollectiveKind::AllReduce, 1024, 0, rank == 0 ? other : one);
    first.name = 1;
    second.name = 2;
    job.programs[at(rank)].add(first);
    job.programs[at(rank)].add(second);
  }
  for (const JobDetail detail : {JobDetail::Messages, JobDetail::Calls}) {
    JobSettings settings = settings_for("flow");
    settings.detail = detail;
    CHECK(stall_of(job, fabric, settings) ==
          "the simulation of job 'test' cannot finish: ranks wait for each other, probably because "
          "they make their calls in different orders; let all ranks make them in the same order, "
          "or on different streams\n"
          "  rank 0, collective 'first' on communicator 'one', waits for rank 1\n"
          "  rank 1, collective 'first' on communicator 'other', waits for rank 0");
  }
}

TEST_CASE("ranks that wait for messages are named with their peers", "[workloads][timing]") {
  // Each rank receives from the next one before it sends to the previous one.
  constexpr int kRanks = 12;
  const auto fabric = fabric_of("ring", kRanks);
  JobGraph job = empty_job(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    RankProgram& program = job.programs[at(rank)];
    program.add(message_on(JobOpKind::Recv, (rank + 1) % kRanks, 1024, 0));
    program.add(message_on(JobOpKind::Send, (rank + kRanks - 1) % kRanks, 1024, 0));
  }
  for (const JobDetail detail : {JobDetail::Messages, JobDetail::Calls}) {
    JobSettings settings = settings_for("flow");
    settings.detail = detail;
    const std::string message = stall_of(job, fabric, settings);
    CHECK(contains(message, "probably because sends, receives and calls come in different orders"));
    CHECK(contains(message, "\n  rank 7, recv on communicator 'world', waits for rank 8\n"));
    CHECK(contains(message, "\n  … and 4 more ranks"));
  }
  // A collective that one rank does not reach: the others are named up to the fourth.
  JobGraph late = empty_job(7);
  const auto pair = add_group(late, "pair", {0, 1});
  for (int rank = 0; rank < 7; ++rank) {
    const JobOp all = call_on(CollectiveKind::AllReduce, 1024, 0);
    const JobOp two = call_on(CollectiveKind::AllReduce, 1024, 0, pair);
    RankProgram& program = late.programs[at(rank)];
    if (rank == 1) program.add(two);
    program.add(all);
    if (rank == 0) program.add(two);
  }
  CHECK(contains(stall_of(late, fabric, settings_for("flow")),
                 "rank 6, collective on communicator 'world', waits for rank 1"));
}
