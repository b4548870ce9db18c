// Fabric::bound: other NICs for the GPUs of a fabric.
#include <fmt/format.h>
#include <map>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "core/index.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

namespace {

std::pair<std::string_view, std::string_view> ends_of(const Fabric& fabric, const Link& link) {
  return {fabric.nodes()[at(link.source)].name, fabric.nodes()[at(link.target)].name};
}

}  // namespace

std::shared_ptr<const Fabric> Fabric::bound(NicBinding binding) const {
  if (!bindable()) {
    throw UserError(fmt::format(
        "fabric '{}' has no option nic_binding: its GPUs have no choice of NICs", name_));
  }
  const std::shared_ptr<const Fabric> other = make_bound_(binding);
  std::map<std::string_view, NodeId> numbers;
  for (std::size_t id = 0; id < nodes_.size(); ++id) {
    numbers[nodes_[id].name] = static_cast<NodeId>(id);
  }
  std::multimap<std::pair<std::string_view, std::string_view>, LinkId> unused;
  for (std::size_t id = 0; id < links_.size(); ++id) {
    unused.emplace(ends_of(*this, links_[id]), static_cast<LinkId>(id));
  }
  FabricBuilder builder(*this);
  for (Link link : other->links()) {
    const auto ends = ends_of(*other, link);
    if (const auto same = unused.find(ends); same != unused.end()) {
      unused.erase(same);
      continue;
    }
    link.source = numbers.at(ends.first);
    link.target = numbers.at(ends.second);
    builder.add_link(link);
  }
  for (const auto& entry : unused) builder.hide_link(entry.second);
  return builder.build();
}

}  // namespace cclgym
