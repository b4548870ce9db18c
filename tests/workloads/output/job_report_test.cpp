#include "workloads/output/job_report.hpp"

#include <nlohmann/json.hpp>

#include "support/browser.hpp"
#include "support/catch.hpp"
#include "workloads/output/job_pictures.hpp"
#include "workloads/output/output_fixtures.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

const std::vector<TunerRow>& compared() {
  static const std::vector<TunerRow> rows{{"nccl-default:2.18", 2e-3, 5e-4},
                                          {"ring/LL128/8", 1.6e-3, 1e-4}};
  return rows;
}

std::string report_of(const SimulatedJob& made) {
  return job_report(made.job, made.record, made.breakdown, *made.fabric, compared(),
                    {.cost_model = "a100", .tuner = "nccl-default:2.18"});
}

nlohmann::json data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

}  // namespace

TEST_CASE("a job's report has its data", "[workloads][output]") {
  const SimulatedJob made(two_stages(3), fabric_of("ndv4", 8), "a100", {.intervals = 20});
  const std::string page = report_of(made);
  CHECK(page == report_of(made));
  const auto data = data_of(page);
  CHECK(data["numbers"]["step_time_s"] == made.record.step_time_s);
  CHECK(data["numbers"]["use"]["kinds"][0]["max"].size() == 20);
  CHECK(data["numbers"]["tuners"].size() == 2);
  const auto& pictures = data["pictures"];
  CHECK(pictures["bar_ranks"] == 8);
  // Every rank has its own program.
  REQUIRE(pictures["rows"].size() == 8);
  CHECK(pictures["rows"][0]["label"] == "rank 0");
  CHECK(pictures["rows"][0]["lanes"].size() == 3);
  // Dates are in millionths of the step; a box waits before it runs, and boxes do not overlap.
  for (const auto& row : pictures["rows"]) {
    for (const auto& lane : row["lanes"]) {
      std::int64_t free_from = 0;
      CHECK_FALSE(lane["boxes"].empty());
      for (const auto& box : lane["boxes"]) {
        CHECK(box[1] >= free_from);
        CHECK(box[1] <= box[2]);
        CHECK(box[2] <= box[3]);
        free_from = box[3];
      }
      CHECK(free_from <= 1'000'000);
    }
  }
  CHECK(pictures["path"].back()[3] == 1'000'000);
  // The text, for browsers without scripts; names are escaped.
  CHECK(page.find("exposed communication") != std::string::npos);
  CHECK(page.find("forward <b>") == std::string::npos);
}

TEST_CASE("boxes that are too short for a picture are merged", "[workloads][output]") {
  std::vector<PaintedBox> boxes;
  for (int i = 0; i < 1000; ++i) {
    const double start_s = i * 1e-3;
    boxes.push_back({.kind = i % 2,
                     .start_s = start_s,
                     .begin_s = start_s,
                     .end_s = start_s + (i % 2 == 1 ? 9e-4 : 5e-4)});
  }
  CHECK(thinned(boxes, 0).size() == 1000);
  const std::vector<PaintedBox> few = thinned(boxes, 0.1);
  CHECK(few.size() <= 22);
  int operations = 0;
  for (const PaintedBox& box : few) operations += box.operations;
  CHECK(operations == 1000);
  CHECK(few.front().kind == 1);
  CHECK(few.back().end_s == boxes.back().end_s);
}

TEST_CASE("ranks with the same times share a bar", "[workloads][output]") {
  const SimulatedJob made(two_stages(3), fabric_of("ndv4", 8), "a100",
                          {.detail = JobDetail::Calls});
  const JobView view(made.job, made.record);
  const auto bars = rank_bars(view, made.record, made.breakdown, 48);
  CHECK(bars.size() < 8);
  CHECK(bars.front().label.starts_with("rank"));
  std::size_t ranks = 0;
  for (const RankBar& bar : bars) ranks += bar.ranks;
  CHECK(ranks == 8);
  CHECK(rank_bars(view, made.record, made.breakdown, 1).size() == 1);
}

TEST_CASE("the report runs in a browser", "[workloads][output][browser]") {
  SKIP_UNLESS(!browser().empty(), "no chromium or google-chrome in PATH");
  const SimulatedJob made(two_stages(3), fabric_of("ndv4", 8), "a100", {.intervals = 20});
  const auto found = probe_page(report_of(made), R"(
    return {sections: [...doc.querySelectorAll('details.section h2')].map(one => one.textContent),
            boxes: doc.querySelectorAll('.job-svg rect').length,
            plots: doc.querySelectorAll('.job-use canvas').length,
            bars: doc.querySelectorAll('.job-bars .bar').length,
            text: doc.getElementById('summary').textContent};)");
  CHECK(found["sections"].size() == 7);
  CHECK(found["boxes"] > 50);
  CHECK(found["plots"] == 3);
  CHECK(found["bars"] > 1);
  CHECK(std::string(found["text"]).find("ring/LL128/8, would save 400.0 µs of each step (20.0 %") !=
        std::string::npos);
}

TEST_CASE("the report of a tuned job shows the choices", "[workloads][output][browser]") {
  SKIP_UNLESS(!browser().empty(), "no chromium or google-chrome in PATH");
  const SimulatedJob made(two_stages(3), fabric_of("ndv4", 8), "a100", {.intervals = 20});
  JobTuning tuning;
  TunedCall call{.call = {.communicator = "dp", .bytes = 1 << 20}, .share = 0.25};
  call.before = {.algorithm = "ring", .protocol = Protocol::LL, .channels = 2};
  call.chosen = {.algorithm = "tree", .channels = 4};
  call.before_s = 2e-4;
  call.chosen_s = 1e-4;
  call.step_after_s = 1.5e-3;
  tuning.calls = {call, call};
  tuning.calls.back().chosen = call.before;
  const std::string page =
      job_report(made.job, made.record, made.breakdown, *made.fabric, {}, {.tuning = &tuning});
  CHECK(page.find("calls, longest first") != std::string::npos);
  const auto found = probe_page(page, R"(
    const all = [...doc.querySelectorAll('details.section')];
    const chosen = all.find(one => one.querySelector('h2').textContent === 'Chosen configurations');
    return {rows: [...chosen.querySelectorAll('tbody tr')].map(
        row => [...row.cells].map(cell => cell.textContent))};)");
  REQUIRE(found["rows"].size() == 2);
  CHECK(found["rows"][0] == nlohmann::json{"dp", "allreduce", "1MiB", "25.0 %", "ring LL 2 ch",
                                           "tree Simple 4 ch", "200.0 µs", "100.0 µs", "1.500 ms"});
  CHECK(found["rows"][1][5] == "the same");
}
