// Tests of the axis `noise` of an experiment.
#include <algorithm>

#include "experiments/run/results.hpp"
#include "experiments/run/run_experiment.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/sweep/bad_experiments.hpp"
#include "experiments/sweep/load_experiment.hpp"
#include "sim/simulator.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym {
namespace {

using test::read_file;
using test::TemporaryFolder;
using test::write_file;

Experiment noisy(const std::vector<std::pair<std::string, std::string>>& more = {}) {
  std::vector<std::pair<std::string, std::string>> lines{{"fabrics", "{name: ndv4, servers: 2}"},
                                                         {"collectives", "alltoall"},
                                                         {"algorithms", "two-step"},
                                                         {"sizes", "[64KiB, 4MiB]"},
                                                         {"seeds", "1..8"},
                                                         {"noise", "[none, cloud-ib]"},
                                                         {"engine", "flow"}};
  lines.insert(lines.end(), more.begin(), more.end());
  return parse_experiment(test::experiment_with(lines), "e.yaml");
}

std::string noise_refusal(const std::string& noise) {
  try {
    (void)noisy({{"noise", noise}});
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

void run_noisy(const Experiment& experiment, const std::string& folder, std::size_t jobs) {
  run_experiment(experiment, {.folder = folder, .jobs = jobs, .fresh = false}, {});
}

TEST_CASE("every fabric is combined with every noise", "[experiments][noise-experiment]") {
  const Experiment experiment = noisy();
  REQUIRE(experiment.fabrics.size() == 2);
  CHECK(experiment.fabrics[0].label == "ndv4 nodes=2");
  CHECK(experiment.fabrics[0].noise.none());
  CHECK(experiment.fabrics[1].label == "ndv4 nodes=2 noise=cloud-ib");
  CHECK(experiment.fabrics[1].plain_label == "ndv4 nodes=2");
  CHECK(experiment.fabrics[1].noise.name == "cloud-ib");
  REQUIRE(experiment.cells.size() == 2 * 2 * 8);
  CHECK(cell_key(experiment, experiment.cells.back()) ==
        "ndv4_nodes=2_noise=cloud-ib/alltoall/two-step/Simple/c1/t512/4MiB/s8");
  CHECK(experiment.hash() != noisy({{"noise", "none"}}).hash());
  // Results from before the axis `noise` stay valid without noise.
  CHECK(noisy({{"noise", "none"}}).hash() == noisy({{"noise", "[none]"}}).hash());
}

TEST_CASE("rows under noise: independent of the number of jobs; unchanged without noise",
          "[experiments][noise-experiment]") {
  const Experiment experiment = noisy();
  const TemporaryFolder one;
  const TemporaryFolder many;
  run_noisy(experiment, one.path(), 1);
  run_noisy(experiment, many.path(), 3);
  CHECK(read_file(results_path(one.path())) == read_file(results_path(many.path())));
  const std::vector<ResultRow> rows = read_results(results_path(one.path())).rows;
  REQUIRE(rows.size() == experiment.cells.size());
  std::vector<double> times_us;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Cell& cell = experiment.cells[i];
    const ExperimentFabric& fabric = experiment.fabrics[cell.fabric];
    Simulator simulator(fabric.fabric, fabric.cost_model, "flow");
    simulator.set_noise(fabric.noise);
    INFO(rows[i].cell_key);
    CHECK(rows[i].time_us == simulator.simulate(cell.call, cell.config, cell.seed).time_s * 1e6);
    if (!fabric.noise.none()) times_us.push_back(rows[i].time_us);
  }
  std::sort(times_us.begin(), times_us.end());
  CHECK(std::adjacent_find(times_us.begin(), times_us.end()) == times_us.end());

  const TemporaryFolder plain;
  run_noisy(noisy({{"noise", "none"}}), plain.path(), 1);
  const std::vector<ResultRow> without = read_results(results_path(plain.path())).rows;
  REQUIRE(without.size() == rows.size() / 2);
  for (std::size_t i = 0; i < without.size(); ++i) CHECK(without[i].time_us == rows[i].time_us);
}

TEST_CASE("repetitions under noise are different moments of the same machine",
          "[experiments][noise-experiment]") {
  const TemporaryFolder folder;
  const Experiment experiment = noisy({{"repetitions", "5"}, {"seeds", "3"}, {"sizes", "4MiB"}});
  run_noisy(experiment, folder.path(), 1);
  const std::vector<ResultRow> rows = read_results(results_path(folder.path())).rows;
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].repetitions == 1);
  CHECK(rows[0].time_min_us == rows[0].time_max_us);
  CHECK(rows[1].repetitions == 5);
  CHECK(rows[1].time_min_us < rows[1].time_max_us);
}

TEST_CASE("the path of a user's profile starts at the folder of the experiment",
          "[experiments][noise-experiment]") {
  const TemporaryFolder folder;
  write_file(folder / "mine.yaml", "name: mine\nstart_skew: 5us\n");
  write_file(folder / "e.yaml",
             test::experiment_with({{"fabrics", "ndv4"}, {"noise", "mine.yaml"}}));
  const Experiment experiment = load_experiment(folder / "e.yaml");
  CHECK(experiment.fabrics.at(0).label == "ndv4 noise=mine");
  CHECK(experiment.fabrics[0].noise.start_skew_s == 5e-6);
  CHECK(experiment.fabrics[0].random());
}

TEST_CASE("wrong noise is refused with its place", "[experiments][noise-experiment]") {
  CHECK(noise_refusal("cloud-ibb")
            .find("unknown noise profile 'cloud-ibb'; expected one of none, cloud-ib (did you mean "
                  "'cloud-ib'?)") != std::string::npos);
  CHECK(noise_refusal("cloud-ibb").find("e.yaml:") == 0);
  CHECK(noise_refusal("[cloud-ib, cloud-ib]").find("noise has 'cloud-ib' more than once") !=
        std::string::npos);
  CHECK(noise_refusal("missing.yaml").find("missing.yaml") != std::string::npos);
  CHECK(noise_refusal("missing.yaml").find("e.yaml:") == 0);
}

}  // namespace
}  // namespace cclgym
