// Tests of runs in this process: rows, resuming, refusals.
#include "experiments/run/run_experiment.hpp"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "experiments/run/link_table.hpp"
#include "experiments/run/results.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/sweep/bad_experiments.hpp"
#include "experiments/sweep/load_experiment.hpp"
#include "sim/engine/engine.hpp"
#include "sim/simulator.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym {
namespace {

using test::read_file;
using test::TemporaryFolder;
using test::write_file;

Experiment small_experiment(const std::vector<std::pair<std::string, std::string>>& more = {}) {
  std::vector<std::pair<std::string, std::string>> lines{
      {"fabrics", "[dgx1, {name: ring, gpus: 4}]"},
      {"collectives", "[allreduce, allgather]"},
      {"algorithms", "[ring, tree]"},
      {"protocols", "[LL, Simple]"},
      {"sizes", "[1KiB, 1MiB]"},
      {"engine", "flow"}};
  lines.insert(lines.end(), more.begin(), more.end());
  return parse_experiment(test::experiment_with(lines), "e.yaml");
}

struct Started {
  std::size_t found = 0;
  bool dropped_row = false;
};

Started run(const Experiment& experiment, const std::string& folder, std::size_t jobs = 1,
            bool fresh = false) {
  Started started;
  run_experiment(experiment, {.folder = folder, .jobs = jobs, .fresh = fresh},
                 {.on_start =
                      [&](std::size_t found, bool dropped_row) {
                        started = {found, dropped_row};
                      },
                  .on_progress = {}});
  return started;
}

std::string refusal(const Experiment& experiment, const std::string& folder) {
  try {
    run(experiment, folder);
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

TEST_CASE("a row has the values of the simulator", "[experiments][run-experiment]") {
  const TemporaryFolder folder;
  const Experiment experiment = small_experiment();
  run(experiment, folder.path());
  const ResultTable table = read_results(results_path(folder.path()));
  REQUIRE(table.rows.size() == experiment.cells.size());
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const ResultRow& row = table.rows[i];
    const Cell& cell = experiment.cells[i];
    const ExperimentFabric& fabric = experiment.fabrics[cell.fabric];
    INFO(row.cell_key);
    CHECK(row.cell_key == cell_key(experiment, cell));
    CHECK(row.experiment_hash == experiment.hash());
    CHECK(row.ranks == fabric.fabric->ranks());
    CHECK(row.engine == "flow");
    CHECK(row.cost_model == fabric.cost_model.label());
    CHECK(row.repetitions == 1);
    Simulator simulator(fabric.fabric, fabric.cost_model, "flow");
    const Result result = simulator.simulate(cell.call, cell.config);
    CHECK(row.time_us == result.time_s * 1e6);
    CHECK(row.time_min_us == row.time_us);
    CHECK(row.time_max_us == row.time_us);
    CHECK(row.algbw_GBps == Approx(result.algbw_Bps / 1e9).epsilon(1e-12));
    CHECK(row.busbw_GBps == Approx(result.busbw_Bps / 1e9).epsilon(1e-12));
    CHECK(row.steps == result.steps);
    CHECK(row.flows == result.flows);
  }
}

TEST_CASE("random cost models are repeated: median, min and max time",
          "[experiments][run-experiment]") {
  const TemporaryFolder folder;
  const Experiment experiment =
      parse_experiment(test::experiment_with({{"fabrics", "ndv4"},
                                              {"cost_model", "{start_skew: 5us}"},
                                              {"repetitions", "4"},
                                              {"seeds", "[1, 2]"},
                                              {"engine", "flow"}}),
                       "e.yaml");
  run(experiment, folder.path());
  const std::vector<ResultRow> rows = read_results(results_path(folder.path())).rows;
  REQUIRE(rows.size() == 2);
  const ExperimentFabric& fabric = experiment.fabrics[0];
  for (std::size_t i = 0; i < 2; ++i) {
    Simulator simulator(fabric.fabric, fabric.cost_model, "flow");
    std::vector<double> times_us;
    for (std::uint64_t repetition = 0; repetition < 4; ++repetition) {
      times_us.push_back(simulator
                             .simulate(experiment.cells[i].call, experiment.cells[i].config,
                                       experiment.cells[i].seed, repetition)
                             .time_s *
                         1e6);
    }
    std::sort(times_us.begin(), times_us.end());
    CHECK(rows[i].repetitions == 4);
    CHECK(rows[i].time_min_us == times_us[0]);
    CHECK(rows[i].time_us == Approx((times_us[1] + times_us[2]) / 2).epsilon(1e-14));
    CHECK(rows[i].time_max_us == times_us[3]);
    CHECK(rows[i].time_min_us < rows[i].time_max_us);
  }
  CHECK(rows[0].time_us != rows[1].time_us);
}

TEST_CASE("the same bytes with one, two and five jobs, with every engine",
          "[experiments][run-experiment]") {
  for (const EngineInfo& engine : engine_infos()) {
    INFO(engine.name);
    Experiment experiment = small_experiment();
    experiment.engine = engine.name;
    const TemporaryFolder one;
    run(experiment, one.path());
    for (const std::size_t jobs : {2U, 5U}) {
      const TemporaryFolder many;
      run(experiment, many.path(), jobs);
      CHECK(read_file(results_path(many.path())) == read_file(results_path(one.path())));
    }
  }
}

TEST_CASE("a run continues after the last complete row, wherever it was cut",
          "[experiments][run-experiment]") {
  const Experiment experiment = small_experiment();
  const TemporaryFolder whole;
  const Started first = run(experiment, whole.path());
  CHECK(first.found == 0);
  CHECK_FALSE(first.dropped_row);
  const std::string bytes = read_file(results_path(whole.path()));
  const Started again = run(experiment, whole.path());
  CHECK(again.found == experiment.cells.size());
  CHECK_FALSE(again.dropped_row);

  const std::size_t header = bytes.find('\n') + 1;
  const TemporaryFolder cut;
  for (std::size_t length = 0; length < bytes.size(); length += length < header ? 40 : 97) {
    write_file(results_path(cut.path()), bytes.substr(0, length));
    const Started resumed = run(experiment, cut.path());
    const auto rows = static_cast<std::size_t>(
        std::count(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length), '\n'));
    CHECK(resumed.found == (rows == 0 ? 0 : rows - 1));
    CHECK(resumed.dropped_row == (length > header && bytes[length - 1] != '\n'));
    CHECK(read_file(results_path(cut.path())) == bytes);
  }
}

TEST_CASE("results of another experiment are refused, and deleted if asked to",
          "[experiments][run-experiment]") {
  const TemporaryFolder folder;
  const Experiment experiment = small_experiment();
  const Experiment other = small_experiment({{"channels", "2"}});
  run(experiment, folder.path());
  const std::string bytes = read_file(results_path(folder.path()));
  CHECK(refusal(other, folder.path()) ==
        results_path(folder.path()) +
            ": has results of another experiment or version: line 2 is of " + experiment.hash() +
            ", this experiment is " + other.hash() +
            "; choose another folder with --out, or start over with --fresh");
  CHECK(read_file(results_path(folder.path())) == bytes);
  CHECK(load_run_experiment(folder.path()).hash() == experiment.hash());
  CHECK(run(other, folder.path(), 1, true).found == 0);
  CHECK(read_results(results_path(folder.path())).rows[0].experiment_hash == other.hash());
  CHECK(load_run_experiment(folder.path()).hash() == other.hash());
}

TEST_CASE("rows that are out of order or too many are refused", "[experiments][run-experiment]") {
  const TemporaryFolder folder;
  const Experiment experiment = small_experiment();
  run(experiment, folder.path());
  const std::string bytes = read_file(results_path(folder.path()));
  const std::size_t first = bytes.find('\n') + 1;
  const std::size_t second = bytes.find('\n', first) + 1;
  write_file(results_path(folder.path()), bytes.substr(0, first) + bytes.substr(second));
  CHECK(refusal(experiment, folder.path())
            .find("line 2 is cell 'dgx1/allreduce/ring/LL/c1/t512/"
                  "1MiB/s1'; expected 'dgx1/allreduce/ring/LL/c1/"
                  "t512/1KiB/s1'") != std::string::npos);
}

TEST_CASE("a file that has no results is refused and left alone", "[experiments][run-experiment]") {
  const TemporaryFolder folder;
  write_file(results_path(folder.path()), "my precious notes\n");
  CHECK(refusal(small_experiment(), folder.path()).find("--fresh") != std::string::npos);
  CHECK(read_file(results_path(folder.path())) == "my precious notes\n");
}

TEST_CASE("two runs cannot write one folder", "[experiments][run-experiment]") {
  const TemporaryFolder folder;
  const Experiment experiment = small_experiment();
  const int held = ::open(results_path(folder.path()).c_str(), O_RDWR | O_CREAT, 0666);
  REQUIRE(held >= 0);
  REQUIRE(::flock(held, LOCK_EX) == 0);
  CHECK(refusal(experiment, folder.path()) ==
        results_path(folder.path()) +
            ": another run is writing this file; wait for it or choose another folder");
  ::close(held);
  CHECK(refusal(experiment, folder.path()) == "accepted");
}

TEST_CASE("a folder that cannot be made or written is refused", "[experiments][run-experiment]") {
  const TemporaryFolder folder;
  write_file(folder / "file", "");
  CHECK(refusal(small_experiment(), folder / "file/results") ==
        "'" + (folder / "file/results") + "': the folder cannot be made: Not a directory");
  CHECK(refusal(small_experiment(), folder / "file") ==
        "'" + (folder / "file") + "' is a file; expected a folder for the results");
  std::filesystem::create_directories(folder / "run/results.csv");
  CHECK(refusal(small_experiment(), folder / "run") ==
        (folder / "run/results.csv") + ": cannot be opened for writing: Is a directory");
}

TEST_CASE("a full disk: an error, only complete rows, and the run can be continued",
          "[experiments][run-experiment]") {
  const TemporaryFolder folder;
  const Experiment experiment = small_experiment();
  run(experiment, folder / "whole");
  const std::string bytes = read_file(results_path(folder / "whole"));
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit little{1500, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &little) == 0);
  const std::string message = refusal(experiment, folder / "cut");
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  CHECK(message.starts_with(results_path(folder / "cut") + " needs at least "));
  const std::string cut = read_file(results_path(folder / "cut"));
  CHECK(cut.size() < 1500);
  CHECK(cut.ends_with('\n'));
  CHECK(bytes.starts_with(cut));
  CHECK_FALSE(run(experiment, folder / "cut").dropped_row);
  CHECK(read_file(results_path(folder / "cut")) == bytes);
}

TEST_CASE("a run's folder has the experiment, including the engine",
          "[experiments][run-experiment]") {
  const TemporaryFolder folder;
  const std::string path = test::source_path("experiments/ndv4-allreduce-vs-measured.yaml");
  Experiment experiment = load_experiment(path);
  experiment.engine = "flow";
  save_run_experiment(experiment, folder.path());
  const Experiment loaded = load_run_experiment(folder.path());
  CHECK(loaded.hash() == experiment.hash());
  CHECK(loaded.engine == "flow");
  CHECK(loaded.measured == experiment.measured);
  CHECK(loaded.path == path);
  write_file(folder / "experiment.yaml", experiment.text);
  CHECK_THROWS_AS(load_run_experiment(folder.path()), UserError);
}

TEST_CASE("timelines are written for the first cell of each selector, and removed by a new run",
          "[experiments][run-experiment]") {
  const TemporaryFolder folder;
  const Experiment experiment =
      small_experiment({{"timeline",
                         "[{algorithm: tree, size: 1MiB}, {algorithm: tree, size: "
                         "1MiB, fabric: dgx1}]"}});
  run(experiment, folder.path());
  const std::vector<std::string> paths = write_timelines(experiment, folder.path());
  REQUIRE(paths == std::vector<std::string>{
                       folder / "timelines/dgx1-allreduce-tree-LL-c1-t512-1MiB-s1.json"});
  CHECK(read_file(paths[0]).find("traceEvents") != std::string::npos);
  const std::vector<LinkRow> links = read_link_table(link_table_path(paths[0]));
  REQUIRE(links.size() >= 2);
  for (std::size_t i = 0; i < links.size(); ++i) {
    CHECK(links[i].share == Approx(links[i].rate_GBps / links[i].capacity_GBps));
    if (i > 0) CHECK(links[i].share <= links[i - 1].share + 1e-9);
  }
  write_file(folder / "report.html", "old");
  run(experiment, folder.path(), 1, true);
  CHECK_FALSE(std::filesystem::exists(paths[0]));
  CHECK_FALSE(std::filesystem::exists(link_table_path(paths[0])));
  CHECK_FALSE(std::filesystem::exists(folder / "report.html"));
}

}  // namespace
}  // namespace cclgym
