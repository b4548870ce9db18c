// The options of fabrics, one entry each in fabric_fields.cpp: YAML files, command lines, labels of
// results and builders of fabrics loop over this table.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/options/field.hpp"
#include "topology_models/fabric_spec.hpp"

namespace cclgym {

/// An option of fabrics, bound to the members that hold it.
struct FabricField {
  Field<FabricSpec> given;
  Field<FabricParameters> resolved;
  std::string argument;  ///< value name on the command line ("N"); empty: not an option there

  [[nodiscard]] const OptionSpec& spec() const { return given.spec(); }
  [[nodiscard]] const std::string& key() const { return given.key(); }
};

/// All options of fabrics, in the order of labels.
[[nodiscard]] const std::vector<FabricField>& fabric_fields();

/// Differences between one fabric and the record of an option in fabric_fields().
struct FabricBounds {
  std::optional<double> min{};
  std::optional<double> max{};
  std::string default_text{};
  std::string description{};
};

/// The record of an option with the bounds and default of one fabric.
[[nodiscard]] OptionSpec fabric_option(std::string_view key, const FabricBounds& bounds = {});

}  // namespace cclgym
