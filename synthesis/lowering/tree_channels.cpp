#include "synthesis/lowering/tree_channels.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/lowering/route_channels.hpp"

namespace cclgym::synthesis {

std::vector<int> message_levels(const DirectedTree& directed) {
  const std::vector<TreeEdge>& edges = directed.tree->edges;
  std::vector<int> level(edges.size(), 0);
  std::unordered_map<int, int> at_rank;  // depth or height
  if (directed.inward) {
    for (std::size_t k = edges.size(); k-- > 0;) {
      level[k] = at_rank[edges[k].target];
      int& height = at_rank[edges[k].source];
      height = std::max(height, level[k] + 1);
    }
  } else {
    for (std::size_t k = 0; k < edges.size(); ++k) {
      level[k] = at_rank[edges[k].source];
      at_rank[edges[k].target] = level[k] + 1;
    }
  }
  return level;
}

namespace {

// Trees that a connection carries.
struct Users {
  int out = 0;
  int in = 0;
  int first_level = 0;
  int last_level = 0;

  [[nodiscard]] bool none() const { return in + out == 0; }
};

class TreeColouring {
 public:
  TreeColouring(const FlowGraph& graph, const Fabric* fabric,
                const std::vector<DirectedTree>& trees, int channels, bool reroute)
      : graph_(graph), trees_(trees), channels_(channels), reroute_(reroute) {
    if (fabric != nullptr && !graph.devices.empty()) routes_.emplace(*fabric, channels);
    edges_.reserve(trees.size());
    for (const DirectedTree& tree : trees) edges_.push_back(edges_of(tree));
  }

  // The channel that serves all edges of the tree, on connections that no tree uses yet; nullopt if
  // there is none.
  std::optional<std::vector<int>> place_on_one_channel(std::size_t number) {
    const Edges& edges = edges_[number];
    ChannelSet common = ~ChannelSet{0};
    for (const ChannelSet each : edges.allowed) common &= each;
    for (int channel = 0; channel < channels_; ++channel) {
      if (!(common >> channel & 1U)) continue;
      const auto is_free = [&](std::size_t pair) { return users(pair, channel).none(); };
      if (!std::all_of(edges.pair.begin(), edges.pair.end(), is_free)) continue;
      std::vector<int> chosen(edges.pair.size(), channel);
      use(number, chosen);
      return chosen;
    }
    return std::nullopt;
  }

  // A channel for every edge, preferably that of the edge above it.
  std::vector<int> place_edges(std::size_t number) {
    const DirectedTree& directed = trees_[number];
    const std::vector<TreeEdge>& tree = directed.tree->edges;
    const Edges& edges = edges_[number];
    std::vector<ChannelSet> allowed = edges.allowed;
    if (directed.multicast) join_stars(tree, allowed);
    std::vector<int> chosen(tree.size(), -1);
    std::unordered_map<int, int> above;       // by rank: channel of the edge to it
    std::map<std::pair<int, int>, int> star;  // by rank and switch
    for (std::size_t k = 0; k < tree.size(); ++k) {
      const auto known = above.find(tree[k].source);
      std::int64_t best_cost = -1;
      for (int channel = 0; channel < channels_; ++channel) {
        if (!(allowed[k] >> channel & 1U)) continue;
        const bool turns = known != above.end() && known->second != channel;
        const std::int64_t total =
            2 * cost(users(edges.pair[k], channel), edges.level[k], directed.inward) +
            (turns ? 1 : 0);
        if (best_cost >= 0 && total >= best_cost) continue;
        best_cost = total;
        chosen[k] = channel;
      }
      if (directed.multicast && tree[k].through.size() == 1) {
        const auto first =
            star.try_emplace({tree[k].source, tree[k].through.front()}, chosen[k]).first;
        chosen[k] = first->second;
      }
      above[tree[k].target] = chosen[k];
    }
    use(number, chosen);
    return chosen;
  }

  // Starts again. Where the trees outnumber the channels of a pair, the two directions get separate
  // channels, and the trees of a connection are neighbours in the order of their levels.
  void divide_channels() {
    users_.assign(users_.size(), {});
    std::map<std::pair<std::size_t, ChannelSet>, std::array<std::vector<Place>, 2>> places;
    for (std::size_t number = 0; number < trees_.size(); ++number) {
      const Edges& edges = edges_[number];
      for (std::size_t k = 0; k < edges.pair.size(); ++k) {
        places[{edges.pair[k], edges.allowed[k]}][trees_[number].inward ? 1 : 0].push_back(
            {edges.level[k], number, k});
      }
    }
    for (auto& place : places) {
      const ChannelSet& allowed = place.first.second;
      std::array<std::vector<Place>, 2>& directions = place.second;
      const auto channels = at(std::popcount(allowed));
      if (directions[0].size() + directions[1].size() <= channels || channels == 1) continue;
      // Trees per connection: equal numbers, since links are shared per connection.
      const auto needed = [&](std::size_t direction, std::size_t each) {
        return (directions[direction].size() + each - 1) / each;
      };
      std::size_t each = 1;
      while (needed(0, each) + needed(1, each) > channels) ++each;
      ChannelSet rest = allowed;
      for (const std::size_t direction : {0U, 1U}) {
        std::vector<Place>& sorted = directions[direction];
        std::sort(sorted.begin(), sorted.end());
        ChannelSet channel = 0;
        for (std::size_t k = 0; k < sorted.size(); ++k) {
          if (k % each == 0) {
            channel = rest & (~rest + 1);  // the lowest of the rest
            rest &= rest - 1;
          }
          edges_[sorted[k].tree].allowed[sorted[k].edge] = channel;
        }
      }
    }
  }

 private:
  struct Place {
    int level;
    std::size_t tree;
    std::size_t edge;
    friend auto operator<=>(const Place&, const Place&) = default;
  };

  // Edges of a tree as connections.
  struct Edges {
    std::vector<std::size_t> pair;
    std::vector<ChannelSet> allowed;
    std::vector<int> level;
  };

  Edges edges_of(const DirectedTree& directed) {
    Edges edges;
    edges.level = message_levels(directed);
    for (const TreeEdge& edge : directed.tree->edges) {
      edges.pair.push_back(pair_index(directed.sender(edge), directed.receiver(edge)));
      edges.allowed.push_back(routes_ ? allowed_channels(directed, edge) : all_channels());
    }
    return edges;
  }

  [[nodiscard]] ChannelSet all_channels() const {
    return ~ChannelSet{0} >> (kMaxChannels - channels_);
  }

  // Edges that a switch copies together share their channels.
  static void join_stars(const std::vector<TreeEdge>& tree, std::vector<ChannelSet>& allowed) {
    std::map<std::pair<int, int>, ChannelSet> shared;  // by rank and switch
    for (const bool reads : {false, true}) {
      for (std::size_t k = 0; k < tree.size(); ++k) {
        if (tree[k].through.size() != 1) continue;
        ChannelSet& star =
            shared.try_emplace({tree[k].source, tree[k].through.front()}, allowed[k]).first->second;
        if (reads) {
          allowed[k] = star;
        } else {
          star &= allowed[k];
        }
      }
    }
  }

  ChannelSet allowed_channels(const DirectedTree& directed, const TreeEdge& edge) {
    const int sender = directed.sender(edge);
    const int receiver = directed.receiver(edge);
    std::vector<NodeId> devices;
    for (const int node : edge.through) devices.push_back(graph_.devices[at(node)]);
    if (directed.inward) std::reverse(devices.begin(), devices.end());
    const auto [known, is_new] = allowed_.try_emplace({{sender, receiver}, devices}, 0);
    if (!is_new) return known->second;
    known->second = routes_->through(sender, receiver, devices);
    if (known->second == 0 && reroute_) {
      known->second = all_channels();
    } else if (known->second == 0) {
      throw UserError(fmt::format(
          "a tree passes {} other devices from rank {} to rank {}, but no message between these "
          "ranks takes that path on channels 0 to {}",
          devices.size(), sender, receiver, channels_ - 1));
    }
    return known->second;
  }

  [[nodiscard]] std::size_t pair_index(int sender, int receiver) {
    const auto [known, is_new] = pairs_.try_emplace(
        static_cast<std::int64_t>(sender) * graph_.ranks + receiver, pairs_.size());
    if (is_new) users_.resize(users_.size() + at(channels_));
    return known->second;
  }

  [[nodiscard]] Users& users(std::size_t pair, int channel) {
    return users_[pair * at(channels_) + at(channel)];
  }

  // Loss of speed, in no unit, if the connection carries one more tree.
  [[nodiscard]] static std::int64_t cost(const Users& known, int level, bool inward) {
    constexpr std::int64_t kOpposite = 1000;
    constexpr std::int64_t kLevel = 4;
    if (known.none()) return 0;
    const int spread = std::max(known.last_level, level) - std::min(known.first_level, level);
    return known.in + known.out + kLevel * spread + kOpposite * (inward ? known.out : known.in);
  }

  void use(std::size_t number, const std::vector<int>& chosen) {
    const Edges& edges = edges_[number];
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      Users& known = users(edges.pair[k], chosen[k]);
      const int level = edges.level[k];
      known.first_level = known.none() ? level : std::min(known.first_level, level);
      known.last_level = known.none() ? level : std::max(known.last_level, level);
      ++(trees_[number].inward ? known.in : known.out);
    }
  }

  const FlowGraph& graph_;
  const std::vector<DirectedTree>& trees_;
  std::vector<Edges> edges_;  ///< by tree
  int channels_;
  bool reroute_;
  std::optional<RouteChannels> routes_;
  std::unordered_map<std::int64_t, std::size_t> pairs_;
  std::vector<Users> users_;  ///< by pair and channel
  std::map<std::pair<std::pair<int, int>, std::vector<NodeId>>, ChannelSet> allowed_;
};

}  // namespace

std::vector<std::vector<int>> assign_tree_channels(const FlowGraph& graph, const Fabric* fabric,
                                                   const std::vector<DirectedTree>& trees,
                                                   int channels, bool reroute) {
  if (channels < 1 || channels > kMaxChannels) {
    throw UserError(fmt::format("{} channels; expected 1 to {}", channels, kMaxChannels));
  }
  TreeColouring colouring(graph, fabric, trees, channels, reroute);
  std::vector<std::vector<int>> result;
  result.reserve(trees.size());
  for (std::size_t number = 0; number < trees.size(); ++number) {
    std::optional<std::vector<int>> chosen = colouring.place_on_one_channel(number);
    if (!chosen) break;
    result.push_back(std::move(*chosen));
  }
  if (result.size() == trees.size()) return result;
  result.clear();
  colouring.divide_channels();
  for (std::size_t number = 0; number < trees.size(); ++number) {
    result.push_back(colouring.place_edges(number));
  }
  return result;
}

}  // namespace cclgym::synthesis
