// Tests of cclgym synthesize as a process.
#include <filesystem>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

TEST_CASE("synthesize writes programs, a dispatch table and pictures, which other commands take",
          "[cli][synthesize]") {
  const TemporaryFolder folder;
  const Ended made = run_program({"synthesize", "--fabric", "dgx1", "--collective", "allgather",
                                  "--pareto", "--sizes", "[12KiB, 48MiB]", "-o", "made"},
                                 folder.path());
  INFO(made.err);
  REQUIRE(made.code == 0);
  CHECK(contains(made.out, "bounds: steps >= 2, rounds per chunk >= 7/6"));
  CHECK(contains(made.out, "allgather-2-2-3"));
  CHECK(contains(made.out, "\ntable     made/dispatch.yaml\n"));
  CHECK(contains(made.err, "6 chunks, 3 steps, 7 rounds; proof: cut"));
  const std::string page = read_file(folder / "made/report.html");
  CHECK(contains(page, "allgather-6-3-7"));
  CHECK(contains(page, "svg role"));
  CHECK(std::filesystem::exists(folder / "made/sweep/report.html"));

  const Ended verified =
      run_program({"verify", "made/programs/allgather-6-3-7.xml", "--execute"}, folder.path());
  CHECK(verified.code == 0);
  const Ended simulated =
      run_program({"simulate", "--fabric", "dgx1", "--collective", "allgather", "--size", "12KiB",
                   "--algorithm", "dispatch:made/dispatch.yaml"},
                  folder.path());
  INFO(simulated.err);
  CHECK(simulated.code == 0);
  const Ended by_formula = run_program({"simulate", "--fabric", "dgx1", "--collective", "allgather",
                                        "--size", "12KiB", "--algorithm", "synth:pareto"},
                                       folder.path());
  INFO(by_formula.err);
  CHECK(by_formula.code == 0);
}

TEST_CASE("synthesize refuses wrong requests with exit code 2 and writes nothing",
          "[cli][synthesize]") {
  const TemporaryFolder folder;
  const auto refused = [&](std::vector<std::string> args, const std::string& message) {
    args.insert(args.begin(), "synthesize");
    args.insert(args.end(), {"-o", "made"});
    const Ended ended = run_program(args, folder.path());
    INFO(ended.err);
    CHECK(ended.code == 2);
    CHECK(contains(ended.err, message));
    CHECK_FALSE(std::filesystem::exists(folder / "made"));
  };
  refused({"--collective", "allgather"}, "--fabric");
  refused({"--fabric", "dgx1"}, "--collective");
  refused({"--fabric", "dgx1", "--collective", "alltonext"}, "has no inverse");
  refused({"--fabric", "dgx1", "--collective", "allgather", "--group", "0"}, "a group of 1 rank");
  refused({"--fabric", "dgx1", "--collective", "allgather", "--group", "0,x"}, "--group");
  refused({"--fabric", "dgx1", "--collective", "allgather", "--time-limit", "0"}, "time-limit");
  refused({"--fabric", "dgx1", "--collective", "allgather", "--dialect", "nvidia"}, "dialect");
  refused({"--fabric", "dgx1", "--collective", "broadcast", "--root", "8"}, "root 8");
  refused({"--fabric", "dgx1", "--without", "gpu0:gpu9", "--collective", "allgather"},
          "has no device 'gpu9'");
}

}  // namespace
}  // namespace cclgym::test
