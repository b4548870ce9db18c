// Tests of the driver of measurements: every outcome of a cell, killed and continued sweeps, and
// reading the file.
#include "calibration/measure/sweep.hpp"

#include <algorithm>
#include <csignal>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

#include "calibration/backends/mpi_backend.hpp"
#include "core/files/text_file.hpp"
#include "core/random.hpp"
#include "experiments/measured/measured_file.hpp"
#include "sim/tuners/openmpi_algorithms.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"
#include "support/waiting.hpp"

namespace cclgym::test {
namespace {

const std::string kWorker = build_path("tests/calibration/acting_worker");

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

// The first fields of a row, which identify its cell.
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

TEST_CASE("a sweep records every outcome of a cell, and continues", "[calibration][sweep]") {
  const TemporaryFolder folder;
  const std::string path = folder / "m.csv";
  // The limit is over as soon as the worker hangs, and only then.
  const auto hangs = [&] {
    std::error_code error;
    return std::filesystem::exists(path + ".log", error) &&
           has(read_text_file(path + ".log", 1 << 20), "this one hangs");
  };
  const SweepOptions options{
      .path = path, .repeats = 10, .timeout_s = 2, .clock = [&] { return hangs() ? 1e3 : 0.0; }};
  const SweepResult result =
      sweep(acting({64, 1004, 128, 1008, 256, 1012, 512, 1016, 1024, 1020, 2048}), options);
  CHECK(result.progress.done == 11);
  CHECK(result.refused == 1);
  CHECK(result.failed == 4);
  for (const char* const size : {"64", "128", "256", "512", "1024", "2048"}) {
    CHECK(has(row_of(path, size), ",ok,"));
  }
  CHECK(has(row_of(path, "1004"), ",hung,"));
  CHECK(has(row_of(path, "1004"), "no answer within 2 s: killed"));
  CHECK(has(row_of(path, "1008"), ",crashed,"));
  CHECK(has(row_of(path, "1008"), "something is wrong here"));
  CHECK(has(row_of(path, "1012"), ",failed,"));
  CHECK(has(row_of(path, "1012"), "the result is wrong; here"));
  CHECK(has(row_of(path, "1016"), ",refused,"));
  CHECK(has(row_of(path, "1020"), "the answer has no samples"));

  SECTION("outliers are kept and marked, the environment stands in each row") {
    const std::string row = row_of(path, "64");
    // Samples of 64 us that grow by 1 % each, and an outlier of 100 times.
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

TEST_CASE("a sweep that is killed loses at most the row in flight", "[calibration][sweep]") {
  const TemporaryFolder folder;
  const std::string path = folder / "m.csv";
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t i = 1; i <= 60; ++i) sizes.push_back(4 * i);
  const SweepOptions options{.path = path, .repeats = 3, .timeout_s = 3600};
  std::size_t before = 0;
  for (int kill = 0; kill < 4; ++kill) {
    // The worker hangs in the row in flight.
    const std::size_t answers = 1 + 2 * static_cast<std::size_t>(kill);
    MeasurementBackend stuck = acting(sizes, "stuck");
    stuck.command.arguments.push_back(std::to_string(answers));
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      (void)sweep(stuck, options);
      ::_exit(0);
    }
    CHECK(comes_true([&] {
      std::error_code error;
      return std::filesystem::exists(path, error) && lines_of(path).size() > before + answers;
    }));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    before += answers;
    CHECK(lines_of(path).size() == 1 + before);
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

TEST_CASE("the order of a sweep is random, the same for the same seed, and keeps blocks together",
          "[calibration][sweep]") {
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

TEST_CASE("a sweep refuses files and workers that it cannot use, with the reason",
          "[calibration][sweep]") {
  const TemporaryFolder folder;
  const std::string path = folder / "m.csv";
  const SweepOptions options{.path = path, .repeats = 3, .timeout_s = 900};
  SECTION("rows of another sweep") {
    (void)sweep(acting({64, 128}), options);
    const std::string before = read_text_file(path, 1 << 20);
    CHECK(has(thrown([&] { (void)sweep(acting({64}), options); }), "is not a cell of this sweep"));
    CHECK(read_text_file(path, 1 << 20) == before);
  }
  SECTION("another file") {
    write_text_file(path, "a,b\n1,2\n");
    CHECK(has(thrown([&] { (void)sweep(acting({64}), options); }), "m.csv:1:1: found 'a,b'"));
    CHECK(read_text_file(path, 1 << 20) == "a,b\n1,2\n");
  }
  SECTION("a worker that does not start; no file is made") {
    SweepOptions impatient = options;
    impatient.start_s = 0.3;
    CHECK(has(thrown([&] { (void)sweep(acting({64}, "silent"), impatient); }),
              "did not report its name within 0.3 s"));
    CHECK(has(thrown([&] { (void)sweep(acting({64}, "wrong"), options); }),
              "its last lines:\n  mpirun: no such host"));
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
              "5 measurements in a row failed"));
    CHECK(lines_of(path).size() == 1 + kMostFailures);
  }
}

// A sweep of one cell whose worker prints a line in mode `recite` or `introduce`.
MeasurementBackend saying(const TemporaryFolder& folder, const std::string& mode,
                          const std::string& line) {
  write_text_file(folder / "line", line);
  MeasurementBackend backend = acting({64}, mode);
  backend.command.arguments.push_back(folder / "line");
  return backend;
}

// Returns the row's status and checks that the file can be continued.
std::string recorded(const TemporaryFolder& folder, const std::string& line) {
  const std::string path = folder / "m.csv";
  (void)::unlink(path.c_str());
  const SweepOptions options{.path = path, .repeats = 1, .timeout_s = 900};
  const MeasurementBackend backend = saying(folder, "recite", line);
  const SweepResult result = sweep(backend, options);
  CHECK(result.progress.done == 1);
  CHECK(sweep(backend, options).progress.found == 1);
  const std::string row = lines_of(path).at(1);
  const std::size_t from = key_of(row).size();
  const std::string status = row.substr(from, row.find(',', from) - from);
  if (status == "ok") CHECK(read_measured_file(path).size() == 1);
  return status;
}

TEST_CASE("an invalid answer fails the cell, whatever its content", "[calibration][sweep]") {
  const TemporaryFolder folder;
  CHECK(recorded(folder, R"({"id":@,"samples_s":[1e-6]})") == "ok");
  for (const char* const id :
       {R"("x")", R"("1")", "null", "[1]", R"({"id":1})", "1.0", "true", "-1", "2", "1e300",
        "99999999999999999999", "-99999999999999999999"}) {
    INFO(id);
    CHECK(recorded(folder, R"({"samples_s":[1e-6],"id":)" + std::string(id) + "}") == "failed");
    CHECK(has(lines_of(folder / "m.csv").at(1), "an answer with the id "));
  }
  for (const char* const rest :
       {R"("samples_s":"many")", R"("samples_s":[{}])", R"("samples_s":[null])",
        R"("samples_s":[1e-6,-1])", R"("samples_s":[0])", R"("samples_s":{"a":1})",
        R"("error":{"a":[1,"\u0000"]})", R"("error":"a\u0000\nb\",c")", R"("extra":{"a":1})",
        R"("nothing":0)"}) {
    INFO(rest);
    CHECK(recorded(folder, R"({"id":@,)" + std::string(rest) + "}") == "failed");
  }
  for (const char* const extra :
       {R"([1])", R"("text")", R"({"a,\"b":"c\r\nd"})", R"({"a":{"b":["\u0007"]}})", "null"}) {
    INFO(extra);
    CHECK(recorded(folder, R"({"id":@,"samples_s":[1e-6],"extra":)" + std::string(extra) + "}") ==
          "ok");
  }
  CHECK(recorded(folder, R"({"id":@,"refused":null})") == "refused");
  // Anything that is not a message is log text, after which the worker ends.
  for (const std::string& text :
       {std::string("{\"id\":@,"), std::string("[@]"),
        std::string("{\"id\":@,\"samples_s\":[1e999]}"), std::string("\xff{\"id\":@}"),
        std::string("{\"id\":@,\"error\":\"\xff\"}"), std::string(100'000, '['),
        "{\"a\":" + std::string(100'000, '['), std::string("{\"id\":@\0}", 9)}) {
    INFO(text.substr(0, 40));
    CHECK(recorded(folder, text) == "crashed");
  }
}

TEST_CASE("an answer with bytes changed, left out or repeated never ends the sweep",
          "[calibration][sweep]") {
  const TemporaryFolder folder;
  const std::string good =
      R"({"extra":{"algorithm_used":"ring","n":[1,2.5e-3]},"id":@,"samples_s":[1e-6,2.5e-6]})";
  const std::string bytes = "{}[]\",:\\0123456789.eE+-@ntuf\x01\x7f\xc3\xff";
  Random random = Random::stream(7, {1});
  const auto below = [&](std::size_t count) {
    return static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(count) - 1));
  };
  const std::set<std::string> known{"ok", "refused", "failed", "crashed"};
  std::set<std::string> seen;
  for (int i = 0; i < 150; ++i) {
    std::string line = good;
    for (std::size_t edits = 1 + below(3); edits > 0; --edits) {
      const std::size_t at = below(line.size());
      const std::size_t kind = below(3);
      if (kind == 0) line[at] = bytes[below(bytes.size())];
      if (kind == 1) line.erase(at, 1 + below(6));
      if (kind == 2) line.insert(at, line.substr(below(line.size()), 1 + below(8)));
      if (line.empty()) line = "@";
    }
    INFO(line);
    const std::string status = recorded(folder, line);
    CHECK(known.contains(status));
    seen.insert(status);
  }
  CHECK(seen.size() >= 3);
}

TEST_CASE("a worker with a bad first line is refused by name, and no file is made",
          "[calibration][sweep]") {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& line, bool plans) {
    const std::string path = folder / "m.csv";
    MeasurementBackend backend = saying(folder, "introduce", line);
    if (plans) {
      const MpiSweep wanted{.system = "lab",
                            .config = "",
                            .collectives = {CollectiveKind::AllReduce},
                            .sizes = {64},
                            .segments = {},
                            .algorithms = {"ring"}};
      backend.plan = mpi_backend(wanted, {}).plan;
    }
    const std::string message = thrown([&] { (void)sweep(backend, {.path = path}); });
    CHECK(::access(path.c_str(), F_OK) != 0);
    return message;
  };
  CHECK(has(refusal(R"({"worker":5})", false), "the worker is one of ''; expected one of 'mpi'"));
  CHECK(has(refusal(R"({"worker":"mpi","refused":{"a":1}})", false), "cannot run here: {"));
  CHECK(has(refusal(R"({"worker":"mpi","environment":{"ranks":"4,5","nodes":"2"}})", false),
            "column ranks of the sweep of 'mpi' would be '4,5'; expected a text without commas"));
  SKIP_UNLESS(::access(build_path("cclgym-mpi-worker").c_str(), X_OK) == 0, kNeedsMpi);
  CHECK(has(refusal(R"({"worker":"mpi"})", true), "does not report its number of ranks"));
  CHECK(has(refusal(R"({"worker":"mpi","environment":[4]})", true), "its number of ranks"));
  CHECK(has(refusal(R"({"worker":"mpi","environment":{"ranks":"many","nodes":"2"}})", true),
            "the worker reports 'many' ranks; expected a number >= 1"));
  CHECK(has(refusal(R"({"worker":"mpi","environment":{"ranks":4,"nodes":"0"}})", true),
            "the worker reports '0' nodes; expected a number >= 1"));
}

TEST_CASE("OpenMPI's configurations for a call: its own choice, whole messages, smaller segments",
          "[calibration][sweep]") {
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
  // The segmented ring is the ring under another number.
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
