// Fabrics from YAML files; docs/fabrics.md describes the format.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/options/option.hpp"
#include "core/yaml/yaml.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Loads a fabric from a YAML file. Throws UserError with file:line:column for an unknown key or
/// value, a key without a value, an unknown or duplicate node, a self-link, a quantity without a
/// unit, GPUs that no links connect, a fabric without a GPU, or a file that cannot be read.
[[nodiscard]] std::shared_ptr<const Fabric> load_fabric(const std::string& path);

/// Reads a fabric from a parsed document. `default_name` is its name if the document gives none.
[[nodiscard]] std::shared_ptr<const Fabric> read_fabric(const YamlValue& document,
                                                        const std::string& default_name);

/// "intel", "amd", "arm": the value of key `cpu`.
[[nodiscard]] std::string_view to_string(HostCpu cpu);

// Records of all keys of the format.
[[nodiscard]] const std::vector<OptionSpec>& fabric_file_options();
[[nodiscard]] const std::vector<OptionSpec>& fabric_server_options();  ///< an item of `servers`
[[nodiscard]] const std::vector<OptionSpec>& fabric_node_options();    ///< an item of `nodes`
[[nodiscard]] const std::vector<OptionSpec>& fabric_link_options();    ///< an item of `links`

/// The names that a pattern stands for: each range of whole numbers in it, as in "gpu0..3", counts
/// up, the last range fastest ("s0..1/gpu0..3": 8 names); a text without a range stands for itself.
/// Throws UserError at `where` on a range that counts down, if there are over 100,000 names, and
/// if the pattern is over 200 bytes long.
[[nodiscard]] std::vector<std::string> expand_names(std::string_view pattern,
                                                    const SourceLocation& where = {});

}  // namespace cclgym
