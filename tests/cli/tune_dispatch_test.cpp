// Tests of cclgym tune-dispatch as a process, and of its table in simulate and run.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "experiments/sweep/bad_experiments.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

std::string sweep() {
  return experiment_with({{"name", "sweep"},
                          {"fabrics", "ndv4"},
                          {"algorithms", "[all-pairs, ring]"},
                          {"protocols", "[LL, Simple]"},
                          {"instances", "[1, 2]"},
                          {"sizes", "[1KiB, 256MiB]"},
                          {"engine", "flow"},
                          {"legal", "any"},
                          {"baseline", "{algorithm: ring, protocol: Simple, instances: 1}"}});
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_CASE("tune-dispatch runs the sweep, writes the table and prints its speedups",
          "[cli][tune-dispatch]") {
  const TemporaryFolder folder;
  write_file(folder / "sweep.yaml", sweep());
  const Ended tuned =
      run_program({"tune-dispatch", "sweep.yaml", "-o", "t.yaml", "--jobs", "2"}, folder.path());
  INFO(tuned.err);
  REQUIRE(tuned.code == 0);
  CHECK(tuned.err.find("16/16 cells  100 %") != std::string::npos);
  CHECK(tuned.out.starts_with("sweep: dispatch table, engine flow\nspeedup over ring, Simple"));
  CHECK(tuned.out.find("\nndv4, allreduce\n  sizes") != std::string::npos);
  CHECK(tuned.out.ends_with("\ntable     t.yaml\n"));
  const std::string table = read_file(folder / "t.yaml");
  CHECK(table.starts_with("# Written by cclgym tune-dispatch "));
  CHECK(table.find("  - fabric: \"ndv4\"\n    collective: allreduce\n    ranges:\n      - {sizes: "
                   "..256MiB, algorithm: all-pairs, protocol: LL,") != std::string::npos);

  // The folder of a completed run gives the same table.
  const Ended again = run_program(
      {"tune-dispatch", "results/sweep", "--out", "again.yaml", "--quiet"}, folder.path());
  CHECK(again.code == 0);
  CHECK(again.out.empty());
  CHECK(again.err.empty());
  CHECK(read_file(folder / "again.yaml") == table);

  const auto simulated = [&](const std::string& size) {
    const Ended ended = run_program({"simulate", "--fabric", "ndv4", "--collective", "allreduce",
                                     "--algorithm", "dispatch:t.yaml", "--size", size, "--json"},
                                    folder.path());
    REQUIRE(ended.code == 0);
    return nlohmann::json::parse(ended.out);
  };
  CHECK(simulated("1KiB").at("algorithm") == "dispatch:t.yaml");
  CHECK(simulated("1KiB").at("program") == "all-pairs");
  CHECK(simulated("1KiB").at("protocol") == "LL");
  CHECK(simulated("255MiB").at("program") == "all-pairs");
  CHECK(simulated("1GiB").at("protocol") == "Simple");
  CHECK(simulated("1GiB").at("instances") == 2);

  write_file(folder / "e.yaml", experiment_with({{"fabrics", "ndv4"},
                                                 {"algorithms", "'dispatch:t.yaml'"},
                                                 {"sizes", "[1KiB, 256MiB]"},
                                                 {"engine", "flow"}}));
  CHECK(run_program({"run", "e.yaml", "--quiet"}, folder.path()).code == 0);
  CHECK(lines_of(read_file(folder / "results/bad/results.csv")) == 3);
}

TEST_CASE("tune-dispatch leaves no table if it cannot make one", "[cli][tune-dispatch]") {
  const TemporaryFolder folder;
  write_file(folder / "sweep.yaml", sweep());
  const auto message = [&](const std::vector<std::string>& args) {
    const Ended ended = run_program(args, folder.path());
    CHECK(ended.code == 2);
    CHECK(ended.out.empty());
    CHECK_FALSE(std::filesystem::exists(folder / "t.yaml"));
    return ended.err;
  };
  CHECK(message({"tune-dispatch", "sweep.yaml"}) ==
        "error: --out is missing; see cclgym tune-dispatch --help\n");
  CHECK(message({"tune-dispatch", "sweep.yaml", "-o", "t.yaml", "--tolerance", "1%"})
            .starts_with("error: --tolerance: "));
  REQUIRE(run_program({"run", "sweep.yaml", "--quiet"}, folder.path()).code == 0);
  CHECK(message({"tune-dispatch", "results/sweep", "-o", "t.yaml", "--jobs", "2"})
            .starts_with("error: --jobs: is for a sweep that has not run yet"));
  const std::string bytes = read_file(folder / "results/sweep/results.csv");
  write_file(folder / "results/sweep/results.csv", bytes.substr(0, bytes.size() - 20));
  CHECK(message({"tune-dispatch", "results/sweep", "-o", "t.yaml"}) ==
        "error: results/sweep/results.csv: 1 of 16 cells have no result; finish the run first\n");
  CHECK(message({"tune-dispatch", "gone", "-o", "t.yaml"}) == "error: 'gone' does not exist\n");
}

TEST_CASE("tune-dispatch says what to do about results of another sweep", "[cli][tune-dispatch]") {
  const TemporaryFolder folder;
  write_file(folder / "sweep.yaml", sweep());
  REQUIRE(run_program({"run", "sweep.yaml", "--quiet"}, folder.path()).code == 0);
  std::string other = sweep();
  other.replace(other.find("256MiB"), 6, "128MiB");
  write_file(folder / "sweep.yaml", other);
  const Ended refused =
      run_program({"tune-dispatch", "sweep.yaml", "-o", "t.yaml", "--quiet"}, folder.path());
  CHECK(refused.code == 2);
  CHECK(
      refused.err.ends_with("; choose another folder with --results, or start over with cclgym "
                            "run sweep.yaml --out results/sweep --fresh\n"));
  const Ended elsewhere = run_program(
      {"tune-dispatch", "sweep.yaml", "-o", "t.yaml", "--quiet", "--results", "r"}, folder.path());
  CHECK(elsewhere.code == 0);
  REQUIRE(run_program({"run", "sweep.yaml", "--out", "results/sweep", "--fresh", "--quiet"},
                      folder.path())
              .code == 0);
  CHECK(
      run_program({"tune-dispatch", "sweep.yaml", "-o", "t.yaml", "--quiet"}, folder.path()).code ==
      0);
}

TEST_CASE("simulate: a tuner's choices are not options; instances are", "[cli][tune-dispatch]") {
  const std::vector<std::string> nccl{"simulate",           "--fabric",  "ndv4",
                                      "--collective",       "allreduce", "--algorithm",
                                      "nccl-default:2.8.4", "--size",    "1MiB"};
  const Ended ended = run_program(nccl);
  CHECK(ended.code == 0);
  CHECK(ended.out.find("\nchosen by nccl-default:2.8.4\n") != std::string::npos);
  std::vector<std::string> with_channels = nccl;
  with_channels.insert(with_channels.end(), {"--channels", "2"});
  CHECK(run_program(with_channels).err ==
        "error: --channels: is chosen by 'nccl-default:2.8.4'; leave it out\n");
  const std::vector<std::string> ring{
      "simulate", "--fabric",    "ndv4",        "--collective", "allreduce", "--size",
      "1MiB",     "--algorithm", "spread-ring", "--channels",   "4",         "--instances",
      "8"};
  CHECK(run_program(ring).out.starts_with(
      "allreduce of 1MiB on ndv4 (8 ranks): spread-ring, Simple, 4 channels, 8 instances, 512 "
      "threads\n"));
  std::vector<std::string> too_many = ring;
  too_many.back() = "64";
  CHECK(run_program(too_many).code == 2);
  const std::string algorithms = run_program({"list", "algorithms"}).out;
  CHECK(algorithms.find("\ndispatch:FILE ") != std::string::npos);
  CHECK(algorithms.find("\nnccl-default:VERSION ") != std::string::npos);
}

}  // namespace
}  // namespace cclgym::test
