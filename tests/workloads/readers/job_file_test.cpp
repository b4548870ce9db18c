#include "workloads/readers/job_file.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

JobGraph job_of(const std::string& text, const JobLimits& limits = {}) {
  return read_job(parse_yaml(text, "job.yaml"), limits);
}

std::string refused_job(const std::string& text, const JobLimits& limits = {}) {
  const std::string message = thrown([&] { return job_of(text, limits); });
  UNSCOPED_INFO(message);
  return message;
}

// A job of two ranks with the operations.
std::string two(const std::string& ops) {
  return "ranks: 2\ncommunicators: {dp: {groups: [[0, 1]]}}\nprograms:\n- ranks: 0..1\n  ops:\n" +
         ops;
}

std::vector<std::int32_t> waits(const RankProgram& program, std::int32_t op) {
  return {program.deps.begin() + program.dep_begin[at(op)],
          program.deps.begin() + program.dep_begin[at(op) + 1]};
}

}  // namespace

TEST_CASE("a job file is read", "[workloads][readers][job]") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/job.yaml";
  write_file(path, R"(job: two-layers
ranks: 4
communicators:
  dp: {groups: [[0, 1], [2, 3]]}
  tp: {groups: [[0, 2], [3, 1]], tuner: ring/LL128/8}
programs:
  - ranks: [0, 3]
    ops:
      - {name: forward, compute: 1.2ms}
      - {name: matmul, flop: 3.2e12, memory: 1GiB, stream: side, after: grads}
      - {name: grads, all_reduce: 25MiB, on: dp, stream: comm, after: [forward]}
      - {broadcast: 1MiB, on: dp, root: 1, stream: comm}
      - {send: 8MiB, to: 1, on: tp, tag: 2}
  - ranks: 1..2
    ops:
      - {name: grads, allreduce: 25MiB, on: dp}
      - {broadcast: 1MiB, on: dp, root: 1}
      - {recv: 8MiB, from: 0, on: tp, tag: 2}
)");
  const JobGraph job = read_job_file(path);
  CHECK(job.name == "two-layers");
  CHECK(job.communicators == std::vector<Communicator>{{"dp"}, {"tp", "ring/LL128/8"}});
  CHECK(job.groups ==
        std::vector<ProcessGroup>{{0, {0, 1}}, {0, {2, 3}}, {1, {0, 2}}, {1, {3, 1}}});
  CHECK(job.groups_of == std::vector<std::vector<std::int32_t>>{{0, 2}, {0, 3}, {1, 2}, {1, 3}});
  CHECK(job.program_of == std::vector<std::int32_t>{0, 1, 1, 0});
  CHECK(job.streams == std::vector<std::string>{"compute", "side", "comm", "tp", "dp"});
  CHECK(job.names ==
        std::vector<std::string>{"forward", "matmul", "grads", "broadcast", "send", "recv"});
  const RankProgram& program = job.program(0);
  REQUIRE(program.size() == 5);
  CHECK(program.file == path);
  CHECK(program.ops[0] ==
        JobOp{.stream = 0, .name = 0, .origin_column = 9, .origin = 9, .seconds = 1.2e-3});
  CHECK(program.ops[1].flop == 3.2e12);
  CHECK(program.ops[1].memory_bytes == 1073741824.0);
  CHECK(waits(program, 1) == std::vector<std::int32_t>{2});
  CHECK(program.ops[2] == JobOp{.kind = JobOpKind::Collective,
                                .stream = 2,
                                .name = 2,
                                .origin_column = 9,
                                .origin = 11,
                                .communicator = 0,
                                .bytes = 25U << 20});
  CHECK(waits(program, 2) == std::vector<std::int32_t>{0});
  CHECK(program.ops[3].root == 1);
  CHECK(program.ops[4].kind == JobOpKind::Send);
  CHECK(program.ops[4].peer == 1);
  CHECK(program.ops[4].tag == 2);
  CHECK(job.program(1).ops[2].kind == JobOpKind::Recv);
}

TEST_CASE("blocks are repeated, and names mean the nearest repetition",
          "[workloads][readers][job]") {
  const JobGraph job = job_of(R"(ranks: 1
programs:
- ranks: 0
  ops:
  - {name: start, compute: 1us}
  - repeat: 2
    ops:
    - {name: x, compute: 1us, after: start}
    - repeat: 2
      ops:
      - {name: z, compute: 1us, stream: side, after: x}
    - {name: y, compute: 1us, after: z}
  - {name: end, compute: 1us, stream: side, after: [x, y]}
)");
  // start, x z z y, x z z y, end
  const RankProgram& program = job.program(0);
  REQUIRE(program.size() == 10);
  CHECK(waits(program, 1) == std::vector<std::int32_t>{0});
  CHECK(waits(program, 5) == std::vector<std::int32_t>{0});
  CHECK(waits(program, 2) == std::vector<std::int32_t>{1});
  CHECK(waits(program, 3) == std::vector<std::int32_t>{1});
  CHECK(waits(program, 4) == std::vector<std::int32_t>{3});
  CHECK(waits(program, 6) == std::vector<std::int32_t>{5});
  CHECK(waits(program, 8) == std::vector<std::int32_t>{7});
  CHECK(waits(program, 9) == std::vector<std::int32_t>{5, 8});
}

TEST_CASE("a name that only a former repetition has means the last one before",
          "[workloads][readers][job]") {
  const JobGraph job = job_of(R"(ranks: 1
programs:
- ranks: 0
  ops:
  - {name: step, compute: 1us}
  - repeat: 3
    ops:
    - {name: step, compute: 1us, stream: side, after: step}
  - {compute: 1us, stream: third, label: one, after: [two]}
  - {compute: 1us, stream: fourth, label: two}
  - {compute: 1us, stream: fourth, after: [one, compute]}
)");
  const RankProgram& program = job.program(0);
  REQUIRE(program.size() == 7);
  for (std::int32_t op = 1; op < 4; ++op) {
    CHECK(waits(program, op) == std::vector<std::int32_t>{op - 1});
  }
  CHECK(waits(program, 4) == std::vector<std::int32_t>{5});
  CHECK(waits(program, 6) == std::vector<std::int32_t>{4, 5});
}

TEST_CASE("wrong job files are refused with the place", "[workloads][readers][job]") {
  CHECK(contains(refused_job("[1]"), "job.yaml:1:1"));
  CHECK(
      contains(refused_job("ranks: 2\nprogram: 1"), "job.yaml:2:1: unknown key of job 'program'"));
  CHECK(contains(refused_job("job: x"),
                 "job.yaml:1:1: the job has no key ranks; expected ranks and "
                 "programs, or generate"));
  CHECK(contains(refused_job("ranks: 0\nprograms: []"), "ranks"));
  CHECK(contains(refused_job("ranks: 2\nprograms: [{ranks: 0, ops: []}]"),
                 "job.yaml:2:11: rank 1 has no program"));
  CHECK(contains(refused_job("ranks: 2\nprograms: [{ranks: 0..1, ops: []}, {ranks: 1, ops: []}]"),
                 "rank 1 has a second program"));
  CHECK(contains(refused_job("ranks: 2\nprograms: [{ranks: 0..2, ops: []}]"),
                 "job.yaml:2:20: found rank 2, but the job has ranks 0 to 1"));
  CHECK(contains(refused_job("ranks: 2\ncommunicators: {a: {groups: [[0, 0]]}}\nprograms: []"),
                 "job.yaml:2:34: rank 0 is twice in the groups of communicator 'a'"));
  CHECK(contains(refused_job("ranks: 2\ncommunicators: {a: {groups: [0, 1]}}\nprograms: []"),
                 "2:30: found '0'; expected a group: ranks in brackets, such as [0, 1]"));
  CHECK(contains(refused_job("ranks: 2\ncommunicators: {a: {tuner: x}}\nprograms: []"),
                 "communicator 'a' has no key groups"));
  CHECK(contains(refused_job(two("  - {allreduc: 1B}")),
                 "job.yaml:6:6: unknown key of operation 'allreduc'"));
  CHECK(
      contains(refused_job(two("  - {name: x}")), "job.yaml:6:5: found an operation with nothing"));
  CHECK(
      contains(refused_job(two("  - {compute: 1s, flop: 2}")), "with compute and flop; expected"));
  CHECK(contains(refused_job(two("  - {compute: 1s, root: 0}")),
                 "job.yaml:6:19: found 'root', which does not belong to a computation"));
  CHECK(contains(refused_job(two("  - {allreduce: 1B, root: 0}")), "does not belong to allreduce"));
  CHECK(contains(refused_job(two("  - {send: 1B, from: 0}")), "does not belong to a send"));
  CHECK(contains(refused_job(two("  - {send: 1B}")), "the send has no key to"));
  CHECK(contains(refused_job(two("  - {compute: -1s}")), "job.yaml:6:15"));
  CHECK(contains(refused_job(two("  - {allreduce: 1B, on: tp}")),
                 "job.yaml:6:25: unknown communicator 'tp'; expected one of dp"));
  CHECK(contains(refused_job("ranks: 1\nprograms:\n- {ranks: 0, ops: [{allreduce: 1B}]}"),
                 "job.yaml:3:20: the job has no communicators"));
  CHECK(contains(refused_job(two("  - {name: forward, compute: 1s}\n  - {compute: 1s, after: "
                                 "[forwrd]}")),
                 "job.yaml:7:27: the program has no operation 'forwrd'; did you mean 'forward'?"));
  CHECK(contains(refused_job(two("  - {name: x, compute: 1s, after: x}")),
                 "the program has no other operation 'x'"));
  CHECK(contains(refused_job(two("  - {label: x, compute: 1s}\n  - {label: x, compute: 1s}")),
                 "job.yaml:7:5: label 'x' is given twice; line 6 has it already"));
  CHECK(
      contains(refused_job(two("  - {name: x, compute: 1s, after: y}\n  - {name: y, compute: 1s}")),
               "job.yaml:6:5: operation 'x' (line 6) waits for itself"));
  CHECK(contains(refused_job(two("  - {repeat: 2}")), "the repeated block has no operations"));
  CHECK(contains(refused_job(two("  - {repeat: 0, ops: [{compute: 1s}]}")), "job.yaml:6:14"));
  CHECK(contains(refused_job(two("  - {send: 1B, to: 1}")), "job.yaml:6"));
  CHECK(contains(refused_job("ranks: 2\ncommunicators: {dp: {groups: [[0, 1]]}}\nprograms:\n"
                             "- {ranks: 0, ops: [{send: 1B, to: 1}]}\n- {ranks: 1, ops: []}"),
                 "job.yaml:4:20: rank 0, send 'send' (line 4): rank 1 has no matching receive"));
}

TEST_CASE("generated jobs exclude ranks and programs", "[workloads][readers][job]") {
  CHECK(contains(refused_job("generate: {}\nranks: 2"),
                 "job.yaml:2:1: found ranks beside generate; expected one of them"));
}

TEST_CASE("short files cannot make endless jobs", "[workloads][readers][job]") {
  const std::string block =
      two("  - {repeat: 100000, ops: [{repeat: 100000, ops: [{compute: 1s}]}]}");
  CHECK(contains(refused_job(block), "more than 10000000 operations, with repetitions"));
  CHECK(contains(refused_job(two("  - {repeat: 9, ops: [{compute: 1s}]}"), {.ops_of_all = 17}),
                 "job.yaml:4:3: all ranks together have more than 17 operations"));
  CHECK(refused_job(two("  - {repeat: 9, ops: [{compute: 1s}]}"), {.ops_of_all = 18}) ==
        "(nothing thrown)");
  CHECK(contains(refused_job(two("  - {compute: 1s}"), {.ranks = 1}),
                 "ranks is 2; expected at most 1"));
  CHECK(contains(refused_job(two("  - {compute: 1s}"), {.communicators = 0}), "more than 0 comm"));
  CHECK(contains(
      refused_job(two("  - {compute: 1s}\n  - {compute: 1s, after: compute}"), {.dependencies = 0}),
      "job.yaml:7:26: the program has more than 0 dependencies"));
}
