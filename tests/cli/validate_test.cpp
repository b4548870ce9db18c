// Tests of cclgym validate --show, which prints tables of earlier rows without measuring.
#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

const std::string kShipped = CCLGYM_SOURCE_DIR "/calibration/results/netlab/validation";

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

}  // namespace
}  // namespace cclgym::test
