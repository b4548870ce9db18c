// docs/fidelity.md and docs/calibration.md print errors of simulated times. This test computes the
// figures for rows that come with the project again, from those rows.
#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "calibration/compare/compare.hpp"
#include "calibration/intervals/held_out_intervals.hpp"
#include "core/files/text_file.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/sanitized.hpp"

namespace cclgym::test {
namespace {

constexpr double kTolerance = 0.01;  // max change of |ln(simulated / measured)|

// A row of the table: the number of cells, and their errors as printed on the page.
struct PrintedErrors {
  int cells = 0;
  double mean = 0;
  double median = 0;
  double p90 = 0;
};

// The keys have the page's columns system, set, servers and rows: "H100-cluster|h100|several|held
// out".
using Table = std::map<std::string, PrintedErrors>;

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream stream(line.substr(1));
  for (std::string field; std::getline(stream, field, '|');) {
    const std::size_t begin = field.find_first_not_of(" `");
    const std::size_t end = field.find_last_not_of(" `");
    fields.push_back(begin == std::string::npos ? "" : field.substr(begin, end - begin + 1));
  }
  return fields;
}

// Parses the table of the page.
Table printed_errors(const std::string& page) {
  const std::string begin = "<!-- begin generated: nccl -->\n";
  const std::size_t first = page.find(begin);
  REQUIRE(first != std::string::npos);
  std::istringstream lines(page.substr(first + begin.size()));
  std::string line;
  REQUIRE(std::getline(lines, line));
  REQUIRE(fields_of(line) == std::vector<std::string>{"system", "set", "servers", "ranks", "rows",
                                                      "cells", "mean", "median", "p90", "met"});
  REQUIRE(std::getline(lines, line));
  Table table;
  while (std::getline(lines, line) && line.starts_with("| ")) {
    const std::vector<std::string> fields = fields_of(line);
    REQUIRE(fields.size() == 10);
    table[fields[0] + "|" + fields[1] + "|" + fields[2] + "|" + fields[4]] = {
        std::stoi(fields[5]), std::stod(fields[6]), std::stod(fields[7]), std::stod(fields[8])};
  }
  return table;
}

// Checks the lines of docs/intervals.md whose intervals come from cells of the sample alone: those
// of set h100 on several nodes, two of which have intervals.
void check_printed_coverage(const Comparison& comparison) {
  const std::string page = read_text_file(source_path("docs/intervals.md"), 1 << 20);
  int checked = 0;
  for (const CoverageRow& row : coverage_of(comparison.cells, comparison.coverage)) {
    if (row.group.find(", h100, several") == std::string::npos) continue;
    INFO(row.group);
    const std::size_t line = page.find("\n  " + row.group + " ");
    REQUIRE(line != std::string::npos);
    std::istringstream fields(page.substr(line + 3 + row.group.size()));
    int cells = 0;
    int rows = 0;
    double percent = 0;
    double factor = 0;
    std::string text;
    fields >> cells >> rows >> percent >> text;
    fields.ignore(2, 'x');
    fields >> factor;
    CHECK(cells == row.stated.cells);
    if (row.stated.cells == 0) continue;
    CHECK(rows == row.rows);
    CHECK(std::abs(percent - 100 * row.stated.inside) < 3);
    CHECK(std::abs(factor - std::exp(row.stated.width)) < 0.1);
    ++checked;
  }
  CHECK(checked == 2);
}

TEST_CASE("docs/fidelity.md prints the errors of the rows that come with the project",
          "[calibration][fidelity-docs]") {
  const std::string root = source_folder();
  const Table printed = printed_errors(read_text_file(root + "/docs/fidelity.md", 1 << 20));
  const std::string file = root + "/experiments/measured/nccl-sample.csv";
  const std::vector<Measurement> rows = read_measured_file(file);
  CellFilter filter;
  if (kSanitized) {  // because H100-cluster takes most of the time
    filter.systems = {"ABCI-V100", "Alps-GH200", "Azure-NDv4", "H100-SXM-slice", "MI300Xx8"};
  }
  const Comparison comparison =
      compare(file, make_cells(rows, filter, file), std::nullopt, {.jobs = 2});
  CHECK(comparison.refused.empty());
  std::map<std::string, std::vector<const Compared*>> groups;
  for (const Compared& each : comparison.cells) {
    groups[each.cell.system + "|" + each.prediction.cost_model + "|" +
           (each.cell.nodes == 1 ? "one" : "several") + "|" + std::string(to_string(each.seen))]
        .push_back(&each);
  }
  CHECK(groups.size() == (kSanitized ? 6 : 12));
  for (const auto& [name, cells] : groups) {
    INFO(name);
    REQUIRE(printed.contains(name));
    const PrintedErrors& page = printed.at(name);
    const ErrorSummary computed = summarise(name, cells);
    CHECK(computed.cells == page.cells);  // the sample has all cells of the row
    CHECK(std::abs(computed.mean - page.mean) <= kTolerance);
    CHECK(std::abs(computed.median - page.median) <= kTolerance);
    CHECK(std::abs(computed.p90 - page.p90) <= kTolerance);
  }
  if (!kSanitized) check_printed_coverage(comparison);
}

// Errors of the cells that a fit saw, or of the cells that it did not see.
ErrorSummary errors_of(const Comparison& comparison, Seen seen) {
  std::vector<const Compared*> cells;
  for (const Compared& each : comparison.cells) {
    if (each.seen == seen) cells.push_back(&each);
  }
  return summarise("", cells);
}

TEST_CASE("docs/calibration.md prints the errors of the sets of the netlab",
          "[calibration][fidelity-docs]") {
  const std::string root = source_folder();
  std::istringstream lines(read_text_file(root + "/docs/calibration.md", 1 << 20));
  int checked = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| idle-") && !line.starts_with("| traffic-")) continue;
    const std::vector<std::string> fields = fields_of(line);
    if (fields.size() != 4) continue;  // the table of the policies
    INFO(line);
    const std::string file = root + "/calibration/results/netlab/netlab-" + fields[0] + ".csv";
    CellFilter filter;
    filter.fabric = "ethernet";
    const Comparison comparison =
        compare(file, make_cells(read_measured_file(file), filter, file),
                root + "/experiments/netlab/netlab-" + fields[0] + ".yaml", {.jobs = 2});
    CHECK(static_cast<int>(comparison.cells.size()) == std::stoi(fields[1]));
    const ErrorSummary fitted = errors_of(comparison, Seen::Fitted);
    const ErrorSummary held_out = errors_of(comparison, Seen::HeldOut);
    CHECK(fitted.cells == 414);
    CHECK(fitted.cells + held_out.cells == std::stoi(fields[1]));
    CHECK(std::abs(fitted.mean - std::stod(fields[2])) <= kTolerance);
    CHECK(std::abs(held_out.mean - std::stod(fields[3])) <= kTolerance);
    ++checked;
  }
  CHECK(checked == 4);
}

}  // namespace
}  // namespace cclgym::test
