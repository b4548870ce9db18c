// Checks that the page of a training run has its data, and that no text can break out of its place.
#include "experiments/training/training_page.hpp"

#include <nlohmann/json.hpp>

#include "core/version.hpp"
#include "experiments/training/choice_ranges.hpp"
#include "experiments/training/sample_part.hpp"
#include "support/browser.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

nlohmann::json page_data(const std::string& html) {
  const std::string open = R"(<script type="application/json" id="data">)";
  const std::size_t begin = html.find(open) + open.size();
  REQUIRE(begin > open.size());
  return nlohmann::json::parse(html.substr(begin, html.find("</script", begin) - begin));
}

TEST_CASE("the page has curves, summaries, choices and regimes", "[experiments][training-page]") {
  const std::vector<EvaluatedPart> parts{test::sample_part()};
  const TrainingPage page{
      .title = "t",
      .curves = {{7, "iteration,phase,a:oracle_ratio\n1,warm-start,\n2,ppo,1.5\n3,p"}},
      .parts = parts};
  const std::string html = training_html(page, published_regimes());
  const nlohmann::json data = page_data(html);
  CHECK(data["curves"][0]["seed"] == 7);
  CHECK(data["curves"][0]["columns"] == nlohmann::json({"iteration", "phase", "a:oracle_ratio"}));
  // The last line of the file was truncated.
  CHECK(data["curves"][0]["rows"].dump() == R"([[1.0,"warm-start",null],[2.0,"ppo",1.5]])");
  const nlohmann::json& part = data["parts"][0];
  CHECK(part["summary"][0]["policy"] == "lstm-ppo");
  CHECK(part["summary"][0]["worst"] == 2.0);
  const nlohmann::json& collective = part["collectives"][0];
  CHECK(collective["runs"].size() == 4);
  CHECK(collective["runs"][0]["points"][0]["bytes"] == 1024);
  CHECK(collective["runs"][0]["points"][2]["tile_bytes"] == 2 << 20);
  CHECK(collective["published"].size() == 11);
  CHECK(collective["published"][0]["protocol"] == nlohmann::json({"LL"}));
  CHECK(data["published"].size() > 11);
  CHECK(html == training_html(page, published_regimes()));
}

TEST_CASE("the page has facts about the run, and marks choices that NCCL cannot make",
          "[experiments][training-page]") {
  std::vector<EvaluatedPart> parts{test::sample_part()};
  parts[0].runs[0].cells[1].not_nccl = "NCCL does not offer it on this machine";
  const std::vector<LearningCurve> curves{{1, "iteration,calls,cpu_s\n1,100,2.5\n2,200,5\n3,3"},
                                          {2, "iteration,calls,cpu_s\n1,100,2\n"}};
  const TrainingPage page{.title = "t",
                          .curves = curves,
                          .facts = {{"Machines", "ndv4"}, {"Actions", "stock-nccl"}},
                          .parts = parts};
  const nlohmann::json data = page_data(training_html(page, {}));
  CHECK(
      data["facts"] ==
      nlohmann::json::parse(
          R"([["Machines","ndv4"],["Actions","stock-nccl"],["Steps","200 calls in 2 iterations per )"
          R"(seed"],["Time","7 CPU seconds, all seeds together"],["Version","cclgym )" +
          std::string(program_version()) + "\"]]"));
  const nlohmann::json& points = data["parts"][0]["collectives"][0]["runs"][0]["points"];
  REQUIRE(points[0].contains("nccl"));
  CHECK(points[0]["nccl"] == "NCCL does not offer it on this machine");
  CHECK_FALSE(points[1].contains("nccl"));
  CHECK(data["outcome"][0] == "2 agents were trained.");
  CHECK(
      data["outcome"][1].get<std::string>().starts_with("held-out (ndv4), time / the oracle’s: "));
}

TEST_CASE("the page marks choices where they are seen", "[experiments][training-page]") {
  SKIP_UNLESS(!test::browser().empty(), "no chromium or google-chrome in PATH");
  std::vector<EvaluatedPart> parts{test::sample_part()};
  parts[0].runs[0].cells[1].not_nccl = "NCCL does not offer it on this machine";
  const TrainingPage page{.title = "t", .facts = {{"Machines", "ndv4"}}, .parts = parts};
  for (const int width : {1400, 390}) {
    const nlohmann::json found = test::probe_page(training_html(page, {}), R"(
      const labels = [...doc.querySelectorAll('.strips .axis')].map(axis =>
          [...axis.children].map(one => one.getBoundingClientRect()));
      return {marked: [...doc.querySelectorAll('.strips .not-nccl')].map(one => one.textContent),
        facts: [...doc.querySelectorAll('.facts dt')].map(one => one.textContent),
        overlaps: labels.flatMap(boxes => boxes.filter((box, i) =>
            i > 0 && box.left < boxes[i - 1].right)).length,
        wide: doc.documentElement.scrollWidth};
    )",
                                                  width);
    REQUIRE(found["marked"].size() > 0);
    CHECK(found["marked"][0].get<std::string>().starts_with("† "));
    CHECK(found["facts"][0] == "Machines");
    CHECK(found["overlaps"] == 0);
    CHECK(found["wide"] <= width);
  }
}

TEST_CASE("the page is self-contained, and names cannot break out",
          "[experiments][training-page]") {
  const std::string evil = "</script><script>alert(1)</script><!--{{data}} \xff";
  const TrainingPage plain{.title = "t", .curves = {{1, "iteration\n"}}};
  const std::string safe = training_html(plain, {});
  std::vector<EvaluatedPart> parts{test::sample_part()};
  parts[0].label = parts[0].fabric = parts[0].runs[0].policy = evil;
  const TrainingPage page{.title = evil, .curves = {{1, evil + "\n"}}, .parts = parts};
  const std::string html = training_html(page, {});
  const auto scripts = [](const std::string& text) {
    std::size_t count = 0;
    for (std::size_t at = text.find("<script"); at != std::string::npos;
         at = text.find("<script", at + 1)) {
      ++count;
    }
    return count;
  };
  CHECK(scripts(html) == scripts(safe));
  CHECK(page_data(html)["name"].get<std::string>().starts_with("</script><script>"));
  CHECK(html.find(" src=") == std::string::npos);
  CHECK(html.find("default-src 'none'") != std::string::npos);
  CHECK(safe.find("{{") == std::string::npos);
}

}  // namespace
}  // namespace cclgym
