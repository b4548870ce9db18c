// Tests of a comparison's tables against a golden text, and of its page.
#include "calibration/compare/compare.hpp"

#include <cmath>
#include <cstdlib>

#include "calibration/measured_row.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

Compared compared(const std::string& system, int ranks, std::uint64_t bytes, double measured_us,
                  double simulated_us, Seen seen) {
  Compared each;
  each.cell.system = system;
  each.cell.cost_model = "auto";
  each.cell.nccl_version = "2.8.4";
  each.cell.ranks = ranks;
  each.cell.nodes = ranks > 8 ? 2 : 1;
  each.cell.bytes = bytes;
  each.cell.rows = 2;
  each.cell.time_s = measured_us * 1e-6;
  each.cell.least_s = each.cell.time_s;
  each.cell.most_s = each.cell.time_s;
  each.prediction.time_s = simulated_us * 1e-6;
  each.prediction.cost_model = "set-of-" + system;
  each.seen = seen;
  return each;
}

Comparison sample() {
  Comparison comparison;
  comparison.file = "measured.csv";
  comparison.rows = 12;
  comparison.left_out = 3;
  comparison.cells = {compared("A", 8, 64, 10, 10, Seen::Fitted),
                      compared("A", 8, 4096, 10, 20, Seen::HeldOut),
                      compared("A", 16, 4096, 40, 10, Seen::HeldOut),
                      compared("B", 8, 1 << 20, 100, 110, Seen::NotSaid)};
  comparison.refused = {{"B", "config 'x' names <nothing>", 4, {}}};
  return comparison;
}

TEST_CASE("errors are summed up as logarithms", "[calibration][compare]") {
  const Comparison comparison = sample();
  std::vector<const Compared*> all;
  for (const Compared& each : comparison.cells) all.push_back(&each);
  const ErrorSummary summary = summarise("all", all);
  CHECK(summary.cells == 4);
  CHECK(summary.rows == 8);
  CHECK(summary.mean == Approx((0 + std::log(2.0) + std::log(4.0) + std::log(1.1)) / 4));
  CHECK(summary.median == Approx((std::log(2.0) + std::log(1.1)) / 2));
  CHECK(summary.p90 == Approx(std::log(4.0)));
  CHECK(summary.bias == Approx((0 + std::log(2.0) - std::log(4.0) + std::log(1.1)) / 4));
  const auto worst = worst_cells(comparison.cells, 2);
  REQUIRE(worst.size() == 2);
  CHECK(worst[0]->cell.ranks == 16);
  CHECK(worst[1]->cell.bytes == 4096);
}

TEST_CASE("the tables are as in the golden file", "[calibration][compare]") {
  const std::string path = source_path("tests/calibration/golden/compare.txt");
  const std::string text = comparison_text(sample(), 3);
  if (std::getenv("CCLGYM_UPDATE_GOLDEN") != nullptr) write_file(path, text);
  CHECK(text == read_file(path));
}

TEST_CASE("fitted and held-out cells are never in the same line", "[calibration][compare]") {
  const Comparison comparison = sample();
  const std::vector<ErrorSummary> systems = by_system_and_seen(comparison.cells);
  REQUIRE(systems.size() == 3);
  CHECK(systems[0].group == "A, fitted");
  CHECK(systems[0].cells == 1);
  CHECK(systems[1].group == "A, held out");
  // No fit can have seen a log of one's own, which needs no word for it.
  std::vector<Compared> unseen{comparison.cells[1]};
  unseen[0].seen = Seen::HeldOut;
  CHECK(part_title("A", Seen::HeldOut, unseen) == "A");
  CHECK(part_title("Polaris", Seen::HeldOut, unseen) == "Polaris, held out");
  CHECK(systems[1].cells == 2);
  CHECK(systems[1].mean == Approx((std::log(2.0) + std::log(4.0)) / 2));
  CHECK(systems[2].group == "B, not said");
  const std::vector<ComparedPart> parts = parts_of(comparison);
  REQUIRE(parts.size() == 3);
  CHECK(parts[1].seen == Seen::HeldOut);
  CHECK(parts[1].cells.size() == 2);
  const std::string text = comparison_text(comparison, 3);
  CHECK(text.find("no key fitted_to in set-of-B tells") != std::string::npos);
  // Cells of one system with different sets are on separate lines, too.
  Comparison two = comparison;
  two.cells[2].prediction.cost_model = "another";
  CHECK(text.find("set set-of-A") == std::string::npos);
  CHECK(comparison_text(two, 0).find("  set another        1     2      1.386 ") !=
        std::string::npos);
  const std::string page = comparison_html(comparison);
  CHECK(page.find("\"A, held out\",2,") != std::string::npos);
  CHECK(page.find("\"seen\":\"held out\"") != std::string::npos);
  // The plots are those of all pages, and the page begins with what came out.
  CHECK(page.find("new Chart(") == page.rfind("new Chart("));
  CHECK(page.find("cclgymPage.plot = ") != std::string::npos);
  CHECK(page.find("A, held out: simulated / measured ") != std::string::npos);
}

TEST_CASE("the CSV has one line per cell", "[calibration][compare]") {
  Comparison comparison = sample();
  comparison.cells[1].interval = {.interval = LogInterval{-std::log(4.0), std::log(4.0)},
                                  .cells = 9,
                                  .basis = "9 cells, one node"};
  comparison.cells[0].cell.time_s = 27.5 * 1e-6;
  const std::string csv = comparison_csv(comparison);
  CHECK(csv.find(",27.5,") != std::string::npos);
  CHECK(csv.starts_with("system,ranks,nodes,collective,nccl_version,size_bytes,rows,measured_us,"));
  CHECK(csv.find("\nA,16,2,allreduce,2.8.4,4096,2,40,40,40,10,0.25,") != std::string::npos);
  CHECK(csv.find(",set-of-A,fitted,,,,\n") != std::string::npos);
  CHECK(csv.find(",set-of-A,held out,5,80,1,9 cells; one node\n") != std::string::npos);
}

TEST_CASE("the page is self-contained, and user texts cannot break it", "[calibration][compare]") {
  Comparison comparison = sample();
  comparison.file = "</script>{{data}}{{style}}";
  const std::string page = comparison_html(comparison);
  CHECK(page.find("src=") == std::string::npos);
  CHECK(page.find("<nothing>") == std::string::npos);
  CHECK(page.find("\\u003c/script\\u003e{{data}}") != std::string::npos);
  CHECK(page.find("&lt;/script&gt;{{data}}{{style}}: 12 rows") != std::string::npos);
  CHECK(page.find("new Chart(") != std::string::npos);
}

TEST_CASE(
    "cells are simulated with the set of their system, or with another; refusals are reported",
    "[calibration][compare]") {
  Measurement row;
  row.system = "Azure-NDv4";
  row.ranks = 8;
  row.nodes = 1;
  row.config = "nccl";
  row.bytes = 1 << 20;
  row.time_s = 71.85e-6;
  Measurement unknown = row;
  unknown.config = "msccl";
  const std::vector<Measurement> rows{row, unknown};
  const Comparison own = compare("m.csv", make_cells(rows, {}, "m.csv"), std::nullopt, {.jobs = 2});
  REQUIRE(own.cells.size() == 1);
  CHECK(std::abs(own.cells[0].log_error()) < 0.4);
  CHECK(own.cells[0].seen == Seen::Fitted);
  REQUIRE(own.refused.size() == 1);
  CHECK(own.refused[0].rows == 1);
  const Comparison other = compare("m.csv", make_cells(rows, {}, "m.csv"), "hockney", {});
  CHECK(other.cells[0].prediction.time_s != own.cells[0].prediction.time_s);
  CHECK(other.cells[0].seen == Seen::HeldOut);
}

TEST_CASE("rows of other GPUs than the fabric's are compared with one warning",
          "[calibration][compare]") {
  const auto warnings = [](const std::string& gpu, const std::string& fabric) {
    Measurement row = measured_row("2.21.5");
    row.gpu = gpu;
    std::vector<Measurement> rows{row, row};
    rows[1].bytes = 4096;
    CellFilter filter;
    filter.fabric = fabric;
    const Comparison comparison =
        compare("m.csv", make_cells(rows, filter, "m.csv"), std::nullopt, {.jobs = 1});
    REQUIRE(comparison.cells.size() == 2);
    return comparison.warnings;
  };
  CHECK(warnings("NVIDIA H100 80GB HBM3", "dgx1") ==
        std::vector<std::string>{
            "m.csv:2:1: the rows are of NVIDIA H100 80GB HBM3, but the fabric dgx1 has V100"});
  CHECK(warnings("NVIDIA H100 80GB HBM3", "hgx-h100").empty());
  CHECK(warnings("Tesla V100-SXM2-32GB", "dgx1").empty());
  CHECK(warnings("", "dgx1").empty());
}

}  // namespace
}  // namespace cclgym::test
