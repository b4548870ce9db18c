// Tests of cclgym loop without measuring: --plan and --show.
#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

const std::string kMeasuredLoops = source_path("calibration/results/netlab/loop");
const std::string kLoopFile = source_path("experiments/loop-netlab.yaml");

TEST_CASE("loop --show prints the figures of docs/closed-loop.md, and writes pages if asked to",
          "[cli][loop]") {
  const TemporaryFolder folder;
  const Ended shown = run_program({"loop", "--show", kMeasuredLoops}, folder.path());
  INFO(shown.err);
  CHECK(shown.code == 0);
  CHECK(contains(shown.out, "900 s, 51167 calls"));
  CHECK(contains(shown.out, "0.665 (0.659 .. 0.671)  0.703 (0.697 .. 0.709)"));
  CHECK(contains(shown.out, "0.973 (0.967 .. 0.979)  0.993 (0.990 .. 0.997)"));
  CHECK(contains(shown.out, "0.990 (0.984 .. 0.996)  0.998 (0.995 .. 1.001)"));
  CHECK(contains(shown.out, "agent: 12792 calls, 682 changes of tables, 0 dropped"));

  const std::vector<std::string> write{"loop", "--show", kMeasuredLoops, "--out", "o"};
  CHECK(run_program(write, folder.path()).code == 0);
  CHECK(read_file(folder / "o/calls.csv") == read_file(kMeasuredLoops + "/calls.csv"));
  CHECK(run_program(write, folder.path()).code == 0);
  CHECK(contains(read_file(folder / "o/loop.html"), "netlab-loop"));
  write_file(folder / "o/events.csv", "mine\n");
  const Ended foreign = run_program(write, folder.path());
  CHECK(foreign.code == 2);
  CHECK(contains(foreign.err, "events.csv': not written by cclgym loop"));
  CHECK(read_file(folder / "o/events.csv") == "mine\n");
}

TEST_CASE("loop --show prints what a trained policy did, and its page has both loops",
          "[cli][loop]") {
  const TemporaryFolder folder;
  const std::string measured = kMeasuredLoops + "-2";
  const Ended shown = run_program({"loop", "--show", measured, "--out", "o"}, folder.path());
  INFO(shown.err);
  CHECK(shown.code == 0);
  CHECK(contains(shown.out, "630 s, 87026 calls, 10687 of them started late"));
  CHECK(contains(shown.out, "agent against"));
  CHECK(contains(shown.out, "0.666 (0.657 .. 0.675)"));
  CHECK(contains(shown.out, "0.983 (0.980 .. 0.986)"));
  CHECK(contains(shown.out, "policy against"));
  CHECK(contains(shown.out, "0.718 (0.713 .. 0.723)"));
  CHECK(contains(shown.out, "0.957 (0.950 .. 0.965)"));
  CHECK(contains(shown.out,
                 "policy: 14504 calls, 434 changes of tables, 0 dropped, 0 calls waited "
                 "(at most 0.0 ms)\n"));
  const std::string page = read_file(folder / "o/loop.html");
  CHECK(contains(page, "\"subjects\":[{\"name\":\"agent\""));
  CHECK(contains(page, "{\"name\":\"policy\""));
}

TEST_CASE("loop --plan prints candidates and first tables", "[cli][loop]") {
  const TemporaryFolder folder;
  const Ended plan = run_program({"loop", kLoopFile, "--plan"}, folder.path());
  INFO(plan.err);
  CHECK(plan.code == 0);
  CHECK(contains(plan.out,
                 "allreduce of 4MiB: 7 candidates; frozen: ring in 64KiB; hindsight: "
                 "ring in 16KiB\n"));
}

TEST_CASE("loop refuses options that do not fit, and files that are not its own", "[cli][loop]") {
  const TemporaryFolder folder;
  const auto refused = [&](std::vector<std::string> more, const std::string& part) {
    std::vector<std::string> args{"loop"};
    args.insert(args.end(), more.begin(), more.end());
    const Ended ended = run_program(args, folder.path());
    INFO(ended.err);
    CHECK(ended.code == 2);
    CHECK(contains(ended.err, part));
  };
  refused({}, "missing FILE");
  refused({kLoopFile}, "--out: is missing");
  refused({kLoopFile, "--show", kMeasuredLoops},
          "--show: shows an earlier loop, on which FILE has no effect");
  refused({"--show", "nowhere"}, "nowhere");
  refused({"gone.yaml", "-o", "o"}, "'gone.yaml' does not exist");
  write_file(folder / "bad.yaml",
             "name: x\nprior: p.csv\ncalls: [{collective: allredce, sizes: 1KiB}]\n");
  refused({"bad.yaml", "-o", "o"}, "bad.yaml:3:22");
  const std::string good =
      "name: x\nprior: " + source_path("calibration/results/netlab/loop-idle.csv") +
      "\n"
      "calls: [{collective: allreduce, sizes: 1MiB}]\n";
  write_file(folder / "policy.yaml", good + "policy: {file: gone.policy}\n");
  refused({"policy.yaml", "--plan"},
          "policy.yaml:4:16: there is no 'gone.policy'; expected a policy");
  write_file(folder / "damaged.policy", "x");
  write_file(folder / "policy.yaml", good + "policy: {file: damaged.policy}\n");
  refused({"policy.yaml", "--plan"}, "policy.yaml:4:16: damaged.policy: byte 0");
  write_file(folder / "policy.yaml", good + "policy: {file: damaged.policy, seed: 1}\n");
  refused({"policy.yaml", "--plan"}, "policy.yaml:4:38: seed is only for the folder of a training");
  refused({kLoopFile, "-o", "o", "--launch", "false"}, "ended before it reported its name");
}

}  // namespace
}  // namespace cclgym::test
