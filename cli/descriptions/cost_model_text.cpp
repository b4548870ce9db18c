#include "cli/descriptions/cost_model_text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "cli/support/help_layout.hpp"
#include "core/counted.hpp"
#include "core/units.hpp"
#include "cost_models/parameters/cost_parameters.hpp"
#include "cost_models/parameters/shipped_sets.hpp"

namespace cclgym {

namespace {

std::string rows_text(const FittedRows& rows) {
  std::string text = rows.system;
  if (!rows.ranks.empty()) text += fmt::format(", ranks {}", fmt::join(rows.ranks, " "));
  if (!rows.collectives.empty()) text += fmt::format(", {}", fmt::join(rows.collectives, " "));
  if (!rows.sizes.empty()) {
    text += ", " + sizes_text(rows.sizes);
  }
  if (!rows.configs.empty()) text += fmt::format(", {}", fmt::join(rows.configs, " "));
  return text;
}

std::string fitted_text(const ParameterSet& set) {
  if (!set.fitted_to) return "Fitted to: the set does not say\n";
  if (set.fitted_to->empty()) return "Fitted to: nothing\n";
  std::string text = "Fitted to:\n";
  for (const FittedRows& rows : *set.fitted_to) text += fmt::format("  {}\n", rows_text(rows));
  return text;
}

}  // namespace

ParameterSet named_parameter_set(const std::string& name) {
  const bool is_file = name.ends_with(".yaml") || name.ends_with(".yml");
  return is_file ? load_parameter_set(name) : shipped_parameter_set(name);
}

std::string cost_model_text(const ParameterSet& set) {
  const CostModel& model = set.model;
  std::string text = fmt::format("{}: {}\n", model.name, model.description);
  if (model.hockney) {
    return text +
           "\nA transfer of L bytes costs alpha + L * beta on each link of its route: alpha is the "
           "latency\nof the fabric's link, beta the inverse of its capacity (cclgym describe "
           "fabric "
           "NAME). The model\nhas no parameters of its own.\n";
  }
  if (!model.gpu_models.empty())
    text += fmt::format("GPUs: {}\n", fmt::join(model.gpu_models, ", "));
  text += fitted_text(set);
  std::vector<std::pair<std::string, std::string>> names_and_values;
  std::size_t width = 0;
  for (const CostParameter& parameter : cost_parameters()) {
    const std::optional<double> value = parameter.get(model);
    if (!value) continue;
    names_and_values.emplace_back(parameter.name, parameter_text(parameter, *value));
    width = std::max(width, parameter.name.size());
  }
  std::vector<HelpEntry> lines;
  std::size_t column = 0;
  for (const auto& [name, value] : names_and_values) {
    lines.push_back({fmt::format("{:<{}}  {}", name, width, value), set.source_of(name)});
    column = std::max(column, lines.back().name.size() + 4);
  }
  return text + "\nParameters, with the source of each value:\n" + help_lines(lines, column);
}

nlohmann::ordered_json cost_model_json(const ParameterSet& set) {
  nlohmann::ordered_json json{{"name", set.model.name},
                              {"description", set.model.description},
                              {"gpu_models", set.model.gpu_models}};
  nlohmann::ordered_json& fitted = json["fitted_to"] = nullptr;
  if (set.fitted_to) {
    fitted = nlohmann::ordered_json::array();
    for (const FittedRows& rows : *set.fitted_to) fitted.push_back(rows_text(rows));
  }
  nlohmann::ordered_json& parameters = json["parameters"] = nlohmann::ordered_json::array();
  if (set.model.hockney) return json;
  for (const CostParameter& parameter : cost_parameters()) {
    const std::optional<double> value = parameter.get(set.model);
    nlohmann::ordered_json line{{"name", parameter.name}, {"value", nullptr}, {"text", nullptr}};
    if (value) {
      line["value"] = *value;
      line["text"] = parameter_text(parameter, *value);
      line["source"] = set.source_of(parameter.name);
    }
    parameters.push_back(std::move(line));
  }
  return json;
}

}  // namespace cclgym
