// Fabric::route: the links that a channel's traffic takes from one rank to another.
#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <limits>
#include <vector>

#include "core/error.hpp"
#include "core/index.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

namespace {

using Adjacency = std::vector<std::vector<LinkId>>;

// State of a search at a node.
struct Touched {
  int from_source = -1;      // hops; -1: not seen by the search from the source
  int to_target = -1;        // hops; -1: not known to reach the target
  double width_Bps = 0;      // widest bottleneck of the shortest paths to the target
  std::vector<LinkId> ways;  // links of shortest paths; found by the search from the target
};

// The nodes that a search has touched. A table of all nodes is kept from search to search: a direct
// exchange of 2,048 ranks makes 4 million searches, and a hash table would take most of their time.
class TouchedNodes {
 public:
  // Forgets all nodes, of which there are `nodes`.
  void clear(std::size_t nodes) {
    if (of_.size() < nodes) {
      of_.resize(nodes);
      search_.resize(nodes, 0);
    }
    ++current_;
  }
  Touched& operator[](NodeId node) {
    Touched& touched = of_[at(node)];
    if (search_[at(node)] != current_) {
      search_[at(node)] = current_;
      touched.from_source = touched.to_target = -1;
      touched.width_Bps = 0;
      touched.ways.clear();
    }
    return touched;
  }
  [[nodiscard]] const Touched* find(NodeId node) const {
    return search_[at(node)] == current_ ? &of_[at(node)] : nullptr;
  }

 private:
  std::vector<Touched> of_;            // by node
  std::vector<std::uint64_t> search_;  // by node: number of the search that touched it last
  std::uint64_t current_ = 0;
};

// All widest shortest paths between two nodes, by a breadth-first search from both ends that visits
// only the nodes it touches: the hub of a large network is reached, never expanded.
class RouteSearch {
 public:
  // Kinds of nodes that the path may pass through between its ends, and of links that it may take.
  struct Through {
    bool gpus;
    bool nics;
    bool only_nvlinks = false;
  };

  RouteSearch(std::span<const Node> nodes, std::span<const Link> links, const Adjacency& out,
              const Adjacency& in, Through through)
      : nodes_(nodes), links_(links), out_(out), in_(in), through_(through) {}

  // Finds the paths; false if there are none.
  bool run(NodeId source, NodeId target) {
    source_ = source;
    target_ = target;
    touched_.clear(nodes_.size());
    std::vector<std::vector<NodeId>> ahead{{source}};
    std::vector<NodeId> behind{target};
    touched_[source].from_source = 0;
    Touched& end = touched_[target];
    end.to_target = 0;
    end.width_Bps = std::numeric_limits<double>::infinity();
    int levels_behind = 0;
    bool met = false;
    while (!met) {
      if (ahead.back().empty() || behind.empty()) return false;
      if (work(ahead.back(), out_) <= work(behind, in_)) {
        met = grow_ahead(ahead);
      } else {
        met = grow_behind(behind, ++levels_behind);
      }
    }
    // Sets distance and width to the target for nodes that only the search from the source has
    // seen.
    const int length = static_cast<int>(ahead.size()) - 1 + levels_behind;
    for (int level = static_cast<int>(ahead.size()) - 2; level >= 0; --level) {
      for (const NodeId node : ahead[at(level)]) settle(node, length - level);
    }
    return true;
  }

  // The channel's path. Where the best paths fork for the first time, the channel number picks the
  // branch; later forks repeat that pick until the channels have taken every branch once, so that
  // few channels already use all branches at both ends. Branches count from the rank on whose
  // cluster node the paths fork: docs/fabrics.md, "Routes".
  [[nodiscard]] std::vector<LinkId> pick(int source_rank, int target_rank, int channel) const {
    const double best_Bps = touched_[source_].width_Bps;
    const int far_server = nodes_[at(target_)].server;
    const bool same_server = nodes_[at(source_)].server == far_server;
    std::vector<LinkId> path;
    std::vector<LinkId> ways;
    std::int64_t turn = 0;
    std::int64_t rest = channel;
    for (NodeId node = source_; node != target_;) {
      const Touched& here = touched_[node];
      // A hub was reached from the target: its few useful links are known, and its many other links
      // are not visited.
      ways = here.ways.empty() ? out_[at(node)] : here.ways;
      std::erase_if(ways, [&](LinkId id) {
        const Link& link = links_[at(id)];
        const Touched* next = find(link.target);
        return next == nullptr || next->to_target != here.to_target - 1 || !may_take(link) ||
               std::min(next->width_Bps, link.capacity_Bps()) < best_Bps;
      });
      std::sort(ways.begin(), ways.end());
      assert(!ways.empty());
      LinkId chosen = ways.front();
      if (ways.size() > 1) {
        const auto count = static_cast<std::int64_t>(ways.size());
        turn = (turn + rest) % count;
        rest /= count;
        const bool far =
            !same_server && nodes_[at(links_[at(ways.front())].target)].server == far_server;
        const std::int64_t first = far ? target_rank : source_rank;
        chosen = ways[static_cast<std::size_t>((first + turn) % count)];
      }
      path.push_back(chosen);
      node = links_[at(chosen)].target;
    }
    return path;
  }

 private:
  [[nodiscard]] const Touched* find(NodeId node) const { return touched_.find(node); }

  static TouchedNodes& kept() {
    thread_local TouchedNodes nodes;
    return nodes;
  }

  [[nodiscard]] bool may_pass(NodeId node) const {
    if (node == source_ || node == target_) return true;
    const NodeKind kind = nodes_[at(node)].kind;
    return kind == NodeKind::Gpu ? through_.gpus : kind != NodeKind::Nic || through_.nics;
  }

  [[nodiscard]] bool may_take(const Link& link) const {
    return !through_.only_nvlinks || link.kind == LinkKind::NvLink;
  }

  static std::size_t work(const std::vector<NodeId>& level, const Adjacency& adjacent) {
    std::size_t links = 0;
    for (const NodeId node : level) links += adjacent[at(node)].size();
    return links;
  }

  // Adds a level from the source; true if it meets the level from the target.
  bool grow_ahead(std::vector<std::vector<NodeId>>& levels) {
    const int hops = static_cast<int>(levels.size());
    std::vector<NodeId> next;
    bool met = false;
    for (const NodeId node : levels.back()) {
      for (const LinkId id : out_[at(node)]) {
        const NodeId to = links_[at(id)].target;
        if (!may_pass(to) || !may_take(links_[at(id)])) continue;
        Touched& touched = touched_[to];
        if (touched.from_source >= 0) continue;
        touched.from_source = hops;
        met = met || touched.to_target >= 0;
        next.push_back(to);
      }
    }
    levels.push_back(std::move(next));
    return met;
  }

  // Adds a level from the target, `hops` away from it; true if it meets a level from the source.
  bool grow_behind(std::vector<NodeId>& level, int hops) {
    std::vector<NodeId> next;
    bool met = false;
    for (const NodeId node : level) {
      const double width_Bps = touched_[node].width_Bps;
      for (const LinkId id : in_[at(node)]) {
        const Link& link = links_[at(id)];
        if (!may_pass(link.source) || !may_take(link)) continue;
        Touched& touched = touched_[link.source];
        if (touched.to_target < 0) {
          touched.to_target = hops;
          met = met || touched.from_source >= 0;
          next.push_back(link.source);
        }
        if (touched.to_target == hops) {
          touched.width_Bps = std::max(touched.width_Bps, std::min(width_Bps, link.capacity_Bps()));
          touched.ways.push_back(id);
        }
      }
    }
    level = std::move(next);
    return met;
  }

  void settle(NodeId node, int hops) {
    double width_Bps = 0;
    for (const LinkId id : out_[at(node)]) {
      const Link& link = links_[at(id)];
      const Touched* next = find(link.target);
      if (next && next->to_target == hops - 1 && may_take(link)) {
        width_Bps = std::max(width_Bps, std::min(next->width_Bps, link.capacity_Bps()));
      }
    }
    if (width_Bps == 0) return;  // on no shortest path
    Touched& touched = touched_[node];
    touched.to_target = hops;
    touched.width_Bps = width_Bps;
  }

  std::span<const Node> nodes_;
  std::span<const Link> links_;
  const Adjacency& out_;
  const Adjacency& in_;
  Through through_;
  NodeId source_ = -1;
  NodeId target_ = -1;
  TouchedNodes& touched_ = kept();
};

}  // namespace

// A channel's path to and from the dragonfly, and its choice of a path through it.
struct Fabric::NetworkWay {
  std::vector<LinkId> out;  // from the source to a switch
  std::vector<LinkId> in;   // from a switch to the target
  NodeId first = -1;        // the first and the last switch in the dragonfly
  NodeId last = -1;
  int k = 0;  // number of the minimal path between them
  // Number of the first detour of a channel, out of `all` detours.
  [[nodiscard]] int detour(int all, int channel) const;
};

// All widest shortest paths from a GPU through no other GPU to a network switch; if not `outwards`,
// from a network switch to the GPU.
std::vector<std::vector<LinkId>> Fabric::ways_to_network(int rank, bool outwards) const {
  struct Way {
    std::vector<LinkId> links;
    NodeId end;
    double width_Bps;
  };
  std::vector<Way> level{{{}, gpu(rank), std::numeric_limits<double>::infinity()}};
  while (!level.empty()) {
    std::vector<Way> next;
    double widest_Bps = 0;
    bool arrived = false;
    for (const Way& way : level) {
      for (const LinkId id : (outwards ? links_out_ : links_in_)[at(way.end)]) {
        const Link& link = links_[at(id)];
        const NodeId end = outwards ? link.target : link.source;
        const NodeKind kind = nodes_[at(end)].kind;
        // NVSwitches lead only to GPUs, and paths this short need no other check for cycles.
        if (kind == NodeKind::Gpu || kind == NodeKind::NvSwitch) continue;
        Way longer = way;
        longer.links.push_back(id);
        longer.end = end;
        longer.width_Bps = std::min(way.width_Bps, link.capacity_Bps());
        if (kind == NodeKind::NetworkSwitch) {
          arrived = true;
          widest_Bps = std::max(widest_Bps, longer.width_Bps);
        }
        next.push_back(std::move(longer));
      }
    }
    if (arrived) {
      std::vector<std::vector<LinkId>> ways;
      for (Way& way : next) {
        if (nodes_[at(way.end)].kind != NodeKind::NetworkSwitch) continue;
        if (way.width_Bps < widest_Bps) continue;
        if (!outwards) std::reverse(way.links.begin(), way.links.end());
        ways.push_back(std::move(way.links));
      }
      return ways;
    }
    constexpr std::size_t kMostLinks = 8;
    if (level.front().links.size() == kMostLinks) break;
    level = std::move(next);
  }
  return {};
}

std::optional<Fabric::NetworkWay> Fabric::network_way(int source, int target, int channel) const {
  if (!dragonfly_ || server_of(source) == server_of(target)) return std::nullopt;
  const auto outs = ways_to_network(source, true);
  const auto ins = ways_to_network(target, false);
  if (outs.empty() || ins.empty()) return std::nullopt;
  // Picks as in RouteSearch::pick: first at the sending end, then at the receiving end.
  std::int64_t turn = 0;
  std::int64_t rest = channel;
  const auto pick = [&](const std::vector<std::vector<LinkId>>& ways, int rank) {
    const auto count = static_cast<std::int64_t>(ways.size());
    if (count == 1) return ways.front();
    turn = (turn + rest) % count;
    rest /= count;
    return ways[static_cast<std::size_t>((rank + turn) % count)];
  };
  NetworkWay way;
  way.out = pick(outs, turn_of(source));
  way.in = pick(ins, turn_of(target));
  way.first = links_[at(way.out.back())].target;
  way.last = links_[at(way.in.front())].source;
  // Neighbouring switches, which serve the NICs of one cluster node, take different links; so do
  // blocks of switches at the other end.
  const int ways = dragonfly_->minimal_ways(way.first, way.last);
  way.k = (dragonfly_->index_of(way.first) + dragonfly_->index_of(way.last) / ways) % ways;
  return way;
}

// Pairs of switches start with different detours, so that their traffic spreads.
int Fabric::NetworkWay::detour(int all, int channel) const {
  return static_cast<int>((7 * std::int64_t{first} + 3 * std::int64_t{last} + channel) % all);
}

std::vector<std::vector<LinkId>> Fabric::alternative_routes(int source, int target, int channel,
                                                            int most_detours) const {
  assert(most_detours >= 0);
  std::vector<std::vector<LinkId>> routes;
  const std::optional<NetworkWay> way = network_way(source, target, channel);
  if (!way || way->first == way->last) return routes;
  const auto add = [&](const auto& append) {
    std::vector<LinkId>& route = routes.emplace_back(way->out);
    append(route);
    route.insert(route.end(), way->in.begin(), way->in.end());
  };
  const int ways = dragonfly_->minimal_ways(way->first, way->last);
  for (int i = 1; i < ways; ++i) {
    add([&](std::vector<LinkId>& route) {
      dragonfly_->append_minimal(way->first, way->last, (way->k + i) % ways, route);
    });
  }
  const int all = dragonfly_->detours(way->first, way->last);
  const int count = std::min(all, most_detours);
  for (int i = 0; i < count; ++i) {
    const auto n = static_cast<int>((way->detour(all, 0) + std::int64_t{i} * all / count) % all);
    add([&](std::vector<LinkId>& route) {
      dragonfly_->append_detour(way->first, way->last, n, way->k, route);
    });
  }
  return routes;
}

std::vector<LinkId> Fabric::route(int source, int target, int channel) const {
  assert(source >= 0 && source < ranks() && target >= 0 && target < ranks() && channel >= 0);
  if (source == target) return {};
  const NodeId from = gpu(source);
  const NodeId to = gpu(target);

  // Direct links need no search: the widest is taken, and equally wide links in turn.
  std::vector<LinkId> direct;
  for (const LinkId id : links_out_[at(from)]) {
    const Link& link = links_[at(id)];
    if (link.target != to) continue;
    const double widest_Bps = direct.empty() ? 0 : links_[at(direct[0])].capacity_Bps();
    if (link.capacity_Bps() > widest_Bps) direct.clear();
    if (link.capacity_Bps() >= widest_Bps) direct.push_back(id);
  }
  if (!direct.empty()) return {direct[(at(turn_of(source)) + at(channel)) % direct.size()]};

  if (const std::optional<NetworkWay> way = network_way(source, target, channel)) {
    std::vector<LinkId> path = way->out;
    const int detours = dragonfly_->detours(way->first, way->last);
    if (routing_ == Routing::Valiant && detours > 0) {
      dragonfly_->append_detour(way->first, way->last, way->detour(detours, channel), way->k, path);
    } else {
      dragonfly_->append_minimal(way->first, way->last, way->k, path);
    }
    path.insert(path.end(), way->in.begin(), way->in.end());
    return path;
  }
  const bool same_server = server_of(source) == server_of(target);
  if (same_server && max_relays_ > 0) {
    RouteSearch search(nodes_, links_, links_out_, links_in_,
                       {.gpus = true, .nics = false, .only_nvlinks = true});
    if (search.run(from, to)) {
      std::vector<LinkId> path = search.pick(turn_of(source), turn_of(target), channel);
      if (std::ssize(path) <= std::ptrdiff_t{max_relays_} + 1) return path;
    }
  }
  // Data between GPUs of one cluster node leaves it through a NIC only if there is no other path.
  for (const bool nics : {false, true}) {
    if (!nics && !same_server) continue;
    for (const bool gpus : {false, true}) {
      RouteSearch search(nodes_, links_, links_out_, links_in_, {gpus, nics});
      if (search.run(from, to)) return search.pick(turn_of(source), turn_of(target), channel);
    }
  }
  throw UserError(fmt::format("fabric '{}': no links lead from GPU '{}' to GPU '{}'", name_,
                              nodes_[at(from)].name, nodes_[at(to)].name));
}

}  // namespace cclgym
