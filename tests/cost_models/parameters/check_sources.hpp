// Checks that shipped and written parameter sets give a source for every value.
#pragma once

#include "cost_models/parameters/cost_parameters.hpp"
#include "cost_models/parameters/parameter_file.hpp"
#include "cost_models/parameters/value_source.hpp"

namespace cclgym::test {

/// Throws UserError at the first value that has no source, or a source that read_source refuses.
inline void check_sources(const YamlValue& document) {
  for (const CostParameter& parameter : cost_parameters()) {
    const YamlValue* value = find_parameter(document, parameter.name);
    if (value == nullptr) continue;
    const YamlValue* source = value->is_mapping() ? value->find("source") : nullptr;
    if (source == nullptr) {
      throw UserError(value->location(), "parameter '" + parameter.name +
                                             "': found a value without a source; expected "
                                             "{value: …, source: …}");
    }
    static_cast<void>(read_source(source->as_text(), source->location()));
  }
}

}  // namespace cclgym::test
