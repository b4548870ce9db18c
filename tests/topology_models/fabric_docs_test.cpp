// Compares docs/fabrics.md with the option records of the loader and the facts of the fabrics. With
// CCLGYM_UPDATE_DOCS=1 in the environment, the test writes the generated parts of the page.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/files/text_file.hpp"
#include "topology_models/describe/describe.hpp"
#include "topology_models/fabric_file.hpp"
#include "topology_models/fabrics.hpp"

namespace cclgym {

namespace {

const std::string kPage = CCLGYM_SOURCE_DIR "/docs/fabrics.md";

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  REQUIRE(file.good());
  std::ostringstream stream;
  stream << file.rdbuf();
  return stream.str();
}

// The page with `text` between the marks of section `name`.
std::string with_section(const std::string& page, const std::string& name,
                         const std::string& text) {
  const std::string begin = "<!-- begin generated: " + name + " -->\n";
  INFO(name);
  const std::size_t from = page.find(begin);
  REQUIRE(from != std::string::npos);
  const std::size_t to = page.find("<!-- end generated -->", from);
  REQUIRE(to != std::string::npos);
  return page.substr(0, from) + begin + text + page.substr(to);
}

std::string overview() {
  std::string text =
      "| name | GPUs per server | max servers | description |\n| --- | --- | --- | --- |\n";
  for (const FabricInfo& info : fabric_infos()) {
    FabricSpec spec;
    spec.name = info.name;
    const FabricPtr fabric = make_fabric(spec);
    std::string most = "1";
    bool any_size = false;
    for (const OptionSpec& option : info.options) {
      if (option.name == "servers") most = std::to_string(static_cast<int>(option.max.value()));
      any_size = any_size || option.name == "gpus";
    }
    text += "| [`" + info.name + "`](#" + info.name + ") | " +
            (any_size ? "any number" : std::to_string(fabric->ranks() / fabric->servers())) +
            (fabric->gpu_model().empty() ? "" : " " + fabric->gpu_model()) + " | " + most + " | " +
            info.description + " |\n";
  }
  return text;
}

std::string section_of(const FabricInfo& info) {
  std::string text = info.description + "\n\n" + markdown_table(info.options);
  if (info.facts.empty()) return text;
  text += "\n| fact | source |\n| --- | --- |\n";
  for (const FabricFact& fact : info.facts) {
    text += "| " + fact.fact + " | " + fact.source + " |\n";
  }
  return text;
}

}  // namespace

TEST_CASE("docs/fabrics.md holds the tables of all fabrics and keys, as the records give them") {
  const std::string page = content_of(kPage);
  std::string expected = with_section(page, "fabrics", overview());
  for (const FabricInfo& info : fabric_infos()) {
    CHECK(page.find("### `" + info.name + "`\n") != std::string::npos);
    expected = with_section(expected, info.name, section_of(info));
  }
  expected = with_section(expected, "describe",
                          describe_fabric(*fabric_of("polaris", 64)) +
                              describe_facts(find_fabric_info("polaris")->facts));
  if (std::getenv("CCLGYM_UPDATE_DOCS") != nullptr) write_text_file(kPage, expected);
  INFO("CCLGYM_UPDATE_DOCS=1 build/tests/topology_models/test_topology writes the page");
  const bool up_to_date = content_of(kPage) == expected;
  CHECK(up_to_date);
  for (const auto& options :
       {fabric_file_options(), fabric_node_options(), fabric_link_options()}) {
    const std::string table = markdown_table(options);
    INFO("docs/fabrics.md must hold this table:\n" << table);
    CHECK(page.find(table) != std::string::npos);
  }
}

TEST_CASE("the example in docs/fabrics.md is the shipped file") {
  const std::string example = content_of(CCLGYM_SOURCE_DIR "/experiments/fabrics/two-islands.yaml");
  REQUIRE_FALSE(example.empty());
  CHECK(content_of(kPage).find("```yaml\n" + example + "```\n") != std::string::npos);
}

}  // namespace cclgym
