#include "synthesis/lowering/tree_channels.hpp"

#include <algorithm>
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
};

class TreeColouring {
 public:
  TreeColouring(const FlowGraph& graph, const Fabric* fabric, int channels)
      : graph_(graph), channels_(channels) {
    if (fabric != nullptr && !graph.devices.empty()) routes_.emplace(*fabric, channels);
  }

  std::vector<int> place(const DirectedTree& directed) {
    const std::vector<TreeEdge>& edges = directed.tree->edges;
    const std::vector<int> levels = message_levels(directed);
    const ChannelSet all = ~ChannelSet{0} >> (kMaxChannels - channels_);
    std::vector<ChannelSet> allowed(edges.size());
    std::vector<std::size_t> pair(edges.size());
    ChannelSet common = all;
    for (std::size_t k = 0; k < edges.size(); ++k) {
      pair[k] = pair_index(directed.sender(edges[k]), directed.receiver(edges[k]));
      allowed[k] = routes_ ? allowed_channels(directed, edges[k]) : all;
      common &= allowed[k];
    }
    std::vector<int> chosen(edges.size(), -1);
    if (common != 0) {
      std::int64_t best_cost = -1;
      int best = 0;
      for (int channel = 0; channel < channels_; ++channel) {
        if (!(common >> channel & 1U)) continue;
        std::int64_t total = 0;
        for (std::size_t k = 0; k < edges.size(); ++k) {
          total += cost(pair[k], channel, levels[k], directed.inward);
          if (best_cost >= 0 && total >= best_cost) break;
        }
        if (best_cost >= 0 && total >= best_cost) continue;
        best_cost = total;
        best = channel;
        if (total == 0) break;
      }
      std::fill(chosen.begin(), chosen.end(), best);
    } else {
      place_edges(directed, levels, pair, allowed, chosen);
    }
    for (std::size_t k = 0; k < edges.size(); ++k) {
      use(pair[k], chosen[k], levels[k], directed.inward);
    }
    return chosen;
  }

 private:
  // Gives every edge a channel of its own, preferably that of the edge above it.
  void place_edges(const DirectedTree& directed, const std::vector<int>& levels,
                   const std::vector<std::size_t>& pair, std::vector<ChannelSet> allowed,
                   std::vector<int>& chosen) {
    const std::vector<TreeEdge>& edges = directed.tree->edges;
    if (directed.multicast) {
      std::unordered_map<int, ChannelSet> shared;  // by rank that sends to several others
      for (std::size_t k = 0; k < edges.size(); ++k) {
        if (edges[k].through.size() != 1) continue;
        shared.try_emplace(edges[k].source, ~ChannelSet{0}).first->second &= allowed[k];
      }
      for (std::size_t k = 0; k < edges.size(); ++k) {
        if (edges[k].through.size() == 1) allowed[k] = shared.at(edges[k].source);
      }
    }
    std::unordered_map<int, int> above;
    for (std::size_t k = 0; k < edges.size(); ++k) {
      const auto known = above.find(edges[k].source);
      std::int64_t best_cost = -1;
      for (int channel = 0; channel < channels_; ++channel) {
        if (!(allowed[k] >> channel & 1U)) continue;
        const bool turns = known != above.end() && known->second != channel;
        const std::int64_t total =
            2 * cost(pair[k], channel, levels[k], directed.inward) + (turns ? 1 : 0);
        if (best_cost >= 0 && total >= best_cost) continue;
        best_cost = total;
        chosen[k] = channel;
      }
      above[edges[k].target] = chosen[k];
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
    if (known->second == 0) {
      throw UserError(fmt::format(
          "no channel below {} sends from rank {} to rank {} along the path of a tree ({} devices "
          "in between); make the trees on the graph of make_flow_graph, or allow more channels",
          channels_, sender, receiver, devices.size()));
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

  [[nodiscard]] std::int64_t cost(std::size_t pair, int channel, int level, bool inward) {
    constexpr std::int64_t kOpposite = 1000;
    constexpr std::int64_t kLevel = 4;
    const Users& known = users(pair, channel);
    if (known.in + known.out == 0) return 0;
    const int spread = std::max(known.last_level, level) - std::min(known.first_level, level);
    return known.in + known.out + kLevel * spread + kOpposite * (inward ? known.out : known.in);
  }

  void use(std::size_t pair, int channel, int level, bool inward) {
    Users& known = users(pair, channel);
    const bool first = known.in + known.out == 0;
    known.first_level = first ? level : std::min(known.first_level, level);
    known.last_level = first ? level : std::max(known.last_level, level);
    ++(inward ? known.in : known.out);
  }

  const FlowGraph& graph_;
  int channels_;
  std::optional<RouteChannels> routes_;
  std::unordered_map<std::int64_t, std::size_t> pairs_;
  std::vector<Users> users_;  ///< by pair and channel
  std::map<std::pair<std::pair<int, int>, std::vector<NodeId>>, ChannelSet> allowed_;
};

}  // namespace

std::vector<std::vector<int>> assign_tree_channels(const FlowGraph& graph, const Fabric* fabric,
                                                   const std::vector<DirectedTree>& trees,
                                                   int channels) {
  if (channels < 1 || channels > kMaxChannels) {
    throw UserError(fmt::format("{} channels; expected 1 to {}", channels, kMaxChannels));
  }
  TreeColouring colouring(graph, fabric, channels);
  std::vector<std::vector<int>> result;
  result.reserve(trees.size());
  for (const DirectedTree& tree : trees) result.push_back(colouring.place(tree));
  return result;
}

}  // namespace cclgym::synthesis
