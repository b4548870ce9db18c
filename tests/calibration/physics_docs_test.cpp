// docs/physics.md holds the values of the shipped sets.
#include <fmt/format.h>
#include <string>

#include "catch.hpp"
#include "core/text_file.hpp"
#include "cost_models/cost_parameters.hpp"

namespace cclgym::test {
namespace {

std::string value_table() {
  std::string table = "| parameter |";
  std::string rule = "| --- |";
  for (const std::string& set : cost_model_names()) {
    if (set == "hockney") continue;
    table += fmt::format(" `{}` |", set);
    rule += " --- |";
  }
  table += "\n" + rule + "\n";
  for (const CostParameter& parameter : cost_parameters()) {
    table += fmt::format("| `{}` |", parameter.name);
    for (const std::string& set : cost_model_names()) {
      if (set == "hockney") continue;
      const auto value = parameter.get(shipped_cost_model(set));
      table += fmt::format(" {} |", value ? parameter_text(parameter, *value) : "");
    }
    table += "\n";
  }
  return table;
}

TEST_CASE("docs/physics.md holds the values of the shipped sets") {
  const std::string page =
      read_text_file(std::string(CCLGYM_SOURCE_DIR) + "/docs/physics.md", 1 << 20);
  const std::string table = value_table();
  INFO(table);
  CHECK(page.find("\n" + table) != std::string::npos);
}

}  // namespace
}  // namespace cclgym::test
