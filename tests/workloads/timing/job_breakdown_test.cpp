#include "workloads/timing/job_breakdown.hpp"

#include "support/catch.hpp"
#include "workloads/timing/job_fixtures.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

constexpr std::uint64_t kBytes = std::uint64_t{1} << 24;

}  // namespace

TEST_CASE("the parts of a rank's time add up to the step", "[workloads][breakdown]") {
  const auto fabric = fabric_of("ring", 4);
  JobGraph job = empty_job(4);
  job.streams = {"compute", "comm"};
  for (int rank = 0; rank < 4; ++rank) {
    RankProgram& program = job.programs[at(rank)];
    // Rank 3 is late by 2 ms.
    const auto first = program.add(compute_for(rank == 3 ? 3e-3 : 1e-3));
    const auto call = program.add(call_on(CollectiveKind::AllReduce, kBytes, 1), {first});
    program.add(compute_for(0.5e-3), {first});
    program.add(compute_for(1e-3), {call});
  }
  const JobRecord record =
      simulate_job(job, fabric, shipped_cost_model("hockney"),
                   {.detail = JobDetail::Calls, .tuners = {.job = "ring/Simple/1"}});
  const JobBreakdown found = break_down(job, record);
  for (const RankTime& time : found.actors) {
    CHECK(same_date(time.compute_s + time.overlap_s + time.exposed_s + time.idle_s,
                    record.step_time_s));
    CHECK(time.idle_s == Approx(0).margin(1e-12));
    CHECK(same_date(time.overlap_s, 0.5e-3));
  }
  // The call runs from 3 ms on; rank 0 has waited for it since 1 ms, half a millisecond of which it
  // computed.
  const double call_s = record.step_time_s - 4e-3;
  CHECK(same_date(found.actors[0].compute_s, 2e-3));
  CHECK(same_date(found.actors[0].exposed_s, call_s + 2e-3 - 0.5e-3));
  CHECK(same_date(found.actors[3].exposed_s, call_s - 0.5e-3));
  REQUIRE(found.calls.size() == 1);
  CHECK(found.calls[0].calls == 1);
  CHECK(found.calls[0].ranks == 4);
  CHECK(same_date(found.calls[0].time_s, call_s));
  CHECK(same_date(found.calls[0].wait_s, 1.5e-3));
  CHECK(same_date(found.calls[0].total_s, call_s + 2e-3));
  // The path: the late rank's computation, the call, any rank's last computation.
  REQUIRE(found.path.size() == 3);
  CHECK(found.path[0].actor == 3);
  CHECK(same_date(found.path_compute_s, 4e-3));
  CHECK(same_date(found.path_communicator_s[0], call_s));
  for (std::size_t i = 1; i < found.path.size(); ++i) {
    CHECK(same_date(found.path[i].start_s, found.path[i - 1].end_s));
  }
  CHECK(same_date(found.path.back().end_s, record.step_time_s));
}

TEST_CASE("durations of a trace stand beside the simulated ones", "[workloads][breakdown]") {
  const auto fabric = fabric_of("ring", 2);
  JobGraph job = empty_job(2);
  for (int rank = 0; rank < 2; ++rank) {
    JobOp call = call_on(CollectiveKind::AllReduce, kBytes, 0);
    call.seconds = rank == 0 ? 5e-3 : 2e-3;  // rank 0 waited for 3 ms
    job.programs[at(rank)].add(call);
    call.seconds = rank == 0 ? 4e-3 : 7e-3;
    job.programs[at(rank)].add(call);
    call.bytes *= 2;
    call.seconds = 0;
    job.programs[at(rank)].add(call);
    JobOp unread = compute_for(3e-3);
    unread.communicates = true;
    job.programs[at(rank)].add(unread);
  }
  const JobRecord record = simulate_job(job, fabric, shipped_cost_model("hockney"),
                                        {.tuners = {.job = "ring/Simple/1"}});
  const JobBreakdown found = break_down(job, record);
  REQUIRE(found.calls.size() == 2);
  for (const CallSummary& call : found.calls) {
    CHECK(call.measured_s == Approx(call.bytes == kBytes ? 3e-3 : 0));
  }
  // Time that the trace does not describe is communication, too, of its own on the critical path.
  CHECK(same_date(found.mean.exposed_s, record.step_time_s));
  CHECK(found.mean.compute_s == 0);
  CHECK(same_date(found.path_measured_s, 3e-3));
  CHECK(found.path_compute_s == 0);
}

TEST_CASE("the share of messages that overlap is at most the step", "[workloads][breakdown]") {
  const auto fabric = fabric_of("ring", 2);
  JobGraph job = empty_job(2);
  job.streams = {"send", "receive"};
  for (int rank = 0; rank < 2; ++rank) {
    job.programs[at(rank)].add(message_on(JobOpKind::Send, 1 - rank, kBytes, 0));
    job.programs[at(rank)].add(message_on(JobOpKind::Recv, 1 - rank, kBytes, 1));
  }
  const JobRecord record =
      simulate_job(job, fabric, shipped_cost_model("hockney"), {.detail = JobDetail::Calls});
  const JobBreakdown found = break_down(job, record);
  REQUIRE(found.calls.size() == 1);
  CHECK(found.calls[0].calls == 2);
  // Both directions run from the beginning to the end of the step.
  CHECK(same_date(found.calls[0].total_s, record.step_time_s));
  CHECK(same_date(found.calls[0].time_s, record.step_time_s));
}

TEST_CASE("a receiver has reached its message before the message arrives",
          "[workloads][breakdown]") {
  const auto fabric = fabric_of("ring", 2);
  JobGraph job = empty_job(2);
  job.programs[0].add(compute_for(1e-3));
  job.programs[0].add(message_on(JobOpKind::Send, 1, kBytes, 0));
  job.programs[1].add(message_on(JobOpKind::Recv, 0, kBytes, 0));
  for (const JobDetail detail : {JobDetail::Messages, JobDetail::Calls}) {
    const JobRecord record =
        simulate_job(job, fabric, shipped_cost_model("hockney"), {.detail = detail});
    const JobBreakdown found = break_down(job, record);
    REQUIRE(found.calls.size() == 1);
    CHECK(same_date(found.calls[0].time_s, record.step_time_s - 1e-3));
    CHECK(same_date(found.calls[0].wait_s, 0.5e-3));
    CHECK(same_date(found.actors[1].exposed_s, record.step_time_s));
    CHECK(same_date(found.actors[1].idle_s, 0));
  }
}

TEST_CASE("waiting for the host is a part of computation", "[workloads][breakdown]") {
  const auto fabric = fabric_of("ring", 2);
  JobGraph job = empty_job(2);
  job.streams = {"compute", "comm", "side"};
  job.names.emplace_back(kHostIdleName);
  for (RankProgram& program : job.programs) {
    const auto first = program.add(compute_for(1e-3));
    const auto call = program.add(call_on(CollectiveKind::AllReduce, kBytes, 1), {first});
    JobOp idle = compute_for(3e-3);
    idle.name = 1;
    program.add(idle, {first});
    // 1 ms of work hides a part of the host's.
    program.add(compute_for(1e-3, 2), {first});
    program.add(compute_for(1e-3), {call});
  }
  const JobRecord record = simulate_job(job, fabric, shipped_cost_model("hockney"),
                                        {.tuners = {.job = "ring/Simple/1"}});
  REQUIRE(same_date(record.step_time_s, 5e-3));  // the call is hidden
  const JobBreakdown found = break_down(job, record);
  for (const RankTime& time : found.actors) {
    CHECK(same_date(time.host_idle_s, 2e-3));
    CHECK(same_date(time.compute_s + time.overlap_s, 5e-3));
  }
  CHECK(same_date(found.mean.host_idle_s, 2e-3));
  CHECK(same_date(found.path_compute_s, 5e-3));
  CHECK(same_date(found.path_host_idle_s, 3e-3));
}

TEST_CASE("bytes on links over time add up to all bytes", "[workloads][breakdown]") {
  const auto fabric = fabric_of("ring", 4);
  JobGraph job = empty_job(4);
  for (RankProgram& program : job.programs) {
    program.add(compute_for(1e-3));
    program.add(call_on(CollectiveKind::AllGather, kBytes, 0));
  }
  const JobRecord record = simulate_job(job, fabric, shipped_cost_model("hockney"),
                                        {.tuners = {.job = "ring/Simple/1"}, .intervals = 50});
  const LinkSeries& series = record.series;
  double total = 0;
  for (std::size_t link = 0; link < fabric->links().size(); ++link) {
    total += series.bytes[link];
    double integral = 0;
    for (const double use : series.use[link]) {
      CHECK(use <= 1 + 1e-6);
      integral += use * series.interval_s * series.capacity_Bps[link];
    }
    CHECK(integral == Approx(series.bytes[link]).epsilon(1e-6));
  }
  // Each rank's part crosses three links.
  CHECK(total == Approx(3.0 * kBytes));
}
