#include "synthesis/certificates/node_names.hpp"

#include <fmt/format.h>
#include <map>

#include "core/error.hpp"
#include "core/index.hpp"

namespace cclgym::synthesis {

NodeNames::NodeNames(const Fabric& fabric, const FlowGraph& graph) : fabric_(fabric.name()) {
  std::map<NodeId, int> nodes_of_device;
  for (int node = 0; node < graph.nodes; ++node) {
    const NodeId device = graph.devices[at(node)];
    std::string name = fabric.nodes()[at(device)].name;
    const int number = ++nodes_of_device[device];
    if (number > 1) name += fmt::format("#{}", number);
    nodes_.emplace(name, node);
    names_.push_back(std::move(name));
  }
}

std::vector<std::string> NodeNames::of_set(const std::vector<char>& set) const {
  std::vector<std::string> names;
  for (std::size_t node = 0; node < set.size(); ++node) {
    if (set[node]) names.push_back(names_[node]);
  }
  return names;
}

int NodeNames::node(const std::string& name) const {
  const auto found = nodes_.find(name);
  if (found != nodes_.end()) return found->second;
  throw UserError(fmt::format("fabric '{}' has no device {} on a route", fabric_, quoted(name)));
}

std::vector<char> NodeNames::set_of(const std::vector<std::string>& names) const {
  std::vector<char> set(names_.size(), 0);
  for (const std::string& name : names) {
    char& there = set[at(node(name))];
    if (there) throw UserError(fmt::format("a cut names device {} twice", quoted(name)));
    there = 1;
  }
  return set;
}

}  // namespace cclgym::synthesis
