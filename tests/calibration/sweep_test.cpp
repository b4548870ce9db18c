// The driver of measurements: every way a cell can end, killed and gone on with, and what is read
// from it.
#include "calibration/sweep.hpp"

#include <algorithm>
#include <csignal>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

#include "../core/thrown.hpp"
#include "../experiments/temporary_folder.hpp"
#include "calibration/measured_file.hpp"
#include "calibration/mpi_backend.hpp"
#include "catch.hpp"
#include "core/text_file.hpp"
#include "sim/openmpi_algorithms.hpp"

namespace cclgym::test {
namespace {

const std::string kWorker = CCLGYM_BINARY_DIR "/tests/calibration/acting_worker";

MeasurementBackend acting(const std::vector<std::uint64_t>& sizes, const std::string& mode = "") {
  MeasurementBackend backend;
  backend.name = "mpi";
  backend.command.arguments = {kWorker, mode};
  backend.plan = [sizes](const TextMap& environment) {
    SweepPlan plan{.columns = mpi_columns(), .cells = {}};
    const MpiSweep sweep{.system = "lab",
                         .config = "idle",
                         .collectives = {},
                         .sizes = {},
                         .segments = {},
                         .algorithms = {}};
    for (const std::uint64_t bytes : sizes) {
      plan.cells.push_back(mpi_cell(sweep, environment, CollectiveKind::AllReduce, bytes,
                                    {.algorithm = "ring", .number = 4, .segment_bytes = 0}));
    }
    return plan;
  };
  return backend;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  const std::string text = read_text_file(path, 1 << 20);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return lines;
}

// The first fields of a row that name its cell.
std::string key_of(const std::string& line) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < mpi_columns().size(); ++i) at = line.find(',', at) + 1;
  return line.substr(0, at);
}

std::string row_of(const std::string& path, const std::string& size) {
  for (const std::string& line : lines_of(path)) {
    if (line.find("allreduce," + size + ",") != std::string::npos) return line;
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("a sweep records every way in which a cell can end, and goes on") {
  const TemporaryFolder folder;
  const std::string path = folder / "m.csv";
  const SweepOptions options{.path = path, .repeats = 10, .timeout_s = 0.5};
  const SweepResult result =
      sweep(acting({64, 1004, 128, 1008, 256, 1012, 512, 1016, 1024, 1020, 2048}), options);
  CHECK(result.progress.done == 11);
  CHECK(result.refused == 1);
  CHECK(result.failed == 4);
  for (const char* const size : {"64", "128", "256", "512", "1024", "2048"}) {
    CHECK(has(row_of(path, size), ",ok,"));
  }
  CHECK(has(row_of(path, "1004"), ",hung,"));
  CHECK(has(row_of(path, "1004"), "no answer within 0.5 s: killed"));
  CHECK(has(row_of(path, "1008"), ",crashed,"));
  CHECK(has(row_of(path, "1008"), "something is wrong here"));
  CHECK(has(row_of(path, "1012"), ",failed,"));
  CHECK(has(row_of(path, "1012"), "the result is wrong; here"));
  CHECK(has(row_of(path, "1016"), ",refused,"));
  CHECK(has(row_of(path, "1020"), "an answer without samples"));

  SECTION("outliers are kept and marked, the environment stands in each row") {
    const std::string row = row_of(path, "64");
    // 64 us, 1 % more each time, and once 100 times as long.
    CHECK(has(row, ",ok,67.5200,66.0800,68.9600,64.0000,6400.0000,10,1,64.000 64.640 6400.000! "));
    CHECK(has(row, ",library=acting; 1;nodes=2;ranks=4,used=ring,"));
  }
  SECTION("fit and compare read the good rows only") {
    const std::vector<Measurement> rows = read_measured_file(path);
    REQUIRE(rows.size() == 6);
    for (const Measurement& row : rows) {
      CHECK(row.system == "lab");
      CHECK(row.config == "idle");
      CHECK(row.ranks == 4);
      CHECK(row.nodes == 2);
      REQUIRE(row.named);
      CHECK(row.named->algorithm == "ring");
    }
  }
  SECTION("nothing is measured twice") {
    CHECK(sweep(acting({64, 1004, 128, 1008, 256, 1012, 512, 1016, 1024, 1020, 2048}), options)
              .progress.found == 11);
  }
}

TEST_CASE("a sweep that is killed loses at most the row in flight") {
  const TemporaryFolder folder;
  const std::string path = folder / "m.csv";
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t i = 1; i <= 60; ++i) sizes.push_back(4 * i);
  const SweepOptions options{.path = path, .repeats = 3};
  std::size_t before = 0;
  for (int kill = 0; kill < 4; ++kill) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      (void)sweep(acting(sizes, "slow"), options);
      ::_exit(0);
    }
    ::usleep(200'000 + static_cast<useconds_t>(kill) * 7'000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::size_t rows = lines_of(path).size() - 1;
    CHECK(rows > before);
    before = rows;
  }
  SECTION("also where a row was cut off in the middle") {
    const std::string text = read_text_file(path, 1 << 20);
    write_text_file(path, text.substr(0, text.size() - 10));
    --before;
  }
  const SweepResult result = sweep(acting(sizes), options);
  CHECK(result.progress.found == before);
  CHECK(result.progress.done == 60);
  std::set<std::string> keys;
  for (const std::string& line : lines_of(path)) keys.insert(key_of(line));
  CHECK(keys.size() == 61);
}

TEST_CASE("the order of a sweep is random, the same for the same seed, and keeps blocks together") {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t i = 1; i <= 40; ++i) sizes.push_back(4 * i);
  const auto order = [&](std::uint64_t seed, bool blocks) {
    const TemporaryFolder folder;
    MeasurementBackend backend = acting(sizes);
    if (blocks) {
      backend.plan = [plan = backend.plan](const TextMap& environment) {
        SweepPlan made = plan(environment);
        for (std::size_t i = 0; i < made.cells.size(); ++i) made.blocks.push_back(i / 4);
        return made;
      };
    }
    (void)sweep(backend, {.path = folder / "m.csv", .seed = seed, .repeats = 3});
    std::vector<std::uint64_t> found;
    for (const Measurement& row : read_measured_file(folder / "m.csv")) found.push_back(row.bytes);
    return found;
  };
  const auto one = order(1, false);
  CHECK(one == order(1, false));
  CHECK(one != order(2, false));
  CHECK_FALSE(std::ranges::is_sorted(one));
  CHECK(std::ranges::is_permutation(one, sizes));
  const auto blocks = order(1, true);
  CHECK_FALSE(std::ranges::is_sorted(blocks));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    CHECK((blocks[i] / 4 - 1) / 4 == (blocks[i - i % 4] / 4 - 1) / 4);
  }
}

TEST_CASE("a sweep refuses what it cannot go on with, and says why") {
  const TemporaryFolder folder;
  const std::string path = folder / "m.csv";
  const SweepOptions options{.path = path, .repeats = 3, .timeout_s = 5, .start_s = 0.3};
  SECTION("rows of another sweep") {
    (void)sweep(acting({64, 128}), options);
    const std::string before = read_text_file(path, 1 << 20);
    CHECK(has(thrown([&] { (void)sweep(acting({64}), options); }), "is no cell of this sweep"));
    CHECK(read_text_file(path, 1 << 20) == before);
  }
  SECTION("another file") {
    write_text_file(path, "a,b\n1,2\n");
    CHECK(has(thrown([&] { (void)sweep(acting({64}), options); }), "m.csv:1:1: found 'a,b'"));
    CHECK(read_text_file(path, 1 << 20) == "a,b\n1,2\n");
  }
  SECTION("a worker that does not start; no file is made") {
    CHECK(has(thrown([&] { (void)sweep(acting({64}, "silent"), options); }),
              "did not say who it is within 0.3 s"));
    CHECK(has(thrown([&] { (void)sweep(acting({64}, "wrong"), options); }),
              "it said:\n  mpirun: no such host"));
    MeasurementBackend none = acting({64});
    none.command.arguments = {"/no/such/worker"};
    CHECK(has(thrown([&] { (void)sweep(none, options); }), "No such file or directory"));
    CHECK(::access(path.c_str(), F_OK) != 0);
    MeasurementBackend other = acting({64});
    other.plan = [](const TextMap&) -> SweepPlan { throw UserError("another machine"); };
    CHECK(has(thrown([&] { (void)sweep(other, options); }), "another machine"));
    CHECK(::access(path.c_str(), F_OK) != 0);
  }
  SECTION("a worker that only crashes") {
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t i = 1; i <= 20; ++i) sizes.push_back(4 * i);
    CHECK(has(thrown([&] { (void)sweep(acting(sizes, "dying"), options); }),
              "5 measurements in a row came to nothing"));
    CHECK(lines_of(path).size() == 1 + kMostFailures);
  }
}

TEST_CASE("what OpenMPI can do with a call: its own choice, whole messages, smaller segments") {
  const MpiSweep sweep{.system = "",
                       .config = "",
                       .collectives = {},
                       .sizes = {},
                       .segments = {32768, 131072},
                       .algorithms = {}};
  const auto small = mpi_configs(sweep, CollectiveKind::Broadcast, 1024);
  const auto large = mpi_configs(sweep, CollectiveKind::Broadcast, 65536);
  CHECK(small.front() == MpiConfig{std::string(kMpiDefault), 0, 0});
  CHECK(std::ranges::none_of(small, [](const MpiConfig& c) { return c.segment_bytes > 0; }));
  CHECK(large.size() > small.size());
  CHECK(std::ranges::none_of(large, [](const MpiConfig& c) { return c.segment_bytes > 32768; }));
  for (const MpiConfig& config : large) {
    if (config.number == 0) continue;
    const OpenMpiAlgorithm* found =
        find_openmpi_algorithm(CollectiveKind::Broadcast, config.algorithm, config.segment_bytes);
    REQUIRE(found != nullptr);
    CHECK(found->number == config.number);
  }
  // The segmented ring is the ring with another number.
  const auto ring = mpi_configs({.system = "",
                                 .config = "",
                                 .collectives = {},
                                 .sizes = {},
                                 .segments = {32768},
                                 .algorithms = {"ring"}},
                                CollectiveKind::AllReduce, 1 << 20);
  CHECK(ring == std::vector<MpiConfig>{{"ring", 4, 0}, {"ring", 5, 32768}});
}

}  // namespace
}  // namespace cclgym::test
