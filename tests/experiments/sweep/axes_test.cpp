// Tests of the axes instances, tile and slots, and of tuners as algorithms.
#include "experiments/sweep/axes.hpp"

#include <algorithm>
#include <set>

#include "experiments/run/run_experiment.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/summary/report_summary.hpp"
#include "experiments/summary/table.hpp"
#include "experiments/sweep/bad_experiments.hpp"
#include "experiments/sweep/cell_keys.hpp"
#include "experiments/sweep/load_experiment.hpp"
#include "sim/tuners/tuner.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym {
namespace {

using test::experiment_with;
using Lines = std::vector<std::pair<std::string, std::string>>;

const std::string kTable =
    "tables:\n"
    "  - {fabric: ndv4, collective: allreduce, ranges: [\n"
    "      {sizes: ..64KiB, algorithm: all-pairs, protocol: LL, instances: 2},\n"
    "      {sizes: 64KiB.., algorithm: ring, protocol: LL128, channels: 4, tile: 32KiB}]}\n";

std::string axes_refusal(const Lines& lines, const std::string& path = "e.yaml") {
  try {
    (void)parse_experiment(experiment_with(lines), path);
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

// A folder with the table above and with experiments.
class Beside {
 public:
  explicit Beside(const std::string& table = kTable) {
    test::write_file(folder_ / "t.yaml", table);
  }
  [[nodiscard]] std::string path() const { return folder_ / "e.yaml"; }
  [[nodiscard]] std::string in(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] Experiment load(const Lines& lines) const {
    return parse_experiment(experiment_with(lines), path());
  }

 private:
  test::TemporaryFolder folder_;
};

TEST_CASE("a cell is legal if NCCL offers it, by itself or to a tuner", "[experiments][axes]") {
  // The cells that are legal, as "algorithm/protocol", and the release.
  const auto legal = [](const std::vector<std::pair<std::string, std::string>>& lines) {
    const Experiment experiment = parse_experiment(experiment_with(lines), "e.yaml");
    std::set<std::string> names;
    for (const Cell& cell : experiment.cells) {
      const std::string in = legal_in(experiment, cell);
      if (in != "-") {
        names.insert(cell.named() + "/" + std::string(to_string(cell.config.protocol)) + " " + in);
      }
    }
    return names;
  };
  using Names = std::set<std::string>;
  const std::string newest = " NCCL " + kNewestNccl.to_string();
  const Lines gather{{"fabrics", "hgx-h100"},
                     {"collectives", "allgather"},
                     {"algorithms", "[ring, pat, all-pairs]"},
                     {"protocols", "[LL, LL128, Simple]"}};
  // PAT is for one rank per node, and has Simple only.
  CHECK(legal(gather) == Names{"ring/LL" + newest, "ring/LL128" + newest, "ring/Simple" + newest});
  Lines sends = gather;
  sends[1].second = "alltoall";
  sends[2].second = "naive";
  CHECK(legal(sends) == Names{"naive/LL" + newest, "naive/Simple" + newest});
  Lines copies{{"fabrics", "ndv4"}, {"instances", "2"}};
  CHECK(legal(copies).empty());
  copies[1] = {"tile", "64KiB"};
  CHECK(legal(copies) == Names{"ring/Simple" + newest});  // a tuner of 2.30 sets chunks
  copies.emplace_back("algorithms", "[ring, \"nccl-default:2.18\"]");
  CHECK(legal(copies).size() == 1);
  CHECK(legal(copies).begin()->starts_with("nccl-default:2.18/"));
  CHECK(legal({{"fabrics", "ndv4"}, {"slots", "4"}}).empty());
  CHECK(legal({{"fabrics", "ndv4"}, {"cost_model", "hockney"}}).empty());
  CHECK(legal({{"fabrics", "{name: ring, gpus: 4}"}}).empty());
}

TEST_CASE("instances, tiles and slots are axes", "[experiments][axes]") {
  const Experiment experiment =
      parse_experiment(experiment_with({{"channels", "[1, 4]"},
                                        {"instances", "1..4 x2"},
                                        {"tile", "[0B, 64KiB, 16KiB..32KiB x2]"},
                                        {"slots", "[0, 3..4]"}}),
                       "e.yaml");
  REQUIRE(experiment.cells.size() == 2 * 3 * 4 * 3);
  const std::vector<std::string> keys = keys_of(experiment);
  CHECK(std::set<std::string>(keys.begin(), keys.end()).size() == keys.size());
  CHECK(keys[0] == "dgx1/allreduce/ring/Simple/c1/t512/1KiB/s1/tile-none/slots-none");
  CHECK(keys[1] == "dgx1/allreduce/ring/Simple/c1/t512/1KiB/s1/tile-none/slots-3");
  CHECK(keys[5] == "dgx1/allreduce/ring/Simple/c1/t512/1KiB/s1/tile-64KiB/slots-4");
  CHECK(keys[12] == "dgx1/allreduce/ring/Simple/c1/t512/1KiB/s1/r2/tile-none/slots-none");
  CHECK(keys.back() == "dgx1/allreduce/ring/Simple/c4/t512/1KiB/s1/r4/tile-32KiB/slots-4");
  CHECK(experiment.cells.back().config.instances == 4);
  CHECK(experiment.cells.back().config.tile_bytes == 32768);
  CHECK(experiment.cells.back().config.slots == 4);
}

TEST_CASE("a protocol's tile and the equal explicit size are one cell", "[experiments][axes]") {
  // LL's tiles have 32KiB, a ring's with Simple 2MiB.
  const Experiment experiment = parse_experiment(
      experiment_with({{"protocols", "[LL, Simple]"}, {"tile", "[protocol, 32KiB]"}}), "e.yaml");
  CHECK(keys_of(experiment) ==
        std::vector<std::string>{"dgx1/allreduce/ring/LL/c1/t512/1KiB/s1",
                                 "dgx1/allreduce/ring/Simple/c1/t512/1KiB/s1",
                                 "dgx1/allreduce/ring/Simple/c1/t512/1KiB/s1/tile-32KiB"});
  CHECK(axes_refusal({{"tile", "[protocol, protocol]"}}) ==
        "e.yaml:6:18: tile has protocol more than once");
  CHECK(axes_refusal({{"slots", "[1, 1]"}}) == "e.yaml:6:12: slots has 1 more than once");
  CHECK(axes_refusal({{"instances", "65"}}) ==
        "e.yaml:6:12: instances is '65'; expected >= 1, <= 64");
}

TEST_CASE("selectors match instances, tiles and slots, also those of the protocol",
          "[experiments][axes]") {
  const auto with = [](const std::string& baseline) {
    return parse_experiment(experiment_with({{"protocols", "[LL, Simple]"},
                                             {"instances", "[1, 2]"},
                                             {"tile", "[0B, protocol]"},
                                             {"slots", "[0, protocol, 3]"},
                                             {"baseline", baseline}}),
                            "e.yaml");
  };
  const auto matched = [](const Experiment& experiment) {
    std::vector<std::string> keys;
    for (const Cell& cell : experiment.cells) {
      if (experiment.baseline->matches(experiment, cell)) {
        keys.push_back(cell_key(experiment, cell));
      }
    }
    return keys;
  };
  CHECK(matched(with("{instances: 2}")).size() == 12);
  const std::string head = "dgx1/allreduce/ring/";
  CHECK(
      matched(with("{instances: 2, tile: protocol, slots: protocol}")) ==
      std::vector<std::string>{head + "LL/c1/t512/1KiB/s1/r2", head + "Simple/c1/t512/1KiB/s1/r2"});
  CHECK(matched(with("{protocol: LL, instances: 1, tile: 0B, slots: 3}")) ==
        std::vector<std::string>{head + "LL/c1/t512/1KiB/s1/tile-none/slots-3"});
  CHECK(baseline_text(with("{instances: 2, tile: protocol, slots: 3}")) ==
        "the fastest of 2 instances, tiles of protocol, slots 3");
  CHECK(axes_refusal({{"tile", "protocol"}, {"baseline", "{tile: 0B}"}}) ==
        "e.yaml:7:18: unknown tile of the experiment '0B'; expected one of protocol");
  CHECK(axes_refusal({{"baseline", "{slots: 7}"}}) ==
        "e.yaml:6:19: unknown slots of the experiment '7'; expected one of protocol");
}

TEST_CASE("instances whose thread blocks do not fit are left out", "[experiments][axes]") {
  const Experiment experiment = parse_experiment(
      experiment_with({{"fabrics", "ndv4"}, {"channels", "[1, 16]"}, {"instances", "[1, 16]"}}),
      "e.yaml");
  CHECK(experiment.cells.size() == 3);
  REQUIRE(experiment.skipped.size() == 1);
  CHECK(experiment.skipped[0].starts_with(
      "on fabric 'ndv4', allreduce: ring with 16 channels and 16 instances needs "));
}

TEST_CASE("a tuner has one cell per size and seed, with its choice", "[experiments][axes]") {
  const Beside beside;
  const Experiment experiment = beside.load({{"fabrics", "ndv4"},
                                             {"algorithms", "[ring, 'dispatch:t.yaml']"},
                                             {"protocols", "[LL, Simple]"},
                                             {"channels", "[1, 2]"},
                                             {"threads", "[256, 512]"},
                                             {"sizes", "[1KiB, 64KiB]"},
                                             {"seeds", "[3, 4]"},
                                             {"legal", "any"},
                                             {"baseline", "{algorithm: 'dispatch:t.yaml'}"}});
  const std::vector<std::string> keys = keys_of(experiment);
  REQUIRE(keys.size() == 2 * 2 * 2 * 2 * 2 + 2 * 2);
  CHECK(std::vector<std::string>(keys.end() - 4, keys.end()) ==
        std::vector<std::string>{
            "ndv4/allreduce/dispatch:t.yaml/1KiB/s3", "ndv4/allreduce/dispatch:t.yaml/1KiB/s4",
            "ndv4/allreduce/dispatch:t.yaml/64KiB/s3", "ndv4/allreduce/dispatch:t.yaml/64KiB/s4"});
  CHECK(experiment.cells.back().named() == "dispatch:t.yaml");
  CHECK(experiment.cells.back().config == Config{.algorithm = "ring",
                                                 .protocol = Protocol::LL128,
                                                 .channels = 4,
                                                 .tile_bytes = 32768,
                                                 .slots = 8});
  CHECK(experiment.cells.front().named() == "ring");
  CHECK(baseline_text(experiment) == "dispatch:t.yaml");

  run_experiment(experiment, {.folder = beside.in("run")});
  const std::vector<ResultRow> rows = read_results(results_path(beside.in("run"))).rows;
  REQUIRE(rows.size() == keys.size());
  const ResultRow& small = rows[rows.size() - 4];
  CHECK(small.algorithm == "dispatch:t.yaml");
  CHECK(small.program == "all-pairs");
  CHECK(small.protocol == "LL");
  CHECK(small.instances == 2);
  CHECK(small.chosen());
  const ResultRow& large = rows.back();
  CHECK(large.program == "ring");
  CHECK(large.channels == 4);
  CHECK(large.tile_bytes == 32768);
  CHECK_FALSE(rows.front().chosen());
  CHECK(rows.front().program == "ring");

  const ResultSummary summary = summarize(experiment, rows, {});
  CHECK(summary.chosen);
  CHECK(summary.instances_vary);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    REQUIRE(summary.speedups[i]);
    if (rows[i].chosen()) CHECK(*summary.speedups[i] == 1);
    const ResultRow& base = rows[i].size_bytes == 1024 ? small : large;
    CHECK(*summary.speedups[i] == Approx(base.time_us / rows[i].time_us));
  }
  const std::string table = table_text(experiment, rows, {});
  CHECK(table.find("speedup over dispatch:t.yaml\n") != std::string::npos);
  CHECK(table.find("algorithm        program    protocol  ch  r  thr") != std::string::npos);
  CHECK(table.find("1KiB  dispatch:t.yaml  all-pairs  LL         1  2  512") != std::string::npos);

  // The table's content is part of the hash.
  const std::string hash = experiment.hash();
  std::string changed = kTable;
  changed.replace(changed.find("instances: 2"), 12, "instances: 1");
  test::write_file(beside.in("t.yaml"), changed);
  CHECK(load_run_experiment(beside.in("run")).hash() != hash);
  CHECK_THROWS_AS(read_run_results(load_run_experiment(beside.in("run")), beside.in("run")),
                  UserError);
}

TEST_CASE("every tuner of NCCL's releases can be named", "[experiments][axes]") {
  const Experiment experiment =
      parse_experiment(experiment_with({{"fabrics", "[ndv4, {name: ndv4, servers: 2}]"},
                                        {"algorithms", "[ring, 'nccl-default:2.8.4']"},
                                        {"sizes", "1KiB..1GiB x4"},
                                        {"baseline", "{algorithm: 'nccl-default:2.8.4'}"}}),
                       "e.yaml");
  std::size_t chosen = 0;
  for (const Cell& cell : experiment.cells) {
    CHECK(experiment.baseline->matches(experiment, cell) == !cell.tuner.empty());
    if (cell.tuner.empty()) continue;
    ++chosen;
    const ExperimentFabric& on = experiment.fabrics[cell.fabric];
    const auto tuner = make_tuner(
        cell.tuner, {.fabric = on.fabric, .fabric_label = on.label, .cost_model = on.cost_model});
    CHECK(cell.config == tuner->choose(cell.call));
  }
  CHECK(chosen == 2 * 11);
}

TEST_CASE("a tuner is left out where it does not choose, and refused where it cannot",
          "[experiments][axes]") {
  const Beside beside;
  const Experiment some = beside.load({{"fabrics", "[dgx1, ndv4]"},
                                       {"collectives", "[allreduce, allgather]"},
                                       {"algorithms", "[ring, 'dispatch:t.yaml']"}});
  CHECK(some.skipped ==
        std::vector<std::string>{"'dispatch:t.yaml' has no allgather",
                                 "on fabric 'dgx1': 'dispatch:t.yaml' has no allreduce"});
  CHECK(some.cells.size() == 4 + 1);
  const std::string path = beside.path();
  const auto of = [&](const Lines& lines) {
    const std::string message = axes_refusal(lines, path);
    return message.starts_with(path) ? message.substr(path.size()) : message;
  };
  CHECK(of({{"algorithms", "['dispatch:t.yaml']"}}) ==
        ":4:14: 'dispatch:t.yaml' has none of the experiment's collectives on its fabrics");
  CHECK(of({{"algorithms", "['dispatch:gone.yaml']"}}) ==
        ":4:14: dispatch table '" + beside.in("gone.yaml") + "' does not exist");
  CHECK(of({{"algorithms", "['dispatsch:t.yaml']"}})
            .starts_with(":4:14: unknown algorithm 'dispatsch:t.yaml'; expected one of ring, "));
  CHECK(of({{"fabrics", "ndv4"},
            {"algorithms", "['dispatch:t.yaml']"},
            {"baseline", "{algorithm: 'dispatch:t.yaml', channels: 1}"}}) ==
        ":6:52: channels is chosen by 'dispatch:t.yaml'; leave it out");
  CHECK(of({{"algorithms", "[ring, 'nccl-default:1.0']"}}).find("1.0") != std::string::npos);

  const Beside narrow(
      "tables:\n  - fabric: ndv4\n    collective: allreduce\n    ranges:\n"
      "      - {sizes: 2KiB.., algorithm: ring}\n");
  CHECK(axes_refusal({{"fabrics", "ndv4"}, {"algorithms", "['dispatch:t.yaml']"}}, narrow.path()) ==
        narrow.path() + ":4:14: on fabric 'ndv4', allreduce of 1KiB: " + narrow.in("t.yaml") +
            ": no range for allreduce of 1KiB on 'ndv4'; the table there has sizes of 2KiB and "
            "more");
  const Beside odd(
      "tables:\n  - fabric: ring gpus=6\n    collective: allreduce\n    ranges:\n"
      "      - {sizes: .., algorithm: recursive-doubling}\n");
  CHECK(
      axes_refusal({{"fabrics", "[{name: ring, gpus: 6}]"}, {"algorithms", "['dispatch:t.yaml']"}},
                   odd.path()) ==
      odd.path() +
          ":4:14: on fabric 'ring gpus=6', allreduce of 1KiB: its choice cannot run: "
          "recursive-doubling does not run on 6 ranks: it needs a power of two >= 2");
}

TEST_CASE("results from before a column was added are refused", "[experiments][axes]") {
  const test::TemporaryFolder folder;
  const Experiment experiment = parse_experiment(experiment_with({{"engine", "flow"}}), "e.yaml");
  std::string header = result_header();
  const std::string column = ",instances";
  header.erase(header.find(column), column.size());
  test::write_file(folder / "results.csv", header + "\n");
  try {
    run_experiment(experiment, {.folder = folder.path()});
    FAIL("accepted");
  } catch (const UserError& error) {
    const std::string message = error.what();
    CHECK(message.find("'instances'") != std::string::npos);
    CHECK(message.find("choose another folder with --out, or start over with --fresh") !=
          std::string::npos);
  }
}

}  // namespace
}  // namespace cclgym
