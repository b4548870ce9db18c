// Tests of cclgym validate: --show, which prints tables of earlier rows without measuring, and
// backend nccl with an acting worker.
#include <algorithm>
#include <filesystem>

#include "cli/deployment/deploy_policy.hpp"
#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/needs.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

const std::string kShipped = source_path("calibration/results/netlab/validation");

TEST_CASE("validate --show prints earlier rows, and writes pages if asked to", "[cli][validate]") {
  const TemporaryFolder folder;
  const Ended shown = run_program({"validate", "--show", kShipped}, folder.path());
  INFO(shown.err);
  CHECK(shown.code == 0);
  CHECK(contains(shown.out, "idle-1               chosen           102     0.824"));
  CHECK(contains(shown.out, "sweep's best     102     0.809"));
  CHECK(contains(shown.out, "idle-1: worst call reduce of 32KiB, 1.57 times the default"));

  const std::vector<std::string> write{"validate", "--show", kShipped, "--out", "o"};
  CHECK(run_program(write, folder.path()).code == 0);
  CHECK(read_file(folder / "o/validation.csv") == read_file(kShipped + "/validation.csv"));
  CHECK(run_program(write, folder.path()).code == 0);
  write_file(folder / "o/validation.csv", "mine\n");
  const Ended foreign = run_program(write, folder.path());
  CHECK(foreign.code == 2);
  CHECK(contains(foreign.err, "validation.csv': not written by cclgym validate"));
  CHECK(read_file(folder / "o/validation.csv") == "mine\n");
}

TEST_CASE("validate --show refuses options for measuring, and folders without rows",
          "[cli][validate]") {
  const TemporaryFolder folder;
  const auto refused = [&](std::vector<std::string> more, const std::string& part) {
    std::vector<std::string> args{"validate"};
    args.insert(args.end(), more.begin(), more.end());
    const Ended ended = run_program(args, folder.path());
    INFO(ended.err);
    CHECK(ended.code == 2);
    CHECK(contains(ended.err, part));
  };
  refused({"run", "--show", kShipped}, "--show: measures nothing, but RUN is for measuring");
  refused({"--show", kShipped, "--rounds", "3"},
          "--show: measures nothing, but rounds is for measuring");
  refused({"--show", kShipped, "--fresh"}, "--show: measures nothing, but fresh is for measuring");
  refused({"--show", "nowhere"}, "--show: 'nowhere' is not a folder");
  refused({"--show", "."}, "--show: '.' has no file LABEL.rows.csv");
  refused({"--show", ""}, "--show: is empty");
  refused({}, "missing RUN");
}

const std::string kNcclWorker = build_path("cclgym-nccl-worker");

std::vector<std::string> on_nccl(const std::string& policy, const std::vector<std::string>& more) {
  std::vector<std::string> args{"validate",
                                policy,
                                "--backend",
                                "nccl",
                                "--launch",
                                build_path("tests/calibration/acting_worker") + " nccl",
                                "--rounds",
                                "2",
                                "--repeats",
                                "3",
                                "--sizes",
                                "1KiB,64KiB",
                                "--quiet",
                                "--out",
                                "o",
                                "--collectives",
                                "allreduce,allgather"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

TEST_CASE("validate --backend nccl compares a policy with NCCL's choice and the best of a sweep",
          "[cli][validate]") {
  SKIP_UNLESS(std::filesystem::exists(kNcclWorker), kNeedsCuda);
  const TemporaryFolder folder;
  write_file(folder / "p.csv", "allreduce,0,1000000,ring,ll,2,-1,-1\n");
  const Ended ended = run_program(on_nccl("p.csv", {"--channels", "2"}), folder.path());
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  // The policy takes 0.8 of the default's time for AllReduce, and leaves AllGather to NCCL.
  CHECK(contains(ended.out, "nccl                 chosen             4     0.894"));
  CHECK(contains(ended.out, "ran the policy's choice: as chosen 2, left to NCCL 2\n"));
  CHECK(contains(ended.out, "policy (tree/LL/2)"));
  CHECK(read_file(folder / "o/nccl.csv") == read_file(folder / "p.csv"));
  const std::string rows = read_file(folder / "o/nccl.rows.csv");
  // The worker gets the copy of the policy, and room for its communicators.
  CHECK(contains(rows, "--communicators=24 --policy=" + folder.path() + "/o/nccl.csv"));
  // AllReduce: default, policy and two algorithms with three protocols; AllGather: default and
  // Ring.
  CHECK(std::ranges::count(rows, '\n') == 1 + 2 * 2 * (2 + 6 + 1 + 3));

  // The same command measures nothing again, and another policy is not mixed with these rows.
  CHECK(run_program(on_nccl("p.csv", {"--channels", "2"}), folder.path()).code == 0);
  CHECK(read_file(folder / "o/nccl.rows.csv") == rows);
  write_file(folder / "q.csv", "allreduce,0,1000000,tree,ll,2,-1,-1\n");
  const Ended other = run_program(on_nccl("q.csv", {"--channels", "2"}), folder.path());
  CHECK(other.code == 2);
  CHECK(
      contains(other.err, "o/nccl.csv: is the policy of the existing rows, and q.csv is another"));
  CHECK(run_program(on_nccl("q.csv", {"--channels", "2", "--fresh"}), folder.path()).code == 0);
  CHECK(read_file(folder / "o/nccl.csv") == read_file(folder / "q.csv"));

  // A sweep on the same ranks gives the configurations, and the choice of a table made from it.
  write_file(folder / "m.csv",
             "ranks,nodes,collective,size_bytes,algorithm,protocol,channels,time_us_median\n"
             "8,1,allreduce,1024,ring,LL,4,10\n8,1,allreduce,1024,tree,LL,4,12\n"
             "8,1,allreduce,1024,tree,Simple,4,99\n");
  const Ended swept =
      run_program(on_nccl("q.csv", {"--measured", "m.csv", "--part", "swept"}), folder.path());
  INFO(swept.err);
  REQUIRE(swept.code == 0);
  CHECK(contains(swept.out, "sweep's best       1     0.900"));
  CHECK(contains(swept.out, "nccl                 chosen             4     0.894"));
  CHECK(contains(swept.out, "swept: chosen / sweep's best 0.889"));
  CHECK_FALSE(contains(read_file(folder / "o/swept.rows.csv"), "tree,Simple,4"));
}

TEST_CASE("validate --backend nccl takes a policy file for the machine that it measures",
          "[cli][validate]") {
  SKIP_UNLESS(std::filesystem::exists(kNcclWorker), kNeedsCuda);
  const TemporaryFolder folder;
  write_file(folder / "eight.policy",
             policy_for("{name: ring, gpus: 8}", "stock-nccl", 1, {"ring", "LL"}));
  write_file(folder / "four.policy", policy_for("{name: ring, gpus: 4}", "stock-nccl", 1));
  write_file(folder / "programs.policy", policy_for("{name: ring, gpus: 8}", "offline", 1));
  const Ended ended = run_program(on_nccl("eight.policy", {}), folder.path());
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(contains(ended.out, "as chosen 2"));
  CHECK(read_file(folder / "o/nccl.policy").starts_with("CCLGYMPO"));

  std::filesystem::remove_all(folder / "o");
  const auto refused = [&](const std::string& policy, const std::vector<std::string>& more,
                           const std::string& part) {
    const Ended error = run_program(on_nccl(policy, more), folder.path());
    INFO(error.err);
    CHECK(error.code == 2);
    CHECK(contains(error.err, part));
    CHECK_FALSE(std::filesystem::exists(folder / "o/nccl.rows.csv"));
  };
  refused("four.policy", {},
          "four.policy: the worker has 8 ranks on 1 nodes, for which the policy has no machine; it "
          "has 'ring gpus=4' (4 ranks on 1)");
  refused("programs.policy", {}, "train it with actions stock-nccl or nccl-2.30");
  refused("eight.policy", {"--machine", "ring gpus=9"},
          "--machine: unknown machine 'ring gpus=9'; expected one of ring gpus=8");
  refused("nowhere.policy", {}, "'nowhere.policy' does not exist");
  refused("eight.policy", {"--placement", "out,in"}, "--placement");
  refused("eight.policy", {"--part", "a/b"}, "--part: found 'a/b'");
  refused("eight.policy", {"--measured", "eight.policy"}, "eight.policy");
  write_file(folder / "m.csv", "ranks,collective,size_bytes,time_us_median\n8,allreduce,1024,9\n");
  refused("eight.policy", {"--measured", "m.csv", "--channels", "2"},
          "--channels: is for a validation without --measured");
  write_file(folder / "bad.csv", "allreduce,0,1000000,ring\n");
  refused("bad.csv", {}, "bad.csv:1");
  refused("bad.csv", {"--agent", "1"}, "--agent: is not for a CSV");
  // The options of the backends are kept apart.
  refused("eight.policy", {"--segments", "1KiB"}, "segments");
}

TEST_CASE("validate --backend nccl says in one line that there is no GPU", "[cli][validate]") {
  SKIP_UNLESS(std::filesystem::exists(kNcclWorker), kNeedsCuda);
  const TemporaryFolder folder;
  write_file(folder / "p.csv", "allreduce,0,1000000,ring,ll,2,-1,-1\n");
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  const Ended ended =
      run_program({"validate", "p.csv", "--backend", "nccl", "--out", "o"}, folder.path());
  const Ended sweep = run_program({"calibrate", "nccl", "-o", "s.csv"}, folder.path());
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  CHECK(ended.code == 2);
  CHECK(sweep.code == 2);
  CHECK(contains(ended.err, "error: the worker 'nccl' cannot run here: no "));
  CHECK(std::ranges::count(ended.err, '\n') == 1);
  CHECK(ended.err == sweep.err);
  CHECK_FALSE(std::filesystem::exists(folder / "o/nccl.rows.csv"));
  CHECK_FALSE(std::filesystem::exists(folder / "o/nccl.csv"));
  const Ended backend = run_program({"validate", "p.csv", "--backend=ncl", "--out", "o"});
  CHECK(backend.code == 2);
  CHECK(contains(backend.err, "--backend: unknown backend 'ncl'"));
}

}  // namespace
}  // namespace cclgym::test
