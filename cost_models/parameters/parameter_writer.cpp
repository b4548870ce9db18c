#include "cost_models/parameters/parameter_writer.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <string_view>
#include <vector>

#include "core/yaml/yaml_scalar.hpp"
#include "cost_models/parameters/cost_parameters.hpp"

namespace cclgym {

namespace {

std::vector<std::string_view> parts_of(std::string_view name) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t dot = name.find('.');
    parts.push_back(name.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    name.remove_prefix(dot + 1);
  }
}

}  // namespace

std::string to_yaml(const ParameterSet& set, const std::string& comment) {
  const CostModel& model = set.model;
  std::string text;
  for (std::size_t begin = 0; begin < comment.size();) {
    const std::size_t end = std::min(comment.find('\n', begin), comment.size());
    text += fmt::format("# {}\n", comment.substr(begin, end - begin));
    begin = end + 1;
  }
  text += fmt::format("name: {}\ndescription: {}\n", yaml_scalar(model.name),
                      yaml_scalar(model.description));
  if (!set.library.empty()) text += fmt::format("library: {}\n", yaml_scalar(set.library));
  if (!set.unmeasured.empty()) text += fmt::format("unmeasured: {}\n", yaml_scalar(set.unmeasured));
  if (set.fitted_to) text += fitted_rows_yaml(*set.fitted_to);
  std::vector<std::string_view> open;  // the mappings around the last parameter
  for (const CostParameter& parameter : cost_parameters()) {
    const std::optional<double> value = parameter.get(model);
    if (!value) continue;
    const std::vector<std::string_view> parts = parts_of(parameter.name);
    for (std::size_t depth = 0; depth + 1 < parts.size(); ++depth) {
      if (depth < open.size() && open[depth] == parts[depth]) continue;
      open.resize(depth);
      open.push_back(parts[depth]);
      text += fmt::format("{:{}}{}:\n", "", 2 * depth, parts[depth]);
    }
    open.resize(parts.size() - 1);
    const std::size_t indent = 2 * (parts.size() - 1);
    const std::string written = parameter_text(parameter, *value);
    const auto source = set.sources.find(parameter.name);
    if (source == set.sources.end() || source->second.empty()) {
      text += fmt::format("{:{}}{}: {}\n", "", indent, parts.back(), written);
    } else {
      text += fmt::format("{0:{1}}{2}:\n{0:{1}}  value: {3}\n{0:{1}}  source: {4}\n", "", indent,
                          parts.back(), written, yaml_scalar(source->second));
    }
  }
  return text;
}

}  // namespace cclgym
