// Tests of runs between hosts that are network namespaces: the same bytes, and hosts that are cut
// off.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/mpirun.hpp"
#include "cli/processes.hpp"
#include "cli/program.hpp"
#include "experiments/sweep/bad_experiments.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"
#include "support/netlab.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

namespace cclgym::test {
namespace {

constexpr std::size_t kCells = 360;

// An experiment of kCells cells.
std::string large_sweep() {
  return experiment_with({{"fabrics", "[{name: ring, gpus: 24}]"},
                          {"channels", "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"},
                          {"sizes", "1MiB..256MiB x2"},
                          {"threads", "[64, 128, 256, 512]"}});
}

TEST_CASE("four hosts give the bytes of one process; after a host was cut off, a resume does",
          "[.][cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  const Netlab netlab("cgranks", "10.81.0", 4);
  SKIP_UNLESS(netlab.up(), kNeedsNamespaces);
  const TemporaryFolder folder;
  const std::string file = folder / "e.yaml";
  write_file(file, large_sweep());
  REQUIRE(run_program({"run", file, "--out", folder / "one", "--quiet"}).code == 0);
  const std::string bytes = read_file(folder / "one/results.csv");
  CHECK(count_of(bytes, "\n") == kCells + 1);
  const Ended whole = run_words(
      on_hosts(netlab, {"run", file, "--out", folder / "hosts", "--quiet"}), folder.path());
  INFO(whole.err);
  CHECK(whole.code == 0);
  CHECK((read_file(folder / "hosts/results.csv") == bytes));
  for (const std::string host : {"3", "0"}) {
    const std::string out = folder / ("cut" + host);
    const pid_t run = start_words(on_hosts(netlab, {"run", file, "--out", out, "--quiet"}),
                                  folder / ("log" + host));
    const auto rows = [&] {
      std::size_t lines = 0;
      for (const std::string name : {"/results.csv", "/results.csv.ahead"}) {
        if (std::filesystem::exists(out + name)) lines += count_of(read_file(out + name), "\n");
      }
      return lines;
    };
    REQUIRE(comes_true([&] { return rows() >= 20 || has_ended(run); }));
    CHECK(netlab.does("cut " + host));
    // mpirun ends the job as soon as it notices, unless all cells are done before.
    const int code = exit_code_of(run);
    INFO(read_file(folder / ("log" + host)));
    CHECK(code >= 0);
    CHECK(netlab.does("mend " + host));
    const std::size_t saved = rows();
    CHECK(saved >= 20);
    const Ended resumed = run_ranks(2, 0, {"run", file, "--out", out}, folder.path());
    INFO(resumed.err);
    CHECK(resumed.code == 0);
    CHECK(resumed.err.find("resuming: ") != std::string::npos);
    CHECK((read_file(out + "/results.csv") == bytes));
  }
}

}  // namespace
}  // namespace cclgym::test
