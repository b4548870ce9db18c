// docs/fabrics.md against the records that the loader reads by.
#include <fstream>
#include <sstream>

#include "fabrics.hpp"
#include "topology_models/fabric_file.hpp"

namespace cclgym {

TEST_CASE("docs/fabrics.md holds the tables of all fabrics and keys, as the records give them") {
  std::ifstream file(CCLGYM_SOURCE_DIR "/docs/fabrics.md");
  REQUIRE(file.good());
  std::ostringstream stream;
  stream << file.rdbuf();
  const std::string page = stream.str();
  const auto holds = [&](const std::vector<OptionSpec>& options) {
    const std::string table = markdown_table(options);
    INFO("docs/fabrics.md must hold this table:\n" << table);
    CHECK(page.find(table) != std::string::npos);
  };
  for (const FabricInfo& info : fabric_infos()) {
    INFO(info.name);
    CHECK(page.find("### `" + info.name + "`\n\n" + info.description) != std::string::npos);
    holds(info.options);
  }
  holds(fabric_file_options());
  holds(fabric_node_options());
  holds(fabric_link_options());
}

TEST_CASE("the example in docs/fabrics.md is the shipped file") {
  std::ostringstream page;
  page << std::ifstream(CCLGYM_SOURCE_DIR "/docs/fabrics.md").rdbuf();
  std::ostringstream example;
  example << std::ifstream(CCLGYM_SOURCE_DIR "/experiments/fabrics/two-islands.yaml").rdbuf();
  REQUIRE_FALSE(example.str().empty());
  CHECK(page.str().find("```yaml\n" + example.str() + "```\n") != std::string::npos);
}

}  // namespace cclgym
