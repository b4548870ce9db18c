// Fabrics from files of any format: fabric files, and descriptions of a node by its own tools.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "topology_models/fabric.hpp"

namespace cclgym {

/// Loads a fabric from a fabric file (YAML), NCCL's topology (XML) or the output of `nvidia-smi
/// topo -m`, by its contents. Of a fabric file, the fabric has the first `nodes` cluster nodes, or
/// all. The last two describe one node, of which the fabric has `nodes`, or one;
/// Fabric::warnings() says what they leave open. Throws UserError as load_fabric does, and
/// FabricOptionError if a fabric file has fewer nodes.
[[nodiscard]] std::shared_ptr<const Fabric> load_any_fabric(const std::string& path,
                                                            std::optional<int> nodes);

/// The same from a text; `path` is for messages and the name of the fabric.
[[nodiscard]] std::shared_ptr<const Fabric> read_any_fabric(std::string_view text,
                                                            const std::string& path,
                                                            std::optional<int> nodes);

/// The fabric file (YAML) of the same fabric: what a description of a node is translated to, or the
/// file itself.
[[nodiscard]] std::string fabric_file_text(const std::string& path, int nodes);

}  // namespace cclgym
