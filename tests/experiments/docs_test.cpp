// Checks docs/experiments.md against the records that the loader uses. With CCLGYM_UPDATE_DOCS=1 in
// the environment, the test writes the tables into the page.
#include <algorithm>
#include <cstdlib>

#include "experiments/run/results.hpp"
#include "experiments/summary/measured_speedup.hpp"
#include "experiments/sweep/combinations.hpp"
#include "experiments/sweep/experiment_options.hpp"
#include "experiments/sweep/measured_speedup_options.hpp"
#include "sim/tuners/dispatch_table.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {
namespace {

const std::string kPage = CCLGYM_SOURCE_DIR "/docs/experiments.md";

// The page with the table of the section `name` between its marks.
std::string with_table(const std::string& page, const std::string& name,
                       const std::vector<OptionSpec>& specs) {
  const std::string begin = "<!-- begin generated: " + name + " -->\n";
  const std::string end = "<!-- end generated -->";
  const std::size_t from = page.find(begin);
  REQUIRE(from != std::string::npos);
  const std::size_t to = page.find(end, from);
  REQUIRE(to != std::string::npos);
  return page.substr(0, from) + begin + markdown_table(specs) + page.substr(to);
}

TEST_CASE("docs/experiments.md has the tables of the option records") {
  const std::string page = test::read_file(kPage);
  std::string expected = with_table(page, "experiment", experiment_options());
  expected = with_table(expected, "fabric", fabric_spec_options());
  expected = with_table(expected, "cost_model", cost_model_choice_options());
  expected = with_table(expected, "baseline", baseline_options());
  expected = with_table(expected, "dispatch", dispatch_options());
  expected = with_table(expected, "dispatch_block", dispatch_block_options());
  expected = with_table(expected, "dispatch_range", dispatch_range_options());
  expected = with_table(expected, "only", combination_options());
  expected = with_table(expected, "measured_speedup", measured_speedup_options());
  expected = with_table(expected, "timeline", timeline_options());
  if (std::getenv("CCLGYM_UPDATE_DOCS") != nullptr) test::write_file(kPage, expected);
  INFO("CCLGYM_UPDATE_DOCS=1 build/tests/experiments/test_experiments writes the page");
  CHECK(test::read_file(kPage) == expected);
}

TEST_CASE("the dispatch table in docs/experiments.md is valid") {
  const std::string page = test::read_file(kPage);
  const std::size_t begin = page.find("description: NDv4, by hand");
  REQUIRE(begin != std::string::npos);
  const DispatchTable table =
      parse_dispatch_table(page.substr(begin, page.find("```", begin) - begin), "page");
  CHECK(table.blocks.at(0).ranges.size() == 3);
}

TEST_CASE("docs/library.md shows docs/examples/own_collective.cpp unchanged") {
  const std::string page = test::read_file(CCLGYM_SOURCE_DIR "/docs/library.md");
  const std::string program =
      test::read_file(CCLGYM_SOURCE_DIR "/docs/examples/own_collective.cpp");
  REQUIRE(program.find("int main()") != std::string::npos);
  CHECK(page.find("\n```cpp\n" + program + "```\n") != std::string::npos);
}

TEST_CASE("docs/experiments.md names every column of results.csv") {
  const std::string page = test::read_file(kPage);
  const std::string header = result_header();
  for (std::size_t begin = 0; begin < header.size();) {
    const std::size_t end = std::min(header.find(',', begin), header.size());
    const std::string column = header.substr(begin, end - begin);
    INFO(column);
    CHECK(page.find("`" + column + "`") != std::string::npos);
    begin = end + 1;
  }
}

}  // namespace
}  // namespace cclgym
