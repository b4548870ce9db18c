#include "topology_models/host_use.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "core/index.hpp"

namespace cclgym {

namespace {

// True if every GPU can reach every other one without hosts.
bool joined_without_hosts(const Fabric& fabric) {
  for (const bool forwards : {true, false}) {
    std::vector<std::vector<NodeId>> next(fabric.nodes().size());
    for (const Link& link : fabric.links()) {
      next[at(forwards ? link.source : link.target)].push_back(forwards ? link.target
                                                                        : link.source);
    }
    std::vector<char> seen(fabric.nodes().size(), 0);
    std::vector<NodeId> open{fabric.gpu(0)};
    seen[at(open.front())] = 1;
    int gpus = 0;
    while (!open.empty()) {
      const NodeId node = open.back();
      open.pop_back();
      gpus += fabric.nodes()[at(node)].kind == NodeKind::Gpu ? 1 : 0;
      for (const NodeId other : next[at(node)]) {
        if (seen[at(other)] || fabric.nodes()[at(other)].kind == NodeKind::Host) continue;
        seen[at(other)] = 1;
        open.push_back(other);
      }
    }
    if (gpus < fabric.ranks()) return false;
  }
  return true;
}

}  // namespace

std::vector<char> avoided_hosts(const Fabric& fabric) {
  std::vector<char> avoided(fabric.nodes().size(), 0);
  for (std::size_t id = 0; id < avoided.size(); ++id) {
    avoided[id] = fabric.nodes()[id].kind == NodeKind::Host ? 1 : 0;
  }
  const bool any = std::find(avoided.begin(), avoided.end(), 1) != avoided.end();
  if (any && !joined_without_hosts(fabric)) std::fill(avoided.begin(), avoided.end(), 0);
  return avoided;
}

std::vector<char> avoided_nodes(const Fabric& fabric) {
  std::vector<char> avoided = avoided_hosts(fabric);
  if (std::find(avoided.begin(), avoided.end(), 1) == avoided.end()) return avoided;
  std::set<std::pair<NodeId, NodeId>> direct;
  std::vector<std::set<NodeId>> around(fabric.nodes().size());
  std::vector<std::set<NodeId>> nvlinks(fabric.nodes().size());
  for (const Link& link : fabric.links()) {
    direct.emplace(link.source, link.target);
    if (link.kind == LinkKind::NvLink) nvlinks[at(link.source)].insert(link.target);
    around[at(link.source)].insert(link.target);
    around[at(link.target)].insert(link.source);
  }
  // True if a GPU relays what the first sends to the second (Fabric::max_relays).
  const auto relayed = [&](NodeId one, NodeId two) {
    return fabric.max_relays() > 0 &&
           std::any_of(nvlinks[at(one)].begin(), nvlinks[at(one)].end(), [&](NodeId middle) {
             return fabric.nodes()[at(middle)].kind == NodeKind::Gpu &&
                    nvlinks[at(middle)].contains(two);
           });
  };
  const std::vector<char> hosts = avoided;
  for (std::size_t id = 0; id < around.size(); ++id) {
    if (fabric.nodes()[id].kind != NodeKind::PcieSwitch) continue;
    std::vector<NodeId> gpus;
    bool other = false;
    for (const NodeId node : around[id]) {
      if (hosts[at(node)]) continue;
      gpus.push_back(node);
      other = other || fabric.nodes()[at(node)].kind != NodeKind::Gpu;
    }
    if (other || gpus.size() == around[id].size()) continue;
    avoided[id] = 1;
    for (const NodeId one : gpus) {
      for (const NodeId two : gpus) {
        if (one != two && !direct.contains({one, two}) && !relayed(one, two)) avoided[id] = 0;
      }
    }
  }
  return avoided;
}

bool is_one_step(const Fabric& fabric, const std::vector<char>& avoided,
                 const std::vector<LinkId>& route) {
  for (std::size_t k = 0; k + 1 < route.size(); ++k) {
    const NodeId middle = fabric.links()[at(route[k])].target;
    if (fabric.nodes()[at(middle)].kind == NodeKind::Gpu || avoided[at(middle)]) return false;
  }
  return true;
}

}  // namespace cclgym
