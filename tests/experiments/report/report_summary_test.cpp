// Compares best configurations, speedups and errors with values computed by hand.
#include "experiments/summary/report_summary.hpp"

#include <cmath>
#include <limits>

#include "experiments/measured/measured_rows.hpp"
#include "experiments/report/report_sample.hpp"
#include "experiments/summary/table.hpp"
#include "support/catch.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {
namespace {

using test::experiment_of;
using test::measured;
using test::row;

TEST_CASE("geometric-mean error", "[experiments][report-summary]") {
  CHECK(std::isnan(geometric_mean_error({})));
  CHECK(geometric_mean_error(std::vector{1.0, 1.0}) == 0);
  // Errors by a factor of 2 in opposite directions do not cancel out.
  CHECK(geometric_mean_error(std::vector{2.0, 0.5}) == Approx(1.0).epsilon(1e-14));
  // exp((ln 1.1 + ln 1.25 + ln 1.6) / 3) - 1 = (1.1 * 1.25 * 1.6)^(1/3) - 1, with 0.8 = 1 / 1.25
  CHECK(geometric_mean_error(std::vector{1.1, 0.8, 1.6}) ==
        Approx(std::cbrt(1.1 * 1.25 * 1.6) - 1).epsilon(1e-14));
}

TEST_CASE("the best configuration, the best ring and the speedup of each size",
          "[experiments][report-summary]") {
  const std::vector<ResultRow> rows{
      row("ring", "Simple", 1, 1024, 40),      row("ring", "LL", 4, 1024, 20),
      row("all-pairs", "LL", 2, 1024, 10),     row("ring", "Simple", 1, 4096, 50),
      row("ring-reversed", "LL", 8, 4096, 25), row("all-pairs", "LL", 2, 4096, 100)};
  const ResultSummary summary = summarize(experiment_of(rows), rows, {});
  REQUIRE(summary.blocks.size() == 1);
  const BlockSummary& block = summary.blocks[0];
  REQUIRE(block.sizes.size() == 2);
  CHECK(block.sizes[0].bytes == 1024);
  CHECK(block.sizes[0].best.algorithm == "all-pairs");
  CHECK(block.sizes[0].best.time_us == 10);
  CHECK(block.sizes[0].best.speedup.value() == 4);
  CHECK(block.sizes[0].best_ring.value().time_us == 20);
  CHECK(block.sizes[0].best_ring->channels == 4);
  CHECK(block.sizes[1].best.algorithm == "ring-reversed");
  CHECK(block.sizes[1].best.speedup.value() == 2);
  REQUIRE(summary.speedups.size() == 6);
  CHECK(summary.speedups[0].value() == 1);
  CHECK(summary.speedups[5].value() == 0.5);
}

TEST_CASE("speedups are against the same size and seed, times are medians over seeds",
          "[experiments][report-summary]") {
  std::vector<ResultRow> rows;
  const double ring[3] = {40, 60, 80};
  const double pairs[3] = {20, 10, 40};
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    rows.push_back(row("ring", "Simple", 1, 1024, ring[seed], seed));
    rows.push_back(row("all-pairs", "LL", 1, 1024, pairs[seed], seed));
  }
  const ResultSummary summary = summarize(experiment_of(rows), rows, {});
  CHECK(summary.seeds == 3);
  CHECK(summary.speedups[1].value() == 2);
  CHECK(summary.speedups[3].value() == 6);
  CHECK(summary.speedups[5].value() == 2);
  CHECK(summary.blocks.at(0).sizes.at(0).best.time_us == 20);
  CHECK(summary.blocks.at(0).sizes.at(0).best.speedup.value() == 2);
}

TEST_CASE("only what NCCL can run competes for the best, unless all may",
          "[experiments][report-summary]") {
  std::vector<ResultRow> rows{row("ring", "Simple", 1, 1024, 40), row("pat", "LL128", 1, 1024, 10),
                              row("tree", "LL", 1, 1024, 20),     row("pat", "LL128", 1, 2048, 15),
                              row("tree", "LL", 1, 2048, 14),     row("pat", "LL128", 1, 4096, 16)};
  for (const std::size_t i : {0U, 2U, 4U}) rows[i].legal_in = "NCCL 2.30.7";
  Experiment experiment = experiment_of(rows);
  const auto best = [&] {
    std::vector<std::string> names;
    const ResultSummary summary = summarize(experiment, rows, {});
    for (const SizeSummary& size : summary.blocks.at(0).sizes) {
      names.push_back(size.best.algorithm + " " + size.best.legal_in);
    }
    return names;
  };
  // 4 KiB have no row of NCCL's, which the column shows.
  CHECK(best() == std::vector<std::string>{"tree NCCL 2.30.7", "tree NCCL 2.30.7", "pat -"});
  const ResultSummary summary = summarize(experiment, rows, {});
  CHECK(summary.blocks[0].illegal ==
        "faster at some sizes, but not NCCL's own (legal: any): pat LL128");
  CHECK(summary.blocks[0].sizes[0].best.baseline_us.value() == 40);
  CHECK(summary.blocks[0].sizes[0].best.speedup.value() == 2);
  CHECK(table_text(experiment, rows, {}).find("  legal in     baseline") != std::string::npos);
  experiment.any_legal = true;
  CHECK(best() == std::vector<std::string>{"pat -", "tree NCCL 2.30.7", "pat -"});
  CHECK(summarize(experiment, rows, {}).blocks[0].illegal.empty());
  // All compete if NCCL offers nothing, and nothing is said.
  experiment.any_legal = false;
  for (ResultRow& one : rows) one.legal_in = "-";
  CHECK(best() == std::vector<std::string>{"pat -", "tree -", "pat -"});
  CHECK(table_text(experiment, rows, {}).find("legal in") == std::string::npos);
}

TEST_CASE("the baseline and relayed pairs in words", "[experiments][report-summary]") {
  const std::vector<ResultRow> rows{row("ring", "Simple", 1, 1024, 40),
                                    row("ring", "Simple", 2, 1024, 20),
                                    row("ring", "LL", 1, 2048, 20)};
  Experiment experiment = experiment_of(rows);
  CHECK(baseline_text(experiment) == "the fastest of ring, Simple");
  CHECK(summarize(experiment, rows, {}).speedups[0].value() == 0.5);
  experiment.baseline->channels = 1;
  CHECK(baseline_text(experiment) == "ring, Simple, 1 channel");
  experiment.baseline = CellSelector{};
  CHECK(baseline_text(experiment) == "the fastest configuration");
  CHECK(baseline_text(experiment_of(rows, false)).empty());

  CHECK(summarize(experiment, rows, {}).blocks.at(0).relays.empty());
  // A ring of 4 has two opposite pairs, in both directions.
  experiment.fabrics[0].fabric = make_fabric({.name = "ring", .gpus = 4});
  CHECK(summarize(experiment, rows, {}).blocks.at(0).relays ==
        "4 of 12 GPU pairs are relayed by a GPU");
  CHECK(relay_text(*make_fabric({.name = "dgx1"})) == "24 of 56 GPU pairs are relayed by a GPU");
  CHECK(relay_text(*make_fabric({.name = "ndv4", .servers = 2})).empty());
  CHECK(relay_text(*make_fabric({.name = "dgx1", .nvb = false})) ==
        "24 of 56 GPU pairs meet through hosts");
  CHECK(relay_text(*make_fabric({.name = "z52"})) ==
        "4 of 56 GPU pairs are relayed by a GPU, 36 of 56 GPU pairs meet through hosts");
  CHECK(relay_text(*make_fabric({.name = "dgx1", .without = "gpu0:gpu4"})) ==
        "24 of 56 GPU pairs are relayed by a GPU, 2 of 56 GPU pairs meet through hosts");
  // Without its link to the host, a GPU is relayed.
  CHECK(relay_text(*make_fabric({.name = "dgx1", .nvb = false, .without = "gpu0:pcie0"})) ==
        "6 of 56 GPU pairs are relayed by a GPU, 18 of 56 GPU pairs meet through hosts");
}

TEST_CASE("a block states the interval of measured times if it has a row of NCCL's",
          "[experiments][report-summary]") {
  std::vector<ResultRow> rows{row("all-pairs", "LL", 1, 1024, 40)};
  Experiment experiment = experiment_of(rows);
  experiment.fabrics[0].intervals["allreduce"] = "90 % of them";
  CHECK(summarize(experiment, rows, {}).blocks.at(0).interval.empty());
  rows.push_back(row("ring", "LL", 1, 2048, 20));
  CHECK(summarize(experiment, rows, {}).blocks.at(0).interval.empty());
  rows.back().algorithm = "nccl-default";
  CHECK(summarize(experiment, rows, {}).blocks.at(0).interval == "90 % of them");
  CHECK(table_text(experiment, rows, {}).find("\n  90 % of them\n") != std::string::npos);
}

TEST_CASE("a size without a baseline cell has no speedup", "[experiments][report-summary]") {
  const std::vector<ResultRow> rows{row("ring", "Simple", 1, 1024, 40),
                                    row("ring", "LL", 1, 2048, 20)};
  const ResultSummary summary = summarize(experiment_of(rows), rows, {});
  CHECK(summary.speedups[0].value() == 1);
  CHECK_FALSE(summary.speedups[1].has_value());
  CHECK_FALSE(summarize(experiment_of(rows, false), rows, {}).speedups[0].has_value());
}

TEST_CASE("errors against measured times, at the sizes that have both",
          "[experiments][report-summary]") {
  const std::vector<ResultRow> rows{
      row("ring", "Simple", 1, 1024, 22), row("all-pairs", "LL", 1, 1024, 16),
      row("ring", "Simple", 1, 2048, 20), row("ring", "Simple", 1, 4096, 1)};
  std::vector<MeasuredRow> beside{measured("nccl", 2048, 25), measured("nccl", 1024, 20),
                                  measured("nccl", 1 << 20, 70), measured("msccl", 512, 3)};
  beside.push_back(measured("nccl", 1024, 5));
  beside.back().ranks = 16;  // a different number of ranks
  const ResultSummary summary = summarize(experiment_of(rows), rows, beside);
  CHECK(summary.unmatched_measured == 1);
  const BlockSummary& block = summary.blocks.at(0);
  REQUIRE(block.measured.size() == 2);
  CHECK(block.measured[0].config == "nccl");
  REQUIRE(block.measured[0].points.size() == 3);
  CHECK(block.measured[0].points[0].first == 1024);
  REQUIRE(block.ring_errors[0].ratios.size() == 2);
  CHECK(block.ring_errors[0].ratios[0].second == 1.1);
  CHECK(block.ring_errors[0].error == Approx(std::sqrt(1.1 * 1.25) - 1).epsilon(1e-14));
  CHECK(block.errors[0].error == Approx(0.25).epsilon(1e-14));  // the ratios 16/20 and 20/25
  CHECK(block.ring_errors[1].ratios.empty());
  CHECK(std::isnan(block.ring_errors[1].error));
  CHECK(block.sizes[0].measured_us[0].value() == 20);
  CHECK_FALSE(block.sizes[2].measured_us[0].has_value());
  CHECK(block.measured[0].compared_with == kBestOfAll);
  // A library's measured choice is compared with its simulated one, if there is one.
  std::vector<ResultRow> chosen = rows;
  chosen.push_back(row("nccl-default:2.21.5", "LL", 1, 1024, 30));
  chosen.back().program = "ring";
  beside = {measured("nccl", 1024, 20)};
  beside.back().library_chose = true;
  const ResultSummary library = summarize(experiment_of(chosen), chosen, beside);
  CHECK(library.blocks.at(0).measured.at(0).compared_with == "nccl-default:2.21.5");
  CHECK(library.blocks[0].errors[0].error == Approx(0.5).epsilon(1e-14));
  CHECK(table_text(experiment_of(chosen), chosen, beside)
            .find("; sim/meas of nccl is that of nccl-default:2.21.5\n") != std::string::npos);
}

TEST_CASE("rows without a positive time are ignored", "[experiments][report-summary]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<ResultRow> rows{row("ring", "Simple", 1, 1024, nan),
                                    row("ring", "LL", 1, 1024, 0),
                                    row("all-pairs", "LL", 1, 1024, 7)};
  const ResultSummary summary = summarize(experiment_of(rows), rows, {});
  CHECK(summary.blocks.at(0).sizes.at(0).best.time_us == 7);
  CHECK_FALSE(summary.blocks[0].sizes[0].best_ring.has_value());
  CHECK_FALSE(summary.speedups[2].has_value());
}

}  // namespace
}  // namespace cclgym
