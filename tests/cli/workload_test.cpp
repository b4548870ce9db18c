// Tests of cclgym workload as a process.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

namespace fs = std::filesystem;

const std::string kJob =
    "job: small\n"
    "ranks: 4\n"
    "communicators: {dp: {groups: [[0, 1, 2, 3]]}}\n"
    "programs:\n"
    "  - ranks: 0..3\n"
    "    ops:\n"
    "      - {name: backward, compute: 1ms}\n"
    "      - {name: gradients, allreduce: 4MiB, on: dp, after: [backward]}\n"
    "      - {name: rest, compute: 0.2ms}\n";

Ended workload(const TemporaryFolder& folder, std::vector<std::string> options) {
  options.insert(options.begin(), {"workload", "job.yaml", "--fabric", "ring", "--gpus", "4"});
  return run_program(options, folder.path());
}

TEST_CASE("workload prints the step, and writes what it shows", "[cli][workload]") {
  const TemporaryFolder folder;
  write_file(folder / "job.yaml", kJob);
  const Ended text = workload(
      folder, {"--cost-model", "hockney", "--tuner", "ring/Simple/1", "--compare",
               "ring/Simple/2,chain/Simple/1", "--report", "step.html", "--timeline", "step.json"});
  CAPTURE(text.err);
  REQUIRE(text.code == 0);
  CHECK(contains(text.out, "small"));
  CHECK(contains(text.out, "allreduce"));
  CHECK(contains(text.out, "chain/Simple/1"));
  CHECK(contains(read_file(folder / "step.html"), "small"));
  CHECK(nlohmann::json::parse(read_file(folder / "step.json")).contains("traceEvents"));
  const Ended json =
      workload(folder, {"--cost-model", "hockney", "--tuner", "ring/Simple/1", "--json"});
  REQUIRE(json.code == 0);
  const auto parsed = nlohmann::json::parse(json.out);
  CHECK(parsed.at("step_time_s").get<double>() > 1e-3);
}

TEST_CASE("workload finds faster configurations", "[cli][workload]") {
  const TemporaryFolder folder;
  write_file(folder / "job.yaml", kJob);
  const Ended ended = workload(folder, {"--cost-model", "v100", "--tuner", "ring/LL/1", "--tune",
                                        "--json", "--report", "tuned.html"});
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  const auto parsed = nlohmann::json::parse(ended.out);
  REQUIRE(parsed.at("tuned_calls").size() == 1);
  const auto& call = parsed.at("tuned_calls").at(0);
  CHECK(call.at("before").at("protocol") == "LL");
  CHECK(call.at("step_s").get<double>() < parsed.at("step_time_s").get<double>());
  // The page has the choices as text and for its table.
  const std::string page = read_file(folder / "tuned.html");
  CHECK(contains(page, "calls, longest first"));
  const std::string chosen = call.at("chosen").at("algorithm").get<std::string>() + " " +
                             call.at("chosen").at("protocol").get<std::string>();
  CHECK(contains(page, R"("ring LL 1 ch",")" + chosen));
}

TEST_CASE("workload refuses wrong requests", "[cli][workload]") {
  const TemporaryFolder folder;
  write_file(folder / "job.yaml", kJob);
  const auto refusal = [&](const std::vector<std::string>& options) {
    const Ended ended = workload(folder, options);
    CHECK(ended.code == 2);
    CHECK(ended.out.empty());
    return ended.err;
  };
  CHECK(contains(refusal({"--tuner", "dq=ring"}), "unknown communicator 'dq'"));
  CHECK(contains(refusal({"--tuner", "rign/LL"}), "ring"));
  CHECK(contains(refusal({"--tuner", "rign/LL,dp=ring"}), "'rign'"));
  CHECK(
      contains(refusal({"--timeline", "-"}), "--timeline: found '-'; expected the name of a file"));
  CHECK_FALSE(fs::exists(fs::path(folder.path()) / "-"));
  CHECK(contains(refusal({"--tuner", "ring/L/1"}), "LL"));
  CHECK(contains(refusal({"--tuner", "dp=ring,dp=tree"}), "communicator 'dp' has two tuners"));
  CHECK(contains(refusal({"--compare", "dp=ring"}), "is for one communicator"));
  CHECK(contains(refusal({"--detail", "all"}), "messages"));
  CHECK(contains(refusal({"--engine", "flo"}), "error: --engine: unknown engine 'flo'; expected"));
  CHECK(contains(refusal({"--detail", "calls", "--engine", "simgrid"}), "message by message only"));
  CHECK(contains(refusal({"--process-groups", "job.yaml"}), "is only for files of format chakra"));
  CHECK(contains(refusal({"--step", "3"}), "is only for files of format kineto"));
  CHECK(contains(refusal({"--report", "no/where.html"}), "the folder 'no' does not exist"));
  CHECK(contains(refusal({"--flops-efficiency", "2"}), "<= 1"));
  // Rates that are no normal numbers end no computation.
  CHECK(contains(refusal({"--flops-efficiency", "1e-320"}), "--flops-efficiency: "));
  CHECK(contains(refusal({"--memory-efficiency", "0"}), ">= 1e-06"));
  CHECK(contains(refusal({"--tuner", "nccl-defualt:2.18"}), "did you mean 'nccl-default'?"));
  const Ended few =
      run_program({"workload", "job.yaml", "--fabric", "ring", "--gpus", "3"}, folder.path());
  CHECK(few.code == 2);
  CHECK(contains(few.err, "job 'small' has 4 ranks, but fabric 'ring' has 3 GPUs"));
  write_file(folder / "job.txt", kJob);
  const Ended unknown = run_program({"workload", "job.txt", "--fabric", "dgx1"}, folder.path());
  CHECK(unknown.code == 2);
  CHECK(contains(unknown.err, "name it with --format"));
}

TEST_CASE("workload refuses tuners that no call needs", "[cli][workload]") {
  const TemporaryFolder folder;
  write_file(folder / "job.yaml",
             "ranks: 4\n"
             "communicators: {dp: {groups: [[0, 1, 2, 3]]}, tp: {groups: [[0, 1], [2, 3]]},\n"
             "                single: {groups: [[0], [1], [2], [3]]}}\n"
             "programs: [{ranks: 0..3, ops: [{allreduce: 1MiB, on: dp}, {allreduce: 1KiB, on: "
             "single}]}]\n");
  CHECK(workload(folder, {"--tuner", "tp=tree,single=ring/LL"}).code == 0);
  for (const char* name : {"tp=rign/LL", "single=rign/LL"}) {
    for (const char* detail : {"messages", "calls"}) {
      const Ended ended = workload(folder, {"--detail", detail, "--tuner", name});
      CHECK(ended.code == 2);
      CHECK(contains(ended.err, "'rign'"));
    }
  }
  CHECK(contains(workload(folder, {"--tuner", "tp=nccl-default:9"}).err, "error: tuner: "));
  write_file(folder / "job.yaml",
             "ranks: 2\n"
             "communicators:\n"
             "  dp: {groups: [[0, 1]], tuner: rign/LL}\n"
             "programs: [{ranks: 0..1, ops: [{allreduce: 1MiB, on: dp}]}]\n");
  const Ended in_file = workload(folder, {});
  CHECK(in_file.code == 2);
  CHECK(contains(in_file.err, "job.yaml:3:33: unknown algorithm 'rign'"));
  CHECK(workload(folder, {"--tuner", "dp=ring/LL"}).code == 0);
  write_file(folder / "job.yaml", "ranks: 1\nprograms: [{ranks: 0, ops: [{compute: 1ms}]}]\n");
  const Ended none = workload(folder, {"--tuner", "dp=ring"});
  CHECK(none.code == 2);
  CHECK(contains(none.err,
                 "found a tuner for communicator 'dp', but the job has no communicators; leave it "
                 "out"));
  CHECK(contains(workload(folder, {"--tuner", "rign/LL"}).err, "'rign'"));
}

TEST_CASE("workload lets another tuner choose for a collective that a tuner lacks",
          "[cli][workload]") {
  const TemporaryFolder folder;
  write_file(folder / "job.yaml",
             "ranks: 8\n"
             "communicators: {dp: {groups: [[0, 1, 2, 3, 4, 5, 6, 7]]}}\n"
             "programs: [{ranks: 0..7, ops: [{reduce: 1MiB}, {allreduce: 1MiB}]}]\n");
  const auto run = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"workload", "job.yaml", "--fabric", "dgx1"});
    return run_program(options, folder.path());
  };
  for (const char* detail : {"messages", "calls"}) {
    const Ended ended = run({"--detail", detail, "--tuner", "cray-mpich"});
    CHECK(ended.code == 0);
    CHECK(
        contains(ended.err, "cray-mpich has no configuration for reduce on 8 ranks; nccl-default"));
  }
  // The job's tuner chooses for collectives that a communicator's tuner lacks.
  const Ended named = run({"--tuner", "binomial-tree,dp=cray-mpich"});
  CAPTURE(named.err);
  CHECK(named.code == 0);
  CHECK(contains(named.out, "binomial-tree Simple 1 ch"));
  CHECK(contains(named.err, "binomial-tree chooses"));
}

TEST_CASE("workload lets the default tuner choose where a communicator cannot run a configuration",
          "[cli][workload]") {
  const TemporaryFolder folder;
  write_file(folder / "job.yaml", kJob);
  const Ended ended = workload(
      folder, {"--tuner", "ring/Simple/1", "--compare", "nvls/Simple/16,ring/Simple/2", "--json"});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const std::string note =
      "nvls/Simple/16 has no configuration for allreduce on 4 ranks (nvls needs switches that copy "
      "and add, and fabric ";
  CHECK(contains(ended.err, note));
  CHECK(ended.err.find(note) == ended.err.rfind(note));
  CHECK(contains(ended.err, "; ring/Simple/1 chooses"));
  CHECK(workload(folder, {"--compare", "nvls/Simpel/16"}).code == 2);
}

TEST_CASE("workload lists a tuner that is compared with itself once", "[cli][workload]") {
  const TemporaryFolder folder;
  write_file(folder / "job.yaml", kJob);
  const Ended ended = workload(
      folder, {"--tuner", "ring/Simple/1", "--compare", "ring/Simple/1,ring/Simple/2", "--json"});
  CHECK(ended.code == 0);
  CHECK(contains(ended.err, "'ring/Simple/1' is the choice of the first row already"));
  const auto rows = nlohmann::json::parse(ended.out).at("tuners");
  REQUIRE(rows.size() == 2);
  CHECK(rows.at(1).at("tuner") == "ring/Simple/2");
  const Ended twice = workload(folder, {"--compare", "ring,ring"});
  CHECK(twice.code == 2);
  CHECK(contains(twice.err, "--compare: names 'ring' twice"));
}

TEST_CASE("workload says where a call of a job file is wrong", "[cli][workload]") {
  const TemporaryFolder folder;
  write_file(folder / "job.yaml",
             "ranks: 2\n"
             "communicators: {dp: {groups: [[0, 1]]}}\n"
             "programs:\n"
             "  - {ranks: 0, ops: [{allreduce: 1MiB}]}\n"
             "  - {ranks: 1, ops: [{allreduce: 2MiB}]}\n");
  const Ended ended = workload(folder, {});
  CHECK(ended.code == 2);
  CHECK(contains(ended.err, "job.yaml:5:22: rank 1, collective 'allreduce' (line 5): call 1"));
}

TEST_CASE("workload names ranks that wait for each other", "[cli][workload]") {
  const TemporaryFolder folder;
  write_file(
      folder / "job.yaml",
      "ranks: 2\n"
      "communicators: {a: {groups: [[0, 1]]}, b: {groups: [[0, 1]]}}\n"
      "programs:\n"
      "  - ranks: 0\n"
      "    ops: [{allreduce: 1MiB, on: a, stream: s}, {allreduce: 1MiB, on: b, stream: s}]\n"
      "  - ranks: 1\n"
      "    ops: [{allreduce: 1MiB, on: b, stream: s}, {allreduce: 1MiB, on: a, stream: s}]\n");
  const Ended ended = workload(folder, {});
  CHECK(ended.code == 3);
  CHECK(contains(ended.err,
                 "rank 0, collective 'allreduce' (line 5) on communicator 'a', waits for rank 1"));
}

}  // namespace
}  // namespace cclgym::test
