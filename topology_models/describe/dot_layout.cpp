#include "topology_models/describe/dot_layout.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

namespace cclgym {

namespace {

// In drawings of more nodes than this, layers go from left to right, and half of the cluster nodes
// stand on either side of the network.
constexpr int kMostServersInARow = 4;

// A cluster node shows so many alike devices one by one; a DGX-2 has 16 GPUs.
constexpr std::size_t kMostAlike = 16;
constexpr std::size_t kFirstShown = 3;

// An end of a link as the device at it sees it.
using LinkEnd = std::tuple<NodeKind, LinkKind, double, int, bool, bool>;

// All that makes devices alike.
using Likeness = std::tuple<int, NodeKind, int, std::vector<LinkEnd>>;

std::vector<std::vector<LinkEnd>> ends_of(const Fabric& fabric,
                                          const std::vector<LinkPair>& pairs) {
  std::vector<std::vector<LinkEnd>> ends(fabric.nodes().size());
  for (const LinkPair& pair : pairs) {
    const Link& link = pair.link;
    const auto source = static_cast<std::size_t>(link.source);
    const auto target = static_cast<std::size_t>(link.target);
    const auto end = [&](std::size_t other, bool leaves) {
      return LinkEnd{fabric.nodes()[other].kind, link.kind,   link.unit_bandwidth_Bps,
                     link.multiplicity,          pair.duplex, leaves || pair.duplex};
    };
    ends[source].push_back(end(target, true));
    ends[target].push_back(end(source, false));
  }
  for (std::vector<LinkEnd>& of_one : ends) std::sort(of_one.begin(), of_one.end());
  return ends;
}

bool fits_grid(const std::vector<LinkPair>& pairs, NodeId columns) {
  return std::all_of(pairs.begin(), pairs.end(), [&](const LinkPair& pair) {
    const NodeId one = pair.link.source;
    const NodeId other = pair.link.target;
    const NodeId apart = std::abs(one - other);
    if (one / columns == other / columns) return apart == 1 || apart == columns - 1;
    return apart % columns == 0;
  });
}

}  // namespace

std::vector<int> layers_of(const Fabric& fabric, const std::vector<LinkPair>& pairs) {
  if (fabric.servers() <= kMostServersInARow) return {};
  constexpr int kNone = -1;
  std::vector<int> layers(fabric.nodes().size(), kNone);
  std::vector<NodeId> reached;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (fabric.nodes()[i].server >= 0) continue;
    layers[i] = 0;
    reached.push_back(static_cast<NodeId>(i));
  }
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const NodeId from = reached[next];
    for (const LinkPair& pair : pairs) {
      if (pair.link.source != from && pair.link.target != from) continue;
      const NodeId to = pair.link.source == from ? pair.link.target : pair.link.source;
      int& layer = layers[static_cast<std::size_t>(to)];
      if (layer != kNone) continue;
      layer = layers[static_cast<std::size_t>(from)] + 1;
      reached.push_back(to);
    }
  }
  if (reached.size() < layers.size()) return {};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (fabric.nodes()[i].server < fabric.servers() / 2) layers[i] = -layers[i];
  }
  return layers;
}

DeviceFolds::DeviceFolds(const Fabric& fabric, const std::vector<LinkPair>& pairs) {
  const std::vector<std::vector<LinkEnd>> ends = ends_of(fabric, pairs);
  std::map<Likeness, std::vector<NodeId>> alike;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const Node& node = fabric.nodes()[i];
    shown_.push_back(static_cast<NodeId>(i));
    alike[{node.server, node.kind, node.multiplicity, ends[i]}].push_back(shown_.back());
  }
  for (const auto& [likeness, devices] : alike) {
    if (std::get<0>(likeness) < 0 || devices.size() <= kMostAlike) continue;
    const DeviceFold fold{.first = devices[kFirstShown],
                          .last = devices[devices.size() - 2],
                          .count = static_cast<int>(devices.size() - kFirstShown - 1)};
    for (std::size_t k = kFirstShown; k + 1 < devices.size(); ++k) {
      shown_[static_cast<std::size_t>(devices[k])] = fold.first;
    }
    folds_.push_back(fold);
  }
}

const DeviceFold* DeviceFolds::fold_at(NodeId id) const {
  const auto found = std::find_if(folds_.begin(), folds_.end(),
                                  [&](const DeviceFold& fold) { return fold.first == id; });
  return found == folds_.end() ? nullptr : &*found;
}

std::size_t grid_columns(const Fabric& fabric, const std::vector<LinkPair>& pairs) {
  const std::size_t devices = fabric.nodes().size();
  std::size_t best = 0;
  for (std::size_t columns = 2; columns < devices; ++columns) {
    if (devices % columns != 0 || !fits_grid(pairs, static_cast<NodeId>(columns))) continue;
    const auto longer = [&](std::size_t length) { return std::max(length, devices / length); };
    if (best == 0 || longer(columns) <= longer(best)) best = columns;
  }
  return best;
}

}  // namespace cclgym
