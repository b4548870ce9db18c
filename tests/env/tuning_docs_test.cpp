// docs/collective-tuning.md against the records that the environment is made of.
// With CCLGYM_UPDATE_DOCS=1 in the environment, the test writes the tables into the page.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tuning_testing.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

const std::string kPage = CCLGYM_SOURCE_DIR "/docs/collective-tuning.md";

std::string page() {
  std::ifstream file(kPage);
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The page with a table put between the marks of its name.
std::string with_table(const std::string& text, const std::string& name, const std::string& table) {
  const std::string begin = "<!-- begin generated: " + name + " -->\n";
  const std::size_t from = text.find(begin);
  REQUIRE(from != std::string::npos);
  const std::size_t to = text.find("<!-- end generated -->", from);
  REQUIRE(to != std::string::npos);
  return text.substr(0, from) + begin + table + text.substr(to);
}

std::string feature_table() {
  const CollectiveTuningEnv env(
      setup_of("{fabric: ndv4, actions: offline, window: 1, workload: ddp-resnet-50}"));
  std::ostringstream table;
  table << "| feature | unit | range | source |\n| --- | --- | --- | --- |\n";
  for (const TuningFeature& feature : env.observation().features()) {
    table << "| `" << feature.name << "` | " << feature.unit << " | " << feature.low << " .. "
          << feature.high << " | " << feature.source << " |\n";
  }
  return table.str();
}

}  // namespace

TEST_CASE("docs/collective-tuning.md has the tables of the records") {
  std::string expected = page();
  expected = with_table(expected, "collective-tuning", markdown_table(collective_tuning_options()));
  expected = with_table(expected, "workload", markdown_table(workload_options()));
  expected = with_table(expected, "trace-call", markdown_table(trace_call_options()));
  expected = with_table(expected, "regimes", markdown_table(regimes_options()));
  expected = with_table(expected, "regime", markdown_table(regime_options()));
  expected = with_table(expected, "measurement", markdown_table(measurement_options()));
  expected = with_table(expected, "reward", markdown_table(reward_options()));
  expected = with_table(expected, "features", feature_table());
  if (std::getenv("CCLGYM_UPDATE_DOCS") != nullptr) std::ofstream(kPage) << expected;
  INFO("CCLGYM_UPDATE_DOCS=1 build/tests/env/test_env writes the page");
  CHECK(page() == expected);
}

TEST_CASE("docs/collective-tuning.md names what there is") {
  const std::string text = page();
  for (const WorkloadInfo& info : workload_infos()) {
    CHECK(text.find("`" + info.name + "`") != std::string::npos);
  }
  for (const std::string& name : noise_regimes_names()) {
    CHECK(text.find("| `" + name + "` |") != std::string::npos);
  }
  const CollectiveTuningEnv env(setup_of("{fabric: ndv4, workload: ddp-resnet-50}"));
  for (const std::string& name : env.spec().info_names) {
    CHECK(text.find("`" + name + "`") != std::string::npos);
  }
  for (const std::string& reward : reward_options().front().choices) {
    CHECK(text.find("| `" + reward + "` |") != std::string::npos);
  }
  for (const Knob knob : env.setup().actions->knobs()) {
    CHECK(text.find("| `" + std::string(to_string(knob)) + "` |") != std::string::npos);
  }
}
