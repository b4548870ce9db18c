#include "cost_models/parameters/parameter_set.hpp"

#include <algorithm>

#include "cost_models/parameters/cost_parameters.hpp"
#include "cost_models/parameters/parameter_file.hpp"
#include "cost_models/parameters/value_source.hpp"

namespace cclgym {

namespace {

const YamlValue* find_source(const YamlValue& value) {
  return value.is_mapping() ? value.find("source") : nullptr;
}

// True if the source says, in words that read_source knows, that the value was not fitted.
bool is_unfitted(const std::string& source) {
  try {
    ValueSource read = read_source(source);
    while (!read.set.empty()) read = read_source(std::string(read.there));
    return read.kind != SourceKind::Fitted;
  } catch (const UserError&) {
    return false;
  }
}

}  // namespace

std::string ParameterSet::source_of(const std::string& parameter) const {
  const auto found = sources.find(parameter);
  if (found == sources.end()) return std::string(kDefaultSource);
  return found->second.empty() ? std::string(kNoSource) : found->second;
}

ParameterSet read_parameter_set(const YamlValue& document) {
  ParameterSet set{.model = read_cost_model(document)};
  for (const CostParameter& parameter : cost_parameters()) {
    const YamlValue* value = find_parameter(document, parameter.name);
    if (value == nullptr) continue;
    const YamlValue* source = find_source(*value);
    set.sources[parameter.name] =
        source != nullptr && source->is_scalar() ? source->as_text() : std::string();
  }
  if (const YamlValue* library = document.find("library")) {
    set.library = read_text(*library, find_option(cost_model_options(), "library"));
  }
  if (const YamlValue* reason = document.find("unmeasured")) {
    set.unmeasured = read_text(*reason, find_option(cost_model_options(), "unmeasured"));
  }
  if (const YamlValue* rows = document.find("fitted_to")) {
    set.fitted_to = read_fitted_rows(*rows);
  } else if (std::all_of(set.sources.begin(), set.sources.end(),
                         [](const auto& entry) { return is_unfitted(entry.second); })) {
    set.fitted_to.emplace();
  }
  return set;
}

ParameterSet load_parameter_set(const std::string& path) {
  return read_parameter_set(load_yaml_file(path));
}

}  // namespace cclgym
