#include "synthesis/throughput/rails.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "core/index.hpp"
#include "topology_models/metrics/max_flow.hpp"

namespace cclgym::synthesis {

namespace {

using NodePath = std::vector<int>;  // nodes, both ends included

// Server whose GPUs alone reach a node through switches (backwards: are reached from it).
constexpr int kNoServer = -1;
constexpr int kManyServers = -2;

class RailPlan {
 public:
  RailPlan(const FlowGraph& graph, int gpus_per_server)
      : graph_(graph),
        gpus_(gpus_per_server),
        servers_(graph.ranks / gpus_per_server),
        out_(at(graph.nodes)),
        in_(at(graph.nodes)),
        load_(graph.edges.size(), 0) {
    for (std::size_t k = 0; k < graph.edges.size(); ++k) {
      out_[at(graph.edges[k].source)].push_back(static_cast<int>(k));
      in_[at(graph.edges[k].target)].push_back(static_cast<int>(k));
    }
    sent_by_ = label(true);
    bound_for_ = label(false);
  }

  std::optional<RailTrees> run() {
    if (!find_star_paths() || !find_rail_paths()) return std::nullopt;
    RailTrees result;
    Rational capacity(0);
    for (std::size_t k = 0; k < load_.size(); ++k) {
      capacity = std::max(capacity, Rational(load_[k], graph_.edges[k].units));
    }
    result.bound = local_bound();
    if (capacity != result.bound.value) return std::nullopt;
    result.packing = trees();
    result.packing.capacity_numerator = capacity.numerator();
    result.packing.capacity_denominator = capacity.denominator();
    return result;
  }

 private:
  [[nodiscard]] int server_of(int rank) const { return rank / gpus_; }
  [[nodiscard]] bool is_rank(int node) const { return node < graph_.ranks; }
  [[nodiscard]] int end_of(int edge, bool forwards) const {
    return forwards ? graph_.edges[at(edge)].target : graph_.edges[at(edge)].source;
  }
  [[nodiscard]] const std::vector<int>& edges_of(int node, bool forwards) const {
    return (forwards ? out_ : in_)[at(node)];
  }

  // Spreads the numbers of the servers from their GPUs through all other nodes.
  [[nodiscard]] std::vector<int> label(bool forwards) const {
    std::vector<int> labels(at(graph_.nodes), kNoServer);
    std::vector<int> open;
    for (int rank = 0; rank < graph_.ranks; ++rank) {
      labels[at(rank)] = server_of(rank);
      open.push_back(rank);
    }
    while (!open.empty()) {
      const int node = open.back();
      open.pop_back();
      for (const int edge : edges_of(node, forwards)) {
        const int next = end_of(edge, forwards);
        if (is_rank(next)) continue;
        int& there = labels[at(next)];
        const int merged =
            there == kNoServer || there == labels[at(node)] ? labels[at(node)] : kManyServers;
        if (merged == there) continue;
        there = merged;
        open.push_back(next);
      }
    }
    return labels;
  }

  // The shortest path from a node to one of the ends, through nodes that may_pass allows and no
  // GPU; of several, one whose fullest edge is least full. Empty if there is none.
  template <class IsEnd, class MayPass>
  [[nodiscard]] NodePath shortest(int start, bool forwards, const IsEnd& is_end,
                                  const MayPass& may_pass) const {
    struct Visit {
      int edge;          // by which the node was reached
      Rational fullest;  // loads of the edges up to the node
    };
    std::map<int, Visit> level{{start, {-1, Rational(0)}}};
    std::vector<std::map<int, Visit>> levels;
    std::map<int, char> seen{{start, 1}};
    while (!level.empty()) {
      levels.push_back(level);
      std::map<int, Visit> next;
      int best = -1;
      for (const auto& [node, visit] : levels.back()) {
        for (const int edge : edges_of(node, forwards)) {
          const int other = end_of(edge, forwards);
          const bool end = is_end(other);
          if (!end && (is_rank(other) || !may_pass(other) || seen.contains(other))) continue;
          const Rational fullest =
              std::max(visit.fullest, Rational(load_[at(edge)], graph_.edges[at(edge)].units));
          const auto [found, added] = next.try_emplace(other, Visit{edge, fullest});
          if (!added && fullest < found->second.fullest) found->second = {edge, fullest};
          if (end && (best < 0 || next.at(other).fullest < next.at(best).fullest)) best = other;
        }
      }
      if (best >= 0) {
        NodePath path{best};
        int edge = next.at(best).edge;
        for (std::size_t k = levels.size(); edge >= 0; --k) {
          path.push_back(end_of(edge, !forwards));
          edge = levels[k - 1].at(path.back()).edge;
        }
        if (forwards) std::reverse(path.begin(), path.end());
        return path;
      }
      for (const auto& [node, visit] : next) seen[node] = 1;
      level = std::move(next);
    }
    return {};
  }

  void add_load(const NodePath& path, std::int64_t trees) {
    for (std::size_t k = 0; k + 1 < path.size(); ++k) {
      for (const int edge : out_[at(path[k])]) {
        if (graph_.edges[at(edge)].target == path[k + 1]) load_[at(edge)] += trees;
      }
    }
  }

  // Paths from every GPU to the others of its server: one tree per server uses each.
  bool find_star_paths() {
    star_.resize(at(graph_.ranks));
    for (int source = 0; source < graph_.ranks; ++source) {
      const int server = server_of(source);
      for (int k = 0; k < gpus_; ++k) {
        const int target = server * gpus_ + k;
        NodePath& path = star_[at(source)].emplace_back();
        if (target == source) continue;
        path = shortest(
            source, true, [&](int node) { return node == target; },
            [&](int node) {
              return sent_by_[at(node)] == server && bound_for_[at(node)] == server;
            });
        if (path.empty()) return false;
        add_load(path, servers_);
      }
    }
    return true;
  }

  // Paths along the rails, by the power of two that the servers are apart.
  bool find_rail_paths() {
    std::vector<NodePath> up(at(graph_.ranks));
    std::vector<NodePath> down(at(graph_.ranks));
    const std::int64_t sends = servers_ - 1;
    for (int rank = 0; rank < graph_.ranks && servers_ > 1; ++rank) {
      for (const bool forwards : {true, false}) {
        const std::vector<int>& labels = forwards ? sent_by_ : bound_for_;
        NodePath& path = (forwards ? up : down)[at(rank)];
        path = shortest(
            rank, forwards,
            [&](int node) { return !is_rank(node) && labels[at(node)] == kManyServers; },
            [&](int node) { return labels[at(node)] == server_of(rank); });
        if (path.empty()) return false;
        add_load(path, sends);
      }
    }
    std::map<std::pair<int, int>, NodePath> between;
    for (int shift = 1; shift < servers_; shift *= 2) {
      const std::int64_t trees = std::min(shift, servers_ - shift);
      std::vector<NodePath>& paths = rail_.emplace_back();
      for (int source = 0; source < graph_.ranks; ++source) {
        const int target = (source + shift * gpus_) % graph_.ranks;
        NodePath path = up[at(source)];
        const NodePath& last = down[at(target)];
        if (path.back() != last.front()) {
          const int end = last.front();
          const NodePath middle = shortest(
              path.back(), true, [&](int node) { return node == end; },
              [&](int node) { return sent_by_[at(node)] == kManyServers; });
          if (middle.empty()) return false;
          add_load(middle, trees);
          path.insert(path.end(), middle.begin() + 1, middle.end());
        }
        path.insert(path.end(), last.begin() + 1, last.end());
        paths.push_back(std::move(path));
      }
    }
    return true;
  }

  // The best of the cuts around a server and around a GPU.
  [[nodiscard]] CutBound local_bound() const {
    CutBound best;
    const auto consider = [&](const std::vector<char>& cut, std::int64_t inside) {
      std::int64_t units = 0;
      for (const FlowEdge& edge : graph_.edges) {
        if (cut[at(edge.source)] && !cut[at(edge.target)]) units += edge.units;
      }
      if (units > 0 && Rational(inside, units) > best.value) best = {Rational(inside, units), cut};
    };
    // All servers and all GPUs are alike, or the loads will not fit.
    std::vector<char> cut(at(graph_.nodes), 1);
    cut[0] = 0;
    consider(cut, graph_.ranks - 1);
    if (servers_ == 1) return best;
    const int source = graph_.nodes;
    const int sink = source + 1;
    MaxFlow flow(sink + 1);
    for (const FlowEdge& edge : graph_.edges) flow.add_edge(edge.source, edge.target, edge.units);
    for (int rank = 0; rank < graph_.ranks; ++rank) {
      const bool first_server = rank < gpus_;
      flow.add_edge(first_server ? rank : source, first_server ? sink : rank, MaxFlow::kEndless);
    }
    static_cast<void>(flow.solve(source, sink));
    const std::vector<bool> side = flow.source_side();
    consider({side.begin(), side.end() - 2}, graph_.ranks - gpus_);
    return best;
  }

  static TreeEdge tree_edge(const NodePath& path) {
    return {.source = path.front(),
            .target = path.back(),
            .through = std::vector<int>(path.begin() + 1, path.end() - 1)};
  }

  [[nodiscard]] TreePacking trees() const {
    TreePacking packing;
    packing.trees.reserve(at(graph_.ranks));
    for (int root = 0; root < graph_.ranks; ++root) {
      Tree& tree = packing.trees.emplace_back(Tree{.root = root});
      tree.edges.reserve(at(graph_.ranks - 1));
      for (int server = 0; server < servers_; ++server) {
        const int rank = (root + server * gpus_) % graph_.ranks;
        if (server > 0) {
          const auto power = std::bit_width(static_cast<unsigned>(server)) - 1;
          const int parent = (root + (server - (1 << power)) * gpus_) % graph_.ranks;
          tree.edges.push_back(tree_edge(rail_[at(power)][at(parent)]));
        }
        for (const NodePath& path : star_[at(rank)]) {
          if (!path.empty()) tree.edges.push_back(tree_edge(path));
        }
      }
    }
    return packing;
  }

  const FlowGraph& graph_;
  int gpus_;
  int servers_;
  std::vector<std::vector<int>> out_;
  std::vector<std::vector<int>> in_;
  std::vector<std::int64_t> load_;           // trees, by edge
  std::vector<int> sent_by_;                 // by node
  std::vector<int> bound_for_;               // by node
  std::vector<std::vector<NodePath>> star_;  // by source, by number within the server
  std::vector<std::vector<NodePath>> rail_;  // by log2 of the distance, by source
};

}  // namespace

std::optional<RailTrees> pack_rails(const FlowGraph& graph, int gpus_per_server) {
  if (gpus_per_server < 1 || graph.ranks < 2 || graph.ranks % gpus_per_server != 0) {
    return std::nullopt;
  }
  return RailPlan(graph, gpus_per_server).run();
}

}  // namespace cclgym::synthesis
