#include "topology_models/fabric_without.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/index.hpp"
#include "core/split.hpp"

namespace cclgym {

namespace {

NodeId device_named(const Fabric& fabric, std::string_view name) {
  std::vector<std::string> names;
  for (std::size_t id = 0; id < fabric.nodes().size(); ++id) {
    if (fabric.nodes()[id].name == name) return static_cast<NodeId>(id);
    names.push_back(fabric.nodes()[id].name);
  }
  const std::string nearest = nearest_name(name, names);
  throw UserError(fmt::format("fabric '{}' has no device {}; {}", fabric.name(), quoted(name),
                              nearest.empty() ? "cclgym describe fabric lists its devices"
                                              : fmt::format("did you mean '{}'?", nearest)));
}

// "gpu0:gpu4, gpu1:gpu5" is a list, too.
std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

// Copy of a fabric without the devices and links that are marked.
std::shared_ptr<const Fabric> copy_without(const Fabric& fabric, std::string name,
                                           const std::vector<char>& device_gone,
                                           const std::vector<char>& link_gone) {
  FabricBuilder builder(std::move(name));
  builder.set_gpu_model(fabric.gpu_model());
  builder.set_host(fabric.host());
  builder.set_network(fabric.network());
  builder.set_cost_model(fabric.cost_model());
  std::vector<NodeId> renumbered(fabric.nodes().size(), -1);
  for (std::size_t id = 0; id < renumbered.size(); ++id) {
    if (!device_gone[id]) renumbered[id] = builder.add_node(fabric.nodes()[id]);
  }
  for (std::size_t id = 0; id < link_gone.size(); ++id) {
    Link link = fabric.links()[id];
    link.source = renumbered[at(link.source)];
    link.target = renumbered[at(link.target)];
    if (link_gone[id] || link.source < 0 || link.target < 0) continue;
    builder.add_link(link);
  }
  builder.set_routing(fabric.routing());
  builder.set_max_relays(fabric.max_relays());
  builder.set_warnings(fabric.warnings());
  return builder.build();
}

}  // namespace

std::string label_of_parts(std::string_view parts) {
  std::string label(parts);
  std::erase(label, ' ');
  std::replace(label.begin(), label.end(), ',', '+');
  return label;
}

std::shared_ptr<const Fabric> fabric_without(const Fabric& fabric, std::string_view parts) {
  if (fabric.dragonfly()) {
    throw UserError(fmt::format(
        "fabric '{}' is a dragonfly, whose routes need all of its links; 'without' is for other "
        "fabrics",
        fabric.name()));
  }
  std::vector<char> device_gone(fabric.nodes().size(), 0);
  std::vector<char> link_gone(fabric.links().size(), 0);
  for (const std::string_view item : split(parts, ',')) {
    const std::string_view part = without_blanks(item);
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos) {
      device_gone[at(device_named(fabric, part))] = 1;
      continue;
    }
    const NodeId one = device_named(fabric, part.substr(0, colon));
    const NodeId other = device_named(fabric, part.substr(colon + 1));
    bool found = false;
    for (std::size_t id = 0; id < link_gone.size(); ++id) {
      const Link& link = fabric.links()[id];
      if ((link.source == one && link.target == other) ||
          (link.source == other && link.target == one)) {
        link_gone[id] = 1;
        found = true;
      }
    }
    if (!found) {
      throw UserError(fmt::format("fabric '{}' has no link between '{}' and '{}'", fabric.name(),
                                  fabric.nodes()[at(one)].name, fabric.nodes()[at(other)].name));
    }
  }
  return copy_without(fabric, fmt::format("{} without={}", fabric.name(), label_of_parts(parts)),
                      device_gone, link_gone);
}

std::shared_ptr<const Fabric> first_servers(const Fabric& fabric, int servers) {
  std::vector<char> gone;
  for (const Node& node : fabric.nodes()) gone.push_back(node.server >= servers ? 1 : 0);
  return copy_without(fabric, fabric.name(), gone, std::vector<char>(fabric.links().size(), 0));
}

}  // namespace cclgym
