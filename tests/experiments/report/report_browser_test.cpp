// Opens reports in a browser: ticks, labels, tooltips, sections, and what is drawn when.
#include <nlohmann/json.hpp>

#include "experiments/report/report.hpp"
#include "experiments/report/report_sample.hpp"
#include "support/browser.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

using test::experiment_of;
using test::probe_page;
using test::row;

constexpr const char* kNoBrowser = "no chromium or google-chrome in PATH";

// Speedups from 1/8 to 4, a tuner that wins, five seeds.
std::vector<ResultRow> varied() {
  std::vector<ResultRow> rows;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const double skew = 1 + 0.02 * static_cast<double>(seed);
    for (int i = 0; i < 12; ++i) {
      const std::uint64_t bytes = std::uint64_t{3000} << i;
      rows.push_back(row("ring", "Simple", 1, bytes, skew * (100 + i), seed));
      rows.push_back(row("tree", "LL", 1, bytes, skew * (26 + 60 * i), seed));
      rows.push_back(row("nccl-default:2.18", "LL", 4, bytes, skew * (i < 6 ? 30 : 50), seed));
      rows.back().program = "ring";
    }
  }
  return rows;
}

constexpr const char* kCharts = R"(
  const charts = [...doc.querySelectorAll('canvas')].map(one => win.Chart.getChart(one))
      .filter(one => one);
  const ticksOf = axis => axis.ticks.map(tick => ({value: tick.value,
    label: Array.isArray(tick.label) ? tick.label.join(' ') : String(tick.label)}));
)";

TEST_CASE("ticks are at sizes that were run, speedups at powers of two, and labels stay apart",
          "[experiments][report-browser]") {
  SKIP_UNLESS(!test::browser().empty(), kNoBrowser);
  const std::vector<ResultRow> rows = varied();
  const std::string html = report_html(experiment_of(rows), {.rows = rows});
  for (const int width : {1400, 390}) {
    INFO(width);
    const nlohmann::json found = probe_page(html, std::string(kCharts) + R"(
      const overlaps = charts.flatMap(chart => Object.values(chart.scales).flatMap(axis => {
        const ctx = axis.ctx;
        ctx.font = '12px sans-serif';
        const boxes = axis.ticks.map((tick, i) => {
          const at = axis.getPixelForTick(i);
          const half = axis.isHorizontal() ? ctx.measureText(tick.label).width / 2 : 6;
          return [at - half, at + half];
        }).sort((a, b) => a[0] - b[0]);
        return boxes.filter((box, i) => i > 0 && box[0] < boxes[i - 1][1]);
      }));
      return {count: charts.length, overlaps: overlaps.length, sizes: ticksOf(charts[0].scales.x),
        speedups: ticksOf(charts[2].scales.y), wide: doc.documentElement.scrollWidth};
    )",
                                            width);
    CHECK(found["count"] >= 3);
    CHECK(found["overlaps"] == 0);
    CHECK(found["wide"] <= width);
    CHECK(found["sizes"].size() >= 3);
    for (const nlohmann::json& tick : found["sizes"]) {
      const std::uint64_t bytes = tick["value"];
      CHECK(bytes % 3000 == 0);
    }
    CHECK(found["sizes"][0]["label"] == "2.93KiB");
    std::vector<std::string> labels;
    for (const nlohmann::json& tick : found["speedups"]) labels.push_back(tick["label"]);
    CHECK(labels == std::vector<std::string>{"1/8×", "1/4×", "1/2×", "1×", "2×", "4×"});
  }
}

TEST_CASE("a tooltip says the size and leaves the point free", "[experiments][report-browser]") {
  SKIP_UNLESS(!test::browser().empty(), kNoBrowser);
  const std::vector<ResultRow> rows = varied();
  const std::string html = report_html(experiment_of(rows), {.rows = rows});
  for (const int width : {1400, 390}) {
    const nlohmann::json found = probe_page(html, std::string(kCharts) + R"(
      const seen = [];
      for (const chart of charts.slice(0, 3)) {
        chart.data.datasets.forEach((set, datasetIndex) => set.data.forEach((_, index) => {
          const mark = chart.getDatasetMeta(datasetIndex).data[index];
          chart.tooltip.setActiveElements([{datasetIndex, index}], {x: mark.x, y: mark.y});
          chart.update('none');
          const tip = doc.querySelector('.tip');
          const box = tip.getBoundingClientRect();
          const canvas = chart.canvas.getBoundingClientRect();
          const [x, y] = [canvas.left + mark.x, canvas.top + mark.y];
          seen.push({hidden: tip.hidden, text: tip.textContent, covers: x > box.left - 4 &&
            x < box.right + 4 && y > box.top - 4 && y < box.bottom + 4,
            outside: box.left < 0 || box.right > win.innerWidth});
        }));
      }
      return seen;
    )",
                                            width);
    REQUIRE(found.size() >= 3 * 3 * 12);
    for (const nlohmann::json& one : found) {
      REQUIRE(one["hidden"] == false);
      REQUIRE(one["covers"] == false);
      REQUIRE(one["outside"] == false);
      REQUIRE(one["text"].get<std::string>().find("iB") != std::string::npos);
    }
  }
}

TEST_CASE("the scales follow the series that are shown", "[experiments][report-browser]") {
  SKIP_UNLESS(!test::browser().empty(), kNoBrowser);
  const std::vector<ResultRow> rows = varied();
  const nlohmann::json found =
      probe_page(report_html(experiment_of(rows), {.rows = rows}), std::string(kCharts) + R"(
        const range = () => [charts[2].scales.y.min, charts[2].scales.y.max];
        const before = range();
        [...doc.querySelectorAll('.chip')].find(one => one.textContent === 'tree').click();
        return {before, after: range()};
      )");
  CHECK(found["before"][0] == 0.125);
  CHECK(found["after"][0] == 1);
}

TEST_CASE("tuners can win, and every seed of five is in the plot of the spread",
          "[experiments][report-browser]") {
  SKIP_UNLESS(!test::browser().empty(), kNoBrowser);
  const std::vector<ResultRow> rows = varied();
  const nlohmann::json found =
      probe_page(report_html(experiment_of(rows), {.rows = rows}), std::string(kCharts) + R"(
        const wins = [...doc.querySelectorAll('.wins tbody tr')].map(row =>
            [row.firstChild.textContent, row.querySelectorAll('.won').length]);
        const spread = charts.find(chart => chart.canvas.getAttribute('aria-label')
            .startsWith('Time over its median'));
        return {wins, dots: spread.data.datasets.filter(set => set.showLine === false)
            .map(set => set.data.length)};
      )");
  CHECK(found["wins"] ==
        nlohmann::json::parse(R"([["ring",0],["tree",1],["nccl-default:2.18",11]])"));
  CHECK(found["dots"] == nlohmann::json({60, 60, 60}));
}

TEST_CASE("sections collapse, plots wait until they are seen, and the contents stay in view",
          "[experiments][report-browser]") {
  SKIP_UNLESS(!test::browser().empty(), kNoBrowser);
  std::vector<ResultRow> rows;
  for (int block = 0; block < 24; ++block) {
    for (const ResultRow& one : varied()) {
      if (one.seed > 1) continue;
      rows.push_back(one);
      rows.back().fabric = "machine" + std::to_string(block);
      rows.back().ranks = 8 + block;
    }
  }
  const nlohmann::json found =
      probe_page(report_html(experiment_of(rows), {.rows = rows}), std::string(kCharts) + R"(
        const sections = [...doc.querySelectorAll('details.section')];
        win.scrollTo(0, 3000);
        const contents = doc.querySelector('.contents').getBoundingClientRect();
        return {charts: charts.length, sections: sections.length,
          filled: sections.filter(one => one.lastChild.childElementCount).length,
          open: sections.filter(one => one.open).length, scrolled: win.scrollY, top: contents.top,
          links: doc.querySelectorAll('.contents a').length,
          first: doc.getElementById('summary').getBoundingClientRect().bottom + win.scrollY};
      )");
  CHECK(found["sections"] >= 25);
  CHECK(found["links"] == found["sections"]);
  CHECK(found["charts"] < 24);
  CHECK(found["filled"] < 12);
  CHECK(found["open"] < found["sections"]);
  CHECK(found["scrolled"] > 100);
  CHECK(found["top"] == 0);
  CHECK(found["first"] < 800);  // the summary is on the first screen
}

}  // namespace
}  // namespace cclgym
