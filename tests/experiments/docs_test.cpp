// Compares docs/experiments.md with the records that the loader uses. With CCLGYM_UPDATE_DOCS=1 in
// the environment, the test writes the tables into the page.
#include <algorithm>

#include "experiments/run/results.hpp"
#include "experiments/summary/measured_speedup.hpp"
#include "experiments/sweep/combinations.hpp"
#include "experiments/sweep/experiment_options.hpp"
#include "experiments/sweep/measured_speedup_options.hpp"
#include "sim/tuners/dispatch_table.hpp"
#include "support/catch.hpp"
#include "support/doc_page.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {
namespace {

const std::string kPage = test::source_path("docs/experiments.md");

TEST_CASE("docs/experiments.md has the tables of the option records", "[experiments][docs]") {
  test::DocPage page("experiments.md");
  page.put("experiment", experiment_options());
  page.put("fabric", fabric_spec_options());
  page.put("cost_model", cost_model_choice_options());
  page.put("baseline", baseline_options());
  page.put("dispatch", dispatch_options());
  page.put("dispatch_block", dispatch_block_options());
  page.put("dispatch_range", dispatch_range_options());
  page.put("only", combination_options());
  page.put("measured_speedup", measured_speedup_options());
  page.put("timeline", timeline_options());
  page.check();
}

TEST_CASE("the dispatch table in docs/experiments.md is valid", "[experiments][docs]") {
  const std::string page = test::read_file(kPage);
  const std::size_t begin = page.find("description: NDv4, by hand");
  REQUIRE(begin != std::string::npos);
  const DispatchTable table =
      parse_dispatch_table(page.substr(begin, page.find("```", begin) - begin), "page");
  CHECK(table.blocks.at(0).ranges.size() == 3);
}

TEST_CASE("docs/library.md shows docs/examples/own_collective.cpp unchanged",
          "[experiments][docs]") {
  const std::string page = test::read_file(test::source_path("docs/library.md"));
  const std::string program =
      test::read_file(test::source_path("docs/examples/own_collective.cpp"));
  REQUIRE(program.find("int main()") != std::string::npos);
  CHECK(page.find("\n```cpp\n" + program + "```\n") != std::string::npos);
}

TEST_CASE("docs/experiments.md names every column of results.csv", "[experiments][docs]") {
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
