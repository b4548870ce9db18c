// Compares docs/fabrics.md with the option records of the loader and the facts of the fabrics. With
// CCLGYM_UPDATE_DOCS=1 in the environment, the test writes the generated parts of the page.
#include "support/doc_page.hpp"
#include "support/places.hpp"
#include "topology_models/describe/describe.hpp"
#include "topology_models/fabric_file.hpp"
#include "topology_models/fabrics.hpp"

namespace cclgym {

namespace {

// Only `cclgym describe` has the facts of the others.
bool has_section(const test::DocPage& page, const FabricInfo& info) {
  return page.text().find("### `" + info.name + "`\n") != std::string::npos;
}

std::string overview(const test::DocPage& page) {
  std::string text =
      "| name | GPUs per server | max servers | description |\n| --- | --- | --- | --- |\n";
  for (const FabricInfo& info : fabric_infos()) {
    FabricSpec spec;
    spec.name = info.name;
    const FabricPtr fabric = make_fabric(spec);
    std::string most = "1";
    bool any_size = false;
    for (const OptionSpec& option : info.options) {
      if (option.name == "nodes") most = std::to_string(static_cast<int>(option.max.value()));
      any_size = any_size || option.name == "gpus" || option.name == "shape";
    }
    text += (has_section(page, info) ? "| [`" + info.name + "`](#" + info.name + ") | "
                                     : "| `" + info.name + "` | ") +
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

TEST_CASE("docs/fabrics.md holds the tables of all fabrics and keys, as the records give them",
          "[topology_models][fabric-docs]") {
  test::DocPage page("fabrics.md");
  page.put("fabrics", overview(page));
  for (const FabricInfo& info : fabric_infos()) {
    if (has_section(page, info)) page.put(info.name, section_of(info));
  }
  page.put("describe", describe_fabric(*fabric_of("polaris", 64)) +
                           describe_facts(find_fabric_info("polaris")->facts));
  page.put("fabric file", fabric_file_options());
  page.put("server", fabric_server_options());
  page.put("node", fabric_node_options());
  page.put("link", fabric_link_options());
  page.check();
}

TEST_CASE("the example in docs/fabrics.md is the shipped file", "[topology_models][fabric-docs]") {
  const std::string example =
      test::read_file(test::source_path("experiments/fabrics/two-islands.yaml"));
  REQUIRE_FALSE(example.empty());
  CHECK(test::DocPage("fabrics.md").text().find("```yaml\n" + example + "```\n") !=
        std::string::npos);
}

}  // namespace cclgym
