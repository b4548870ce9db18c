// Names of the nodes of a flow graph.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "synthesis/flow_graph.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym::synthesis {

/// A node has its device's name; further nodes of the same device have "#2", "#3" and so on after
/// it, in the order of the graph.
class NodeNames {
 public:
  NodeNames(const Fabric& fabric, const FlowGraph& graph);

  [[nodiscard]] const std::string& of(int node) const {
    return names_[static_cast<std::size_t>(node)];
  }
  /// Names of the nodes of a set, in the order of nodes.
  [[nodiscard]] std::vector<std::string> of_set(const std::vector<char>& set) const;
  /// Throws UserError if no node has the name.
  [[nodiscard]] int node(const std::string& name) const;
  /// Set of the nodes with these names. Throws UserError for an unknown or a repeated name.
  [[nodiscard]] std::vector<char> set_of(const std::vector<std::string>& names) const;

 private:
  std::string fabric_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, int> nodes_;  ///< only looked up
};

}  // namespace cclgym::synthesis
