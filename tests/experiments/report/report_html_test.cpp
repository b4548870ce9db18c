// Checks that the report is one page with every row, safe against any content of names.
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "core/files/text_file.hpp"
#include "core/report/page.hpp"
#include "experiments/measured/measured_rows.hpp"
#include "experiments/report/report.hpp"
#include "experiments/report/report_sample.hpp"
#include "experiments/run/results_columns.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

using test::experiment_of;
using test::measured;
using test::row;

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// The data of a page as a browser's parser finds it: up to the first "</script".
nlohmann::json data_of(const std::string& html) {
  const std::string open = R"(<script type="application/json" id="data">)";
  const std::size_t begin = html.find(open) + open.size();
  REQUIRE(begin > open.size());
  return nlohmann::json::parse(html.substr(begin, html.find("</script", begin) - begin));
}

// The values of a column of the page's table.
std::vector<nlohmann::json> column(const nlohmann::json& data, const std::string& name) {
  const nlohmann::json& columns = data["table"]["columns"];
  REQUIRE(columns.contains(name));
  const nlohmann::json& form = columns[name];
  if (form.contains("of")) return column(data, form["of"]);
  if (form.contains("values")) return form["values"];
  std::vector<nlohmann::json> values;
  if (form.contains("is")) values.assign(data["table"]["count"], form["is"]);
  if (form.contains("list")) {
    for (const std::size_t place : form["at"]) values.push_back(form["list"][place]);
  }
  if (form.contains("runs")) {
    for (std::size_t i = 0; i < form["runs"].size(); i += 2) {
      values.insert(values.end(), form["runs"][i + 1], form["runs"][i]);
    }
  }
  return values;
}

std::vector<ResultRow> sweep(int sizes) {
  std::vector<ResultRow> rows;
  for (const std::string algorithm : {"ring", "all-pairs"}) {
    for (const std::string protocol : {"LL", "Simple"}) {
      for (const int channels : {1, 4}) {
        for (int i = 0; i < sizes; ++i) {
          rows.push_back(row(algorithm, protocol, channels, std::uint64_t{128} << i,
                             10.0 + i / 3.0 + channels));
        }
      }
    }
  }
  return rows;
}

TEST_CASE("the report holds every row, bit for bit", "[experiments][report-html]") {
  const std::vector<ResultRow> rows = sweep(20);
  const std::string html = report_html(experiment_of(rows), {.rows = rows});
  const nlohmann::json data = data_of(html);
  REQUIRE(data["table"]["count"] == rows.size());
  REQUIRE(data["speedups"].size() == rows.size());
  for (const CsvColumn<ResultRow>& each : kResultColumns) {
    if (each.name == "cell_key") continue;
    const std::vector<nlohmann::json> values = column(data, std::string(each.name));
    REQUIRE(values.size() == rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::visit([&](auto member) { CHECK(values[i] == nlohmann::json(rows[i].*member)); },
                 each.member);
    }
  }
  CHECK(data["name"] == "sample");
  CHECK(data["hash"] == experiment_of(rows).hash());
  CHECK(data["cells"] == rows.size());
  CHECK(data["cost_models"].size() == 1);
  CHECK(data["blocks"].size() == 1);
  CHECK(data["blocks"][0]["bus_factor"] == 1.75);
}

TEST_CASE("published speedups and their verdicts are in the report's data",
          "[experiments][report-html]") {
  std::vector<ResultRow> rows;
  for (const std::uint64_t bytes : {1024U, 2048U}) {
    rows.push_back(row("ring", "Simple", 1, bytes, 100));
    rows.push_back(row("all-pairs", "LL", 1, bytes, bytes == 1024 ? 50 : 200));
  }
  PublishedRow published;
  published.fabric = "ndv4";
  published.gpus = 8;
  published.collective = "allreduce";
  published.size_from = 1024;
  published.variant = "pairs";
  published.algorithms = {"all-pairs"};
  published.speedup_low = 1.5;
  published.speedup_high = 2.5;
  published.baseline = "ring";
  published.source = "Fig 1";
  const std::vector<PublishedRow> all{published};
  const nlohmann::json data =
      data_of(report_html(experiment_of(rows), {.rows = rows, .published = all}));
  REQUIRE(data["published"].size() == 1);
  const nlohmann::json& block = data["published"][0];
  CHECK(block["baseline"] == "ring");
  CHECK(block["least"] == 0.75);
  CHECK(block["most"] == 1.25);
  REQUIRE(block["series"].size() == 1);
  CHECK(block["series"][0]["name"] == "all-pairs LL c1 r1");
  CHECK(block["series"][0]["points"] == nlohmann::json({{1024, 2.0}, {2048, 0.5}}));
  CHECK(block["best"] == nlohmann::json({{1024, 2.0, 0}, {2048, 0.5, 0}}));
  REQUIRE(block["rows"].size() == 1);
  const nlohmann::json& line = block["rows"][0];
  CHECK(line["range"] == "1KiB..");
  CHECK(line["to"].is_null());
  CHECK(line["best"]["holds"] == false);
  CHECK(line["best"]["text"] == "low 56 %");
  CHECK(line["own"]["points"].size() == 2);
  CHECK(data_of(report_html(experiment_of(rows), {.rows = rows}))["published"].empty());
}

TEST_CASE("measured speedups are in the report's data", "[experiments][report-html]") {
  std::vector<ResultRow> rows{row("ring", "Simple", 1, 1024, 30), row("tree", "LL", 1, 1024, 10),
                              row("tree", "LL", 2, 1024, 20)};
  Experiment experiment = experiment_of(rows);
  experiment.measured_speedup = MeasuredSpeedupChoice{.of = "msccl", .over = "nccl"};
  const std::vector<MeasuredRow> beside{measured("nccl", 1024, 40), measured("msccl", 1024, 20),
                                        measured("nccl", 2048, 40)};
  const nlohmann::json data = data_of(report_html(experiment, {.rows = rows, .measured = beside}));
  CHECK(data["measured_speedup"]["of"] == "msccl");
  const nlohmann::json& speedups = data["blocks"][0]["measured_speedups"];
  REQUIRE(speedups.size() == 1);
  CHECK(speedups[0]["system"] == "Azure-NDv4");
  CHECK(speedups[0]["mean_ln"].get<double>() == Approx(std::log(1.5)));
  REQUIRE(speedups[0]["points"].size() == 1);
  CHECK(speedups[0]["points"][0]["measured"] == 2.0);
  CHECK(speedups[0]["points"][0]["simulated"] == 3.0);
  CHECK(speedups[0]["points"][0]["config"] == "tree LL c1 r1");
}

// 24 blocks of 450 rows, with times that have all their digits.
std::vector<ResultRow> many_blocks() {
  std::vector<ResultRow> rows;
  std::mt19937 random(1);
  for (int block = 0; block < 24; ++block) {
    for (int config = 0; config < 30; ++config) {
      for (int i = 0; i < 15; ++i) {
        const double us = std::uniform_real_distribution<>(10, 1000)(random);
        ResultRow one = row(config < 15 ? "ring" : "tree", config % 3 == 0 ? "LL" : "Simple",
                            1 + config % 5, std::uint64_t{4096} << i, us);
        one.fabric = "machine" + std::to_string(block / 4);
        one.collective = std::to_string(block % 4);
        one.time_min_us = one.time_max_us = us;
        rows.push_back(one);
      }
    }
  }
  return rows;
}

TEST_CASE("a page of 24 sections has at most 3 MB, and its data once",
          "[experiments][report-html]") {
  const std::vector<ResultRow> rows = many_blocks();
  const std::string html = report_html(experiment_of(rows), {.rows = rows});
  CHECK(data_of(html)["blocks"].size() == 24);
  CHECK(html.size() < 3'000'000 - 1'000'000);
  const nlohmann::json columns = data_of(html)["table"]["columns"];
  CHECK(columns["engine"] == nlohmann::json{{"is", "flow"}});
  CHECK(columns["time_min_us"] == nlohmann::json{{"of", "time_us"}});
  CHECK(columns["collective"].contains("runs"));
  CHECK(columns["size_bytes"].contains("at"));
  CHECK(columns["time_us"].contains("values"));
}

TEST_CASE("a report begins with what was run and what came out", "[experiments][report-html]") {
  std::vector<ResultRow> rows;
  for (const std::uint64_t bytes : {1024U, 2048U, 4096U}) {
    rows.push_back(row("ring", "Simple", 1, bytes, 100));
    rows.push_back(row("tree", "LL", 2, bytes, bytes == 4096 ? 200 : 25));
  }
  const nlohmann::json outcome =
      data_of(report_html(experiment_of(rows), {.rows = rows}))["outcome"];
  REQUIRE(outcome.size() == 3);
  CHECK(outcome[0] ==
        "6 of 6 cells were simulated: 1 fabric, 1 collective, 2 algorithms, 3 sizes from 1KiB to "
        "4KiB, 1 seed.");
  CHECK(outcome[1] == "Fastest, of 3 cases (fabric, collective and size): tree in 2, ring in 1.");
  CHECK(outcome[2] ==
        "The fastest is 2.52 times as fast as ring, Simple in the geometric mean of 3 "
        "cases (1.00 to 4.00, the most on ndv4, allreduce at 1KiB by tree).");
}

TEST_CASE("the report is self-contained", "[experiments][report-html]") {
  const std::vector<ResultRow> rows = sweep(3);
  const std::string html = report_html(experiment_of(rows), {.rows = rows});
  CHECK(html.find(" src=") == std::string::npos);
  CHECK(html.find("<link") == std::string::npos);
  CHECK(html.find("@import") == std::string::npos);
  CHECK(html.find("default-src 'none'") != std::string::npos);
  CHECK(html.find("Chart.js v") != std::string::npos);
  CHECK(html.find("Released under the MIT License") != std::string::npos);
  CHECK(html.find("{{") == std::string::npos);
  CHECK(html == report_html(experiment_of(rows), {.rows = rows}));
}

TEST_CASE("names cannot break out of their place", "[experiments][report-html]") {
  const std::string evil = "</script><script>alert(1)</script><!--<script> & \"{{data}}\" \xff";
  std::vector<ResultRow> rows = sweep(3);
  for (ResultRow& r : rows) r.fabric = evil;
  Experiment experiment = experiment_of(rows);
  experiment.name = evil;
  experiment.description = evil;
  experiment.skipped = {evil};
  experiment.fabrics[0].label = evil;
  std::vector<MeasuredRow> beside{measured("nccl", 128, 12)};
  beside[0].fabric = evil;
  beside[0].source = evil;
  const std::string html =
      report_html(experiment, {.rows = rows, .measured = beside, .timelines = {{evil, "t.json"}}});
  const std::string plain = report_html(experiment_of(sweep(3)), {.rows = rows});
  CHECK(occurrences(html, "<script") == occurrences(plain, "<script"));
  CHECK(occurrences(html, "</script") == occurrences(plain, "</script"));
  CHECK(occurrences(html, "<!--") == occurrences(plain, "<!--"));
  const nlohmann::json data = data_of(html);
  const std::string read = data["name"];
  CHECK(read.starts_with("</script><script>alert(1)</script><!--<script> & \"{{data}}\" "));
  CHECK(data["blocks"][0]["fabric"] == read);
  CHECK(data["skipped"][0] == read);
  CHECK(data["blocks"][0]["measured"][0]["source"] == read);
}

TEST_CASE("values that are not finite are null, integers too large for JavaScript are texts",
          "[experiments][report-html]") {
  std::vector<ResultRow> rows = sweep(3);
  rows[0].time_us = std::numeric_limits<double>::quiet_NaN();
  rows[1].busbw_GBps = std::numeric_limits<double>::infinity();
  rows[2].seed = std::numeric_limits<std::uint64_t>::max();
  rows[2].flows = std::numeric_limits<std::int64_t>::min();
  const nlohmann::json data = data_of(report_html(experiment_of(sweep(3)), {.rows = rows}));
  CHECK(column(data, "time_us")[0].is_null());
  CHECK(column(data, "busbw_GBps")[1].is_null());
  CHECK(column(data, "seed")[2] == "18446744073709551615");
  CHECK(column(data, "flows")[2] == "-9223372036854775808");
  CHECK(column(data, "seed")[3] == 1);
}

TEST_CASE("the report of an experiment without results says so", "[experiments][report-html]") {
  const nlohmann::json data = data_of(report_html(experiment_of(sweep(3)), {}));
  CHECK(data["table"]["count"] == 0);
  CHECK(data["blocks"].empty());
  CHECK(data["cells"] == 24);
}

TEST_CASE("scripts cannot end their own element", "[experiments][report-html]") {
  CHECK(javascript_for_script("a='</script>';b='<!--'") == "a='<\\/script>';b='<\\!--'");
  CHECK(javascript_for_script("x='</ScRiPt>'") == "x='<\\/ScRiPt>'");
  CHECK(json_for_script("[\"<&>\"]") == "[\"\\u003c\\u0026\\u003e\"]");
  CHECK(html_escaped("<a href=\"x\">&") == "&lt;a href=&quot;x&quot;&gt;&amp;");
}

TEST_CASE("a report is written atomically, with links to the files beside it",
          "[experiments][report-html]") {
  const std::filesystem::path dir = std::filesystem::temp_directory_path() /
                                    ("cclgym report " + std::to_string(std::random_device{}()));
  std::filesystem::create_directories(dir / "timelines");
  std::filesystem::create_directories(dir / "elsewhere");
  write_text_file((dir / "timelines" / "ring c1.json").string(), "{}");
  write_text_file((dir / "timelines" / "notes.txt").string(), "");
  std::string links = "link,wire_bytes,rate_GBps,capacity_GBps,share,busy_us\n";
  for (int k = 0; k < 9; ++k) links += "a -> b" + std::to_string(k) + ",1e6,47.5,50,0.95,20\n";
  write_text_file((dir / "timelines" / "ring c1.links.csv").string(), links);
  const std::vector<ResultRow> rows = sweep(2);
  const std::string path = write_report(experiment_of(rows), rows, dir.string());
  CHECK(path == (dir / "report.html").string());
  const nlohmann::json data = data_of(read_text_file(path, 1 << 24));
  CHECK(data["results_href"] == "results.csv");
  REQUIRE(data["timelines"].size() == 1);
  CHECK(data["timelines"][0]["label"] == "ring c1");
  CHECK(data["timelines"][0]["href"] == "timelines/ring%20c1.json");
  REQUIRE(data["timelines"][0]["links"].size() == 8);  // of nine links
  CHECK(data["timelines"][0]["links"][0]["link"] == "a -> b0");
  CHECK(data["timelines"][0]["links"][0]["rate_GBps"] == 47.5);
  CHECK(data["timelines"][0]["links"][0]["capacity_GBps"] == 50);
  CHECK(data["timelines"][0]["links"][0]["share"] == 0.95);
  CHECK(data["warnings"].empty());
  const std::string other = (dir / "elsewhere" / "r.html").string();
  CHECK(write_report(experiment_of(rows), rows, dir.string() + "/", other) == other);
  CHECK(data_of(read_text_file(other, 1 << 24))["results_href"] == "../results.csv");
  CHECK_THROWS_AS(write_report(experiment_of(rows), rows, (dir / "no such").string()), UserError);
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace cclgym
