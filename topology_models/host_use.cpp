#include "topology_models/host_use.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "core/index.hpp"

namespace cclgym {

namespace {

// By node: the least node that links join it with, without NICs and, if asked for, without hosts.
std::vector<int> parts_without_nics(const Fabric& fabric, bool without_hosts) {
  std::vector<int> joined(fabric.nodes().size());
  std::iota(joined.begin(), joined.end(), 0);
  const auto find = [&](int node) {
    while (joined[at(node)] != node) node = joined[at(node)] = joined[at(joined[at(node)])];
    return node;
  };
  const auto left_out = [&](NodeId node) {
    const NodeKind kind = fabric.nodes()[at(node)].kind;
    return kind == NodeKind::Nic || (without_hosts && kind == NodeKind::Host);
  };
  for (const Link& link : fabric.links()) {
    if (left_out(link.source) || left_out(link.target)) continue;
    const int one = find(link.source);
    const int other = find(link.target);
    joined[at(std::max(one, other))] = std::min(one, other);
  }
  for (std::size_t node = 0; node < joined.size(); ++node) {
    joined[node] = find(static_cast<int>(node));
  }
  return joined;
}

// True if hosts alone join some GPUs of one home, which do not use NICs between each other.
bool hosts_join_homes(const Fabric& fabric) {
  const std::vector<int> home = gpu_homes(fabric);
  const std::vector<int> part = parts_without_nics(fabric, true);
  std::map<int, int> part_of_home;
  for (int rank = 0; rank < fabric.ranks(); ++rank) {
    const int its = part[at(fabric.gpu(rank))];
    if (part_of_home.try_emplace(home[at(fabric.gpu(rank))], its).first->second != its) return true;
  }
  return false;
}

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

std::vector<int> gpu_homes(const Fabric& fabric) {
  const std::vector<int> part = parts_without_nics(fabric, false);
  std::map<std::pair<int, int>, int> number;
  std::vector<int> home(fabric.nodes().size(), -1);
  for (int rank = 0; rank < fabric.ranks(); ++rank) {
    const std::pair key{fabric.server_of(rank), part[at(fabric.gpu(rank))]};
    home[at(fabric.gpu(rank))] =
        number.try_emplace(key, static_cast<int>(number.size())).first->second;
  }
  return home;
}

std::vector<char> avoided_hosts(const Fabric& fabric) {
  std::vector<char> avoided(fabric.nodes().size(), 0);
  for (std::size_t id = 0; id < avoided.size(); ++id) {
    avoided[id] = fabric.nodes()[id].kind == NodeKind::Host ? 1 : 0;
  }
  const bool any = std::find(avoided.begin(), avoided.end(), 1) != avoided.end();
  if (any && (hosts_join_homes(fabric) || !joined_without_hosts(fabric))) {
    std::fill(avoided.begin(), avoided.end(), 0);
  }
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
