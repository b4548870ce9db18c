// Tests of plots as SVG files and of the comparison of two runs.
#include "experiments/report/report_svg.hpp"

#include <algorithm>
#include <filesystem>
#include <random>

#include "core/files/text_file.hpp"
#include "experiments/report/report_sample.hpp"
#include "experiments/report/run_comparison.hpp"
#include "support/catch.hpp"
#include "support/thrown.hpp"

namespace cclgym {
namespace {

using test::experiment_of;
using test::row;

std::size_t times_in(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

std::vector<ResultRow> two_algorithms(double factor = 1) {
  std::vector<ResultRow> rows;
  for (int i = 0; i < 6; ++i) {
    const std::uint64_t bytes = std::uint64_t{1024} << i;
    rows.push_back(row("ring", "Simple", 1, bytes, 100));
    rows.push_back(row("ring", "Simple", 4, bytes, 120));
    rows.push_back(row("tree", "LL", 1, bytes, factor * 25 * (1 << i)));
  }
  return rows;
}

TEST_CASE("plots have the best configuration of each algorithm and protocol",
          "[experiments][report-svg]") {
  const std::vector<ResultRow> rows = two_algorithms();
  const std::vector<ReportPlot> plots = report_plots(experiment_of(rows), rows);
  REQUIRE(plots.size() == 3);
  CHECK(plots[0].name == "ndv4-allreduce-time");
  CHECK(plots[2].name == "ndv4-allreduce-speedup");
  REQUIRE(plots[0].plot.series.size() == 2);
  CHECK(plots[0].plot.series[0].name == "ring Simple");
  CHECK(plots[0].plot.series[0].points.front() == std::pair<std::uint64_t, double>{1024, 100});
  CHECK(plots[2].plot.series[1].points.back() == std::pair<std::uint64_t, double>{32768, 0.125});
  const std::string svg = svg_plot(plots[2].plot);
  CHECK(times_in(svg, "<polyline") == 2);
  CHECK(times_in(svg, "<circle") == 12);
  for (const char* label :
       {">1/8×<", ">1/4×<", ">1/2×<", ">1×<", ">2×<", ">4×<", ">1KiB<", ">32KiB<", ">tree LL<"}) {
    INFO(label);
    CHECK(times_in(svg, label) == 1);
  }
  CHECK(times_in(svg, ">3×<") == 0);
  CHECK(svg == svg_plot(plots[2].plot));
}

TEST_CASE("ticks in SVG are at sizes of the run and stay apart", "[experiments][report-svg]") {
  CHECK(ratio_ticks(0.25, 8) == std::vector<double>{0.25, 0.5, 1, 2, 4, 8});
  CHECK(ratio_ticks(0.96, 1.04).size() >= 5);
  CHECK(ratio_text(0.125) == "1/8×");
  CHECK(ratio_text(0.75) == "0.75×");
  const std::vector<std::uint64_t> sizes{1000, 2000, 4000, 8000, 16000};
  CHECK(size_ticks(sizes, 4) == sizes);
  CHECK(size_ticks(sizes, 2) == std::vector<std::uint64_t>{1000, 4000, 16000});
}

TEST_CASE("SVG files are written, and names cannot break out of them",
          "[experiments][report-svg]") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                       ("cclgym-svg-" + std::to_string(std::random_device{}()));
  std::vector<ResultRow> rows = two_algorithms();
  for (ResultRow& one : rows) one.fabric = "a/../<b>";
  Experiment experiment = experiment_of(rows);
  const std::vector<std::string> paths =
      write_svgs(report_plots(experiment, rows), (folder / "plots").string());
  REQUIRE(paths.size() == 2);  // the baseline is not on this fabric
  for (const std::string& path : paths) {
    CHECK(std::filesystem::path(path).parent_path() == folder / "plots");
    const std::string svg = read_text_file(path, 1 << 20);
    CHECK(svg.find("<b>") == std::string::npos);
    CHECK(svg.find("&lt;b&gt;") != std::string::npos);
  }
  // rsvg-convert may be missing, which is no error.
  if (write_pngs(paths)) {
    CHECK(read_text_file(
              (folder / "plots" / (std::filesystem::path(paths[0]).stem().string() + ".png"))
                  .string(),
              1 << 24)
              .starts_with("\x89PNG"));
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("files of other programs in the folder of plots are not written over",
          "[experiments][report-svg]") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                       ("cclgym-svg-" + std::to_string(std::random_device{}()));
  std::filesystem::create_directories(folder);
  const std::vector<ResultRow> rows = two_algorithms();
  const std::vector<ReportPlot> plots = report_plots(experiment_of(rows), rows);
  const std::string last = (folder / (plots.back().name + ".svg")).string();
  const auto problem = [&](bool pngs) {
    return thrown([&] { return write_svgs(plots, folder.string(), pngs).size(); });
  };
  write_text_file(last, "<svg xmlns=\"http://www.w3.org/2000/svg\"/>");
  CHECK(problem(false).find("not written by cclgym report --svg") != std::string::npos);
  CHECK(problem(false).find(last) != std::string::npos);
  // Nothing is written if one file is refused.
  CHECK_FALSE(std::filesystem::exists(folder / (plots.front().name + ".svg")));
  std::filesystem::remove(last);
  const std::string picture = (folder / (plots.back().name + ".png")).string();
  write_text_file(picture, "mine");
  CHECK(problem(true).find(picture) != std::string::npos);
  CHECK(problem(false) == "(nothing thrown)");
  CHECK(problem(false) == "(nothing thrown)");  // its own files, again
  std::filesystem::remove_all(folder);
}

TEST_CASE("two runs are compared cell by cell", "[experiments][report-svg]") {
  std::vector<ResultRow> first = two_algorithms();
  std::vector<ResultRow> second = two_algorithms(1.5);
  second.push_back(row("ring", "LL", 1, 1024, 1));
  first.push_back(row("tree", "Simple", 1, 1024, 1));
  first.push_back(row("tree", "Simple", 2, 1024, 1));
  const RunComparison comparison = compare_runs(first, second);
  CHECK(comparison.common == 18);
  CHECK(comparison.only_first == 2);
  CHECK(comparison.only_second == 1);
  CHECK(comparison.mean_ratio == Approx(std::pow(1.5, 6.0 / 18)));
  REQUIRE(comparison.changed.size() == 6);
  CHECK(comparison.changed[0].ratio == Approx(1.5));
  const Experiment before = experiment_of(first);
  const Experiment after = experiment_of(second);
  const ComparedRun left{.folder = "a", .experiment = &before, .rows = first};
  const ComparedRun right{.folder = "b", .experiment = &after, .rows = second};
  const std::string text = comparison_table(comparison, left, right, 4);
  CHECK(times_in(text, "1.5000") == 4);
  CHECK(times_in(text, "… and 2 more") == 1);
  CHECK(times_in(text, "1.1447 times as long") == 1);
  const std::string page = comparison_page(comparison, left, right);
  CHECK(times_in(page, "\\u003cpolyline") == 3 * (3 + 3));
  CHECK(compare_runs(first, first).changed.empty());
}

}  // namespace
}  // namespace cclgym
