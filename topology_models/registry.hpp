// The fabrics that runs and sweeps can choose from, by name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/option.hpp"
#include "core/yaml.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Which fabric, and how it differs from its defaults. An option that is not given takes the
/// default of its fabric; one that its fabric does not have is an error.
struct FabricSpec {
  std::string name{};            ///< a shipped fabric, or a path that ends in ".yaml" or ".yml"
  std::optional<int> servers{};  ///< every fabric takes 1
  std::optional<int> gpus{};
  std::optional<double> bandwidth_Bps{};  ///< of one link unit, one direction, B/s
  std::optional<double> latency_s{};      ///< of one traversal of a link, s
};

/// A shipped fabric, for `list` and `describe`.
struct FabricInfo {
  std::string name;
  std::string description;          ///< one line
  std::vector<OptionSpec> options;  ///< those of FabricSpec that it has, with their defaults
};

/// The shipped fabrics, in the order in which `list` shows them.
[[nodiscard]] const std::vector<FabricInfo>& fabric_infos();

/// Builds a shipped fabric or loads one from a file. Throws UserError if there is no such fabric
/// (naming the nearest), it does not have an option that is given, or a value is out of range.
[[nodiscard]] std::shared_ptr<const Fabric> make_fabric(const FabricSpec& spec);

/// What distinguishes a fabric in results: the name and the options that were given, e.g. "ring" or
/// "ring gpus=16 bandwidth=50GB/s".
[[nodiscard]] std::string fabric_label(const FabricSpec& spec);

/// The records of the keys that read_fabric_spec takes: `name` and every option of FabricSpec.
[[nodiscard]] const std::vector<OptionSpec>& fabric_spec_options();

/// Reads a FabricSpec: a name ("dgx1") or a mapping ({name: ring, gpus: 16}). A relative path of a
/// fabric file is taken from the folder of the YAML file that names it. Throws UserError at the
/// place of the mistake; of the options, it checks all that make_fabric checks.
[[nodiscard]] FabricSpec read_fabric_spec(const YamlValue& value);

}  // namespace cclgym
