#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/thrown.hpp"
#include "workloads/graph/job_graph.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

// Two ranks in one group; each computes and then makes one AllReduce.
JobGraph pair_of_ranks() {
  JobGraph job;
  job.name = "pair";
  job.ranks = 2;
  job.communicators = {{"dp"}};
  job.groups = {{0, {0, 1}}};
  job.groups_of = {{0}, {0}};
  job.program_of = {0, 1};
  const JobOp compute{
      .stream = job.stream_index("compute"), .name = job.name_index("forward"), .seconds = 1e-3};
  const JobOp call{.kind = JobOpKind::Collective,
                   .stream = job.stream_index("dp"),
                   .name = job.name_index("allreduce"),
                   .communicator = 0,
                   .bytes = 1024};
  for (int rank = 0; rank < 2; ++rank) {
    RankProgram program;
    const auto computed = program.add(compute);
    program.add(call, {computed});
    job.programs.push_back(program);
  }
  return job;
}

bool refused(const JobGraph& job, std::string_view message) {
  const std::string found = thrown([&] {
    check_job(job);
    return 0;
  });
  UNSCOPED_INFO(found);
  return contains(found, message);
}

}  // namespace

TEST_CASE("a job whose calls match is consistent, and equal programs become one",
          "[workloads][graph]") {
  JobGraph job = pair_of_ranks();
  check_job(job);
  job.programs[1].ops[0].origin = 7;  // read from another place
  merge_equal_programs(job);
  CHECK(job.programs.size() == 1);
  CHECK(job.program_of == std::vector<std::int32_t>{0, 0});
  check_job(job);
  JobGraph different = pair_of_ranks();
  different.programs[1].ops[0].seconds = 2e-3;
  merge_equal_programs(different);
  CHECK(different.programs.size() == 2);
}

TEST_CASE("wrong jobs are refused with the operation", "[workloads][graph]") {
  JobGraph job = pair_of_ranks();
  SECTION("negative duration") {
    job.programs[1].ops[0].seconds = -1;
    CHECK(refused(job, "rank 1, compute 'forward': its duration is -1 s"));
  }
  SECTION("cycle") {
    job.programs[0].ops[0].origin = 4;
    job.programs[0].deps.insert(job.programs[0].deps.begin(), 1);
    job.programs[0].dep_begin = {0, 1, 2};
    CHECK(refused(job, "operation 'forward' (line 4) waits for itself"));
  }
  SECTION("other size") {
    job.programs[1].ops[1].bytes = 2048;
    CHECK(refused(job, "is allreduce of 2048 B, but rank 0 makes allreduce of 1024 B"));
  }
  SECTION("missing call") {
    job.programs[1].ops.pop_back();
    job.programs[1].deps.clear();
    job.programs[1].dep_begin = {0, 0};
    CHECK(refused(job, "has no counterpart on rank 1, which makes 0"));
  }
  SECTION("rank without the call") {
    job.groups_of[1][0] = -1;
    CHECK(refused(job, "the rank has no such communicator"));
  }
  SECTION("rank out of range") {
    job.groups[0].ranks[1] = 5;
    CHECK(refused(job, "has rank 5, but the job has ranks 0 to 1"));
  }
  SECTION("dependency out of range") {
    job.programs[0].deps[0] = 9;
    CHECK(refused(job, "it waits for an operation that does not exist"));
  }
}

TEST_CASE("sends need receives of the same size", "[workloads][graph]") {
  JobGraph job = pair_of_ranks();
  JobOp send{
      .kind = JobOpKind::Send, .stream = 1, .name = 0, .communicator = 0, .bytes = 64, .peer = 1};
  JobOp recv{
      .kind = JobOpKind::Recv, .stream = 1, .name = 0, .communicator = 0, .bytes = 64, .peer = 0};
  job.programs[0].add(send);
  CHECK(refused(job, "rank 1 has no matching receive (tag 0)"));
  job.programs[1].add(recv);
  check_job(job);
  job.programs[1].ops.back().bytes = 32;
  CHECK(refused(job, "it receives 32 B, but rank 0 sends 64 B"));
  job.programs[1].ops.back().bytes = 64;
  job.programs[1].ops.back().tag = 3;
  CHECK(refused(job, "has no matching"));
  job.programs[0].ops.back().peer = 0;
  CHECK(refused(job, "its peer is the rank itself"));
}
