// Libraries that the program loads when it first needs them: SimGrid, and the solvers CLP and CBC.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/needs.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

const std::string kBuilt = build_folder();
const std::string kOtherEngine = "use engine flow: --engine flow, or engine: flow in an experiment";
const Words kSimulation{"simulate",    "--fabric", "dgx1",   "--collective", "allreduce",
                        "--algorithm", "ring",     "--size", "1MiB"};
const Words kSynthesis{"synthesize", "--fabric",   "ring",   "--gpus", "4", "--collective",
                       "alltoall",   "--no-sweep", "--jobs", "1",      "-o"};

Words plus(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

bool built_with_simgrid() { return fs::exists(kBuilt + "/libcclgym-simgrid.so"); }

// The program alone in a folder, as after an installation that lost its libraries.
class LoneProgram {
 public:
  LoneProgram() { fs::copy_file(kBuilt + "/cclgym", folder_ / "cclgym"); }

  [[nodiscard]] Ended run(const Words& args) const {
    return run_with_streams(args, folder_.path(), {Stream::Kept, Stream::Kept, Stream::Kept},
                            folder_ / "cclgym");
  }

  [[nodiscard]] std::string path(const std::string& file) const { return folder_ / file; }

  // It ends with 2 and one line about the library.
  void check_refused(const Words& args, const std::string& user, const std::string& library,
                     const std::string& advice) const {
    const Ended ended = run(args);
    INFO(ended.out << ended.err);
    CHECK(ended.code == 2);
    CHECK(ended.out.empty());
    CHECK(ended.err.starts_with(
        "error: " + user + " needs a library that cannot be loaded: " + folder_ / library + ": "));
    CHECK(ended.err.ends_with("; " + advice + "\n"));
    CHECK(std::count(ended.err.begin(), ended.err.end(), '\n') == 1);
  }

 private:
  TemporaryFolder folder_;
};

TEST_CASE("the program is linked without libraries that take long to load", "[cli][libraries]") {
  const TemporaryFolder folder;
  // The loader prints the libraries, as for ldd.
  const std::string command =
      "LD_TRACE_LOADED_OBJECTS=1 '" + kBuilt + "/cclgym' > '" + folder / "libraries" + "'";
  REQUIRE(std::system(command.c_str()) == 0);  // NOLINT(cert-env33-c): sets the variable
  const std::string libraries = read_file(folder / "libraries");
  REQUIRE(contains(libraries, "libstdc++.so"));
  for (const char* const library :
       {"libCbc.", "libClp.", "libOsi", "libCgl.", "libCoinUtils.", "libopenblas", "libblas.",
        "liblapack.", "libgfortran.", "libsimgrid.", "libtorch", "libmpi"}) {
    INFO(library << " in\n" << libraries);
    CHECK_FALSE(contains(libraries, library));
  }
}

TEST_CASE("the program simulates without the libraries, and names the one that it lacks",
          "[cli][libraries]") {
  const LoneProgram program;
  const Ended simulated = program.run(plus(kSimulation, {"--engine", "flow"}));
  INFO(simulated.err);
  CHECK(simulated.code == 0);
  const std::string again = "install cclgym and its libraries again (docs/install.md)";
  program.check_refused(plus(kSynthesis, {"made"}), "synthesis by linear programs",
                        "libcclgym-coin.so", again);
  // Here, synthesis would go on without a linear program that has no solution in time.
  Words shares = plus(kSynthesis, {"made-too"});
  std::ranges::replace(shares, "alltoall", "allreduce");
  program.check_refused(shares, "synthesis by linear programs", "libcclgym-coin.so", again);
  SKIP_UNLESS(built_with_simgrid(), kNeedsTwoEngines);
  program.check_refused(plus(kSimulation, {"--engine", "simgrid"}), "engine simgrid",
                        "libcclgym-simgrid.so", kOtherEngine);
}

TEST_CASE("the list of engines says which library is missing", "[cli][libraries]") {
  SKIP_UNLESS(built_with_simgrid(), kNeedsTwoEngines);
  CHECK_FALSE(contains(run_program({"list", "engines"}, ".").out, "not available"));
  const LoneProgram program;
  const Ended listed = program.run({"list", "engines"});
  CHECK(listed.code == 0);
  CHECK(contains(listed.out,
                 "\n         not available: " + program.path("libcclgym-simgrid.so") + ": "));
  CHECK(std::ranges::count(listed.out, '\n') == 3);
  const Ended json = program.run({"list", "engines", "--json"});
  CHECK(contains(json.out, "\"details\": \"not available: "));
}

TEST_CASE("a sweep whose workers lack a library ends with one line", "[cli][libraries]") {
  SKIP_UNLESS(built_with_simgrid(), kNeedsTwoEngines);
  const TemporaryFolder folder;
  write_file(folder / "e.yaml",
             "name: e\nfabrics: [dgx1]\ncollectives: [allreduce]\nalgorithms: [ring]\nsizes: "
             "[1KiB, 1MiB]\nengine: simgrid\n");
  const LoneProgram program;
  for (const char* const jobs : {"1", "2"}) {
    program.check_refused({"run", folder / "e.yaml", "--fresh", "--quiet", "--jobs", jobs, "--out",
                           folder / "results"},
                          "engine simgrid", "libcclgym-simgrid.so", kOtherEngine);
    CHECK_FALSE(fs::exists(folder / "results"));
  }
}

TEST_CASE("the program loads the solvers for a synthesis", "[cli][libraries]") {
  const TemporaryFolder folder;
  const Ended ended = run_program(plus(kSynthesis, {"made", "--quiet"}), folder.path());
  INFO(ended.err);
  CHECK(ended.code == 0);
}

}  // namespace
}  // namespace cclgym::test
