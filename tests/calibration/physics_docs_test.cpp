// Checks that docs/physics.md has the values of the shipped sets, and the kind of each value.
#include <fmt/format.h>
#include <string>

#include "cost_models/parameters/cost_parameters.hpp"
#include "cost_models/parameters/parameter_set.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "cost_models/parameters/value_source.hpp"
#include "support/catch.hpp"
#include "support/doc_page.hpp"

namespace cclgym::test {
namespace {

// Suffix for the kind of a value, with the page's letters, for example " f".
std::string mark(const ParameterSet& set, const std::string& parameter) {
  const auto source = set.sources.find(parameter);
  if (source == set.sources.end() || source->second.ends_with(kDefaultSource)) return "";
  const ValueSource read = read_source(source->second);
  switch (read.kind) {
    case SourceKind::Fitted:
      return read.determined ? " f" : " f?";
    case SourceKind::TakenOver:
      return " t";
    case SourceKind::Measured:
      return " m";
    case SourceKind::SetByHand:
      return " h";
  }
  return "";
}

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
      const ParameterSet shipped = shipped_parameter_set(set);
      const auto value = parameter.get(shipped.model);
      table += fmt::format(
          " {} |", value ? parameter_text(parameter, *value) + mark(shipped, parameter.name) : "");
    }
    table += "\n";
  }
  return table;
}

TEST_CASE("docs/physics.md has the values of the shipped sets", "[calibration][physics-docs]") {
  DocPage page("physics.md");
  page.put("values", value_table());
  page.check();
}

}  // namespace
}  // namespace cclgym::test
