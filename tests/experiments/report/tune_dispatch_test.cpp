// Tests of the dispatch table of a sweep: minimum number of ranges, small loss, round trip.
#include "experiments/summary/tune_dispatch.hpp"

#include <algorithm>
#include <map>

#include "core/random.hpp"
#include "experiments/report/report_sample.hpp"
#include "experiments/run/run_experiment.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/sweep/bad_experiments.hpp"
#include "experiments/sweep/load_experiment.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym {
namespace {

using test::experiment_of;
using test::row;

// Ranges of a block in short form: "..4096 ring c1; 4096.. tree c2".
std::string in_short(const TunedBlock& block) {
  std::string text;
  for (const TunedRange& range : block.ranges) {
    const Config& config = range.range.choice.config;
    text += (text.empty() ? "" : "; ") + range_text(range.range) + " " + config.algorithm + " c" +
            std::to_string(config.channels);
  }
  return text;
}

TEST_CASE("the fastest at each size, merged where the loss is within the tolerance",
          "[experiments][tune-dispatch]") {
  const std::vector<ResultRow> rows{
      row("ring", "LL", 1, 1024, 10),     row("tree", "LL", 1, 1024, 20),
      row("ring", "LL", 1, 2048, 10.05),  row("tree", "LL", 1, 2048, 10),
      row("ring", "LL", 1, 4096, 11),     row("tree", "LL", 1, 4096, 10.95),
      row("ring", "Simple", 4, 8192, 20), row("tree", "LL", 1, 8192, 21),
      row("ring", "Simple", 4, 1024, 40), row("ring", "Simple", 4, 16384, 30),
      row("tree", "LL", 1, 16384, 31)};
  const Experiment experiment = experiment_of(rows);  // the baseline is ring, Simple
  const auto tuned = [&](double tolerance) {
    const std::vector<TunedBlock> blocks = tune_dispatch(experiment, rows, tolerance);
    REQUIRE(blocks.size() == 1);
    return blocks[0];
  };
  CHECK(in_short(tuned(0)) == "..2KiB ring c1; 2KiB..8KiB tree c1; 8KiB.. ring c4");
  const TunedBlock block = tuned(0.01);
  CHECK(block.fabric == "ndv4");
  CHECK(block.collective == CollectiveKind::AllReduce);
  CHECK(in_short(block) == "..8KiB ring c1; 8KiB.. ring c4");
  CHECK(block.ranges[0].tested == 3);
  CHECK(block.ranges[0].loss == Approx(0.005));
  CHECK(block.ranges[1].loss == 0);
  CHECK(block.ranges[0].least_speedup.value() == 4);  // from 1KiB only
  CHECK(block.ranges[0].most_speedup.value() == 4);
  CHECK(in_short(tuned(0.06)) == in_short(block));  // because tree would lose more
  CHECK(in_short(tuned(1)) == ".. tree c1");
  CHECK(tuned_text(experiment, {block}) ==
        R"(sample: dispatch table, engine flow
speedup over ring, Simple
loss: max over the tested sizes, relative to the fastest

ndv4, allreduce
  sizes   algorithm  protocol  ch  r  thr  tested  speedup  loss
                                                         x     %
  ..8KiB  ring       LL         1  1  512       3     4.00  0.50
  8KiB..  ring       Simple     4  1  512       2     1.00  0.00
)");
}

TEST_CASE("of the tables with the min number of ranges, the one with the min loss",
          "[experiments][tune-dispatch]") {
  // Both configurations cover the middle; tree is closer to the best there.
  const std::vector<ResultRow> rows{
      row("ring", "LL", 1, 1024, 10),   row("ring", "LL", 1, 2048, 10.09),
      row("tree", "LL", 1, 2048, 10.0), row("ring", "LL", 1, 4096, 10.09),
      row("tree", "LL", 1, 4096, 10.0), row("tree", "LL", 1, 8192, 10)};
  const auto blocks = tune_dispatch(experiment_of(rows, false), rows, 0.01);
  CHECK(in_short(blocks.at(0)) == "..2KiB ring c1; 2KiB.. tree c1");
  CHECK_FALSE(blocks[0].ranges[0].least_speedup);
}

TEST_CASE("seeds count by their median; a tuner's choice counts as the configuration that ran",
          "[experiments][tune-dispatch]") {
  std::vector<ResultRow> rows{row("ring", "LL", 1, 1024, 10, 1), row("ring", "LL", 1, 1024, 30, 2),
                              row("ring", "LL", 1, 1024, 31, 3), row("tree", "LL", 1, 1024, 29, 1),
                              row("tree", "LL", 1, 1024, 29, 2), row("tree", "LL", 1, 1024, 29, 3)};
  CHECK(in_short(tune_dispatch(experiment_of(rows), rows, 0).at(0)) == ".. tree c1");
  rows = {row("ring", "LL", 1, 1024, 10), row("ring", "LL", 1, 2048, 10),
          row("tree", "LL", 2, 1024, 9), row("tree", "LL", 2, 2048, 20)};
  rows[2].algorithm = "nccl-default:2.8.4";
  CHECK(in_short(tune_dispatch(experiment_of(rows), rows, 0).at(0)) ==
        "..2KiB tree c2; 2KiB.. ring c1");
}

TEST_CASE("random sweeps: the min number of ranges, none slower than allowed",
          "[experiments][tune-dispatch]") {
  Random random = Random::stream(11, {});
  for (int trial = 0; trial < 200; ++trial) {
    constexpr int kSizes = 8;
    const int configs = 1 + trial % 5;
    const double tolerance = trial % 3 == 0 ? 0 : 0.2;
    std::vector<ResultRow> rows;
    std::vector<std::vector<double>> times(kSizes);
    for (int size = 0; size < kSizes; ++size) {
      for (int config = 0; config < configs; ++config) {
        times[static_cast<std::size_t>(size)].push_back(1 + 0.1 * std::floor(random.uniform() * 8));
        rows.push_back(row("ring", "LL", config + 1, std::uint64_t{1024} << size,
                           times[static_cast<std::size_t>(size)].back()));
      }
    }
    // The minimum number of ranges, with each range as long as any configuration allows.
    std::size_t fewest = 0;
    for (std::size_t begin = 0; begin < kSizes;) {
      std::size_t furthest = begin;
      for (std::size_t config = 0; config < static_cast<std::size_t>(configs); ++config) {
        std::size_t end = begin;
        while (end < kSizes &&
               times[end][config] <=
                   (1 + tolerance) * *std::min_element(times[end].begin(), times[end].end())) {
          ++end;
        }
        furthest = std::max(furthest, end);
      }
      begin = furthest;
      ++fewest;
    }
    const TunedBlock block = tune_dispatch(experiment_of(rows), rows, tolerance).at(0);
    CHECK(block.ranges.size() == fewest);
    CHECK(block.ranges.front().range.from_bytes == 0);
    CHECK(block.ranges.back().range.to_bytes == DispatchRange::kNoEnd);
    for (const TunedRange& range : block.ranges) {
      CHECK(range.loss <= tolerance + 1e-12);
      for (std::size_t size = 0; size < kSizes; ++size) {
        const std::uint64_t bytes = std::uint64_t{1024} << size;
        if (bytes < range.range.from_bytes || bytes >= range.range.to_bytes) continue;
        const auto config = static_cast<std::size_t>(range.range.choice.config.channels - 1);
        CHECK(times[size][config] <=
              (1 + tolerance + 1e-12) * *std::min_element(times[size].begin(), times[size].end()));
      }
    }
  }
}

TEST_CASE("round trip: the table of a sweep is as fast as the sweep's best at every size",
          "[experiments][tune-dispatch]") {
  const test::TemporaryFolder folder;
  const std::vector<std::pair<std::string, std::string>> common{
      {"fabrics", "[ndv4, {name: ndv4, servers: 2}]"},
      {"collectives", "[allreduce, allgather]"},
      {"sizes", "1KiB..64MiB x8"},
      {"engine", "flow"}};
  auto lines = common;
  lines.insert(lines.end(), {{"algorithms", "[ring, all-pairs, 'nccl-default:2.8.4']"},
                             {"protocols", "[LL, LL128, Simple]"},
                             {"channels", "[1, 4]"},
                             {"instances", "[1, 2]"},
                             {"legal", "any"},
                             {"baseline", "{algorithm: 'nccl-default:2.8.4'}"}});
  const Experiment sweep = parse_experiment(test::experiment_with(lines), folder / "sweep.yaml");
  run_experiment(sweep, {.folder = folder / "sweep"});
  const std::vector<ResultRow> rows = read_run_results(sweep, folder / "sweep").rows;
  const std::vector<TunedBlock> blocks = tune_dispatch(sweep, rows, 0.01);
  CHECK(blocks.size() == 4);
  test::write_file(folder / "t.yaml", to_yaml(dispatch_table(sweep, blocks)));

  lines = common;
  lines.emplace_back("algorithms", "'dispatch:t.yaml'");
  const Experiment again = parse_experiment(test::experiment_with(lines), folder / "again.yaml");
  CHECK(again.skipped.empty());
  run_experiment(again, {.folder = folder / "again"});

  using Key = std::tuple<std::string, std::string, std::uint64_t>;
  std::map<Key, double> best_us;
  for (const ResultRow& r : rows) {
    const auto [entry, fresh] =
        best_us.try_emplace({r.fabric, r.collective, r.size_bytes}, r.time_us);
    if (!fresh) entry->second = std::min(entry->second, r.time_us);
  }
  const std::vector<ResultRow> tuned = read_run_results(again, folder / "again").rows;
  CHECK(tuned.size() == best_us.size());
  for (const ResultRow& r : tuned) {
    INFO(r.cell_key);
    const double best = best_us.at({r.fabric, r.collective, r.size_bytes});
    CHECK(r.time_us <= 1.01 * best * (1 + 1e-12));
    CHECK(r.time_us >= best);
  }
}

}  // namespace
}  // namespace cclgym
