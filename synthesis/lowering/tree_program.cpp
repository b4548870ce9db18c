#include "synthesis/lowering/tree_program.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/lowering/messages.hpp"
#include "synthesis/lowering/tree_channels.hpp"

namespace cclgym::synthesis {

namespace {

// A tree with the parts that it carries.
struct LoadedTree {
  DirectedTree directed;
  int first_chunk = 0;
  int chunks = 1;
};

std::vector<std::int64_t> counts_by_root(const TreePacking& packing, int ranks) {
  std::vector<std::int64_t> counts(at(ranks), 0);
  for (const Tree& tree : packing.trees) {
    if (tree.root < 0 || tree.root >= ranks || tree.count < 1) {
      throw UserError(fmt::format("a tree of rank {} with count {}", tree.root, tree.count));
    }
    counts[at(tree.root)] += tree.count;
  }
  return counts;
}

class TreeLowering {
 public:
  TreeLowering(const FlowGraph& graph, const Fabric* fabric, const ProgramForm& form,
               const TreeOptions& options)
      : graph_(graph), fabric_(fabric), form_(form), options_(options) {
    if (options.multicast &&
        std::find(graph.computes.begin(), graph.computes.end(), 1) == graph.computes.end()) {
      throw UserError(
          fmt::format("no switch of '{}' copies and adds; expected a fabric with "
                      "NVLink SHARP or SHARP for multicast",
                      graph.name));
    }
  }

  Program lower(const TreePacking& packing, const TreePacking& inward) {
    const bool sums = is_reduction(form_.collective);
    const bool spreads = !sums || form_.collective == CollectiveKind::AllReduce;
    counts_ = counts_by_root(packing, graph_.ranks);
    if (sums && spreads && counts_by_root(inward, graph_.ranks) != counts_) {
      throw UserError("the trees towards the roots and those from the roots have different counts");
    }
    ChunkLayout layout = make_layout();
    if (sums) add_trees(spreads ? inward : packing, true, layout.members());
    if (spreads) add_trees(packing, false, layout.members());
    return trace_messages(layout, messages());
  }

 private:
  // Chunks, one per part, and their buffers.
  ChunkLayout make_layout() {
    std::vector<PlannedChunk> chunks;
    first_chunk_.assign(counts_.size(), 0);
    std::int64_t slice = 0;
    std::int64_t all = 0;
    const bool numbered_over_all = form_.collective == CollectiveKind::AllReduce;
    constexpr std::int64_t kMostChunks = 1 << 20;
    for (int root = 0; root < graph_.ranks; ++root) {
      const std::int64_t count = counts_[at(root)];
      if (count == 0) continue;
      if (is_rooted(form_.collective) && root != form_.root) {
        throw UserError(fmt::format("a tree of rank {} in a {} of root {}", root,
                                    to_string(form_.collective), form_.root));
      }
      if (all + count > kMostChunks) throw UserError("more than 1,048,576 parts");
      first_chunk_[at(root)] = static_cast<int>(all);
      for (std::int64_t k = 0; k < count; ++k) {
        chunks.push_back({root, -1, static_cast<int>(numbered_over_all ? all + k : k)});
      }
      all += count;
      slice = count;
    }
    switch (form_.collective) {
      case CollectiveKind::AllGather:
      case CollectiveKind::ReduceScatter:
        require_equal_counts(slice);
        break;
      case CollectiveKind::AllReduce:
        slice = all;
        break;
      case CollectiveKind::Broadcast:
      case CollectiveKind::Reduce:
        break;
      default:
        throw UserError(fmt::format("trees carry no {}", to_string(form_.collective)));
    }
    if (all == 0) throw UserError("there are no trees");
    return {form_, graph_.ranks, static_cast<int>(slice), std::move(chunks)};
  }

  void require_equal_counts(std::int64_t slice) const {
    for (int rank = 0; rank < graph_.ranks; ++rank) {
      const bool member =
          form_.group.empty() || std::binary_search(form_.group.begin(), form_.group.end(), rank);
      const std::int64_t expected = member ? slice : 0;
      if (counts_[at(rank)] == expected) continue;
      throw UserError(fmt::format("rank {} has {} trees; {} needs {}", rank, counts_[at(rank)],
                                  to_string(form_.collective), expected));
    }
  }

  void add_trees(const TreePacking& packing, bool inward, const std::vector<int>& members) {
    std::vector<int> next = first_chunk_;
    for (const Tree& tree : packing.trees) {
      require_spanning(tree, members);
      const auto count = static_cast<int>(tree.count);
      const int size = options_.unit_trees ? 1 : count;
      for (int k = 0; k < count; k += size) {
        trees_.push_back({{&tree, inward, options_.multicast}, next[at(tree.root)], size});
        next[at(tree.root)] += size;
      }
    }
  }

  void require_spanning(const Tree& tree, const std::vector<int>& members) const {
    std::vector<char> reached(at(graph_.ranks), 0);
    reached[at(tree.root)] = 1;
    for (const TreeEdge& edge : tree.edges) {
      const bool exists = edge.source >= 0 && edge.source < graph_.ranks && edge.target >= 0 &&
                          edge.target < graph_.ranks;
      if (!exists || !reached[at(edge.source)] || reached[at(edge.target)]) {
        throw UserError(fmt::format("the tree of rank {} is no tree at its edge from {} to {}",
                                    tree.root, edge.source, edge.target));
      }
      reached[at(edge.target)] = 1;
    }
    for (const int rank : members) {
      if (reached[at(rank)]) continue;
      throw UserError(fmt::format("the tree of rank {} does not reach rank {}", tree.root, rank));
    }
  }

  // True if the switch that the edge passes through can copy or add.
  [[nodiscard]] bool is_multicast(const TreeEdge& edge) const {
    return options_.multicast && edge.through.size() == 1 &&
           graph_.computes[at(edge.through.front())] != 0;
  }

  std::vector<PlannedMessage> messages() {
    std::vector<DirectedTree> directed;
    for (const LoadedTree& tree : trees_) directed.push_back(tree.directed);
    const std::vector<std::vector<int>> channels =
        assign_tree_channels(graph_, fabric_, directed, options_.channels, options_.reroute);
    struct Dated {
      int date;
      int tree;
      int edge;
    };
    std::vector<Dated> dated;
    int inward_levels = 0;
    for (std::size_t tree = 0; tree < trees_.size(); ++tree) {
      const DirectedTree& one = directed[tree];
      const std::vector<int> levels = message_levels(one);
      for (const int level : levels) {
        if (one.inward) inward_levels = std::max(inward_levels, level + 1);
      }
      const int base = one.inward ? 0 : inward_levels;
      std::map<int, int> last;  // by rank: date of its group
      for (std::size_t edge = 0; edge < levels.size(); ++edge) {
        if (!is_multicast(one.tree->edges[edge])) continue;
        int& date = last[one.tree->edges[edge].source];
        date = std::max(date, levels[edge]);
      }
      for (std::size_t edge = 0; edge < levels.size(); ++edge) {
        const bool grouped = is_multicast(one.tree->edges[edge]);
        const int level = grouped ? last[one.tree->edges[edge].source] : levels[edge];
        dated.push_back({base + level, static_cast<int>(tree), static_cast<int>(edge)});
      }
    }
    const auto group_key = [&](const Dated& each) {
      const TreeEdge& edge = directed[at(each.tree)].tree->edges[at(each.edge)];
      return is_multicast(edge) ? edge.source : -1;
    };
    std::sort(dated.begin(), dated.end(), [&](const Dated& a, const Dated& b) {
      return std::make_tuple(a.date, a.tree, group_key(a), a.edge) <
             std::make_tuple(b.date, b.tree, group_key(b), b.edge);
    });
    return emit(dated, channels, group_key);
  }

  template <class AllDated, class GroupKey>
  std::vector<PlannedMessage> emit(const AllDated& dated,
                                   const std::vector<std::vector<int>>& channels,
                                   const GroupKey& group_key) const {
    std::vector<PlannedMessage> messages;
    messages.reserve(dated.size());
    int groups = 0;
    for (std::size_t first = 0; first < dated.size();) {
      const LoadedTree& tree = trees_[at(dated[first].tree)];
      const int key = group_key(dated[first]);
      std::size_t end = first + 1;
      while (key >= 0 && end < dated.size() && dated[end].tree == dated[first].tree &&
             dated[end].date == dated[first].date && group_key(dated[end]) == key) {
        ++end;
      }
      const bool together = end - first > 1;
      for (int chunk = 0; chunk < tree.chunks; ++chunk) {
        for (std::size_t k = first; k < end; ++k) {
          const TreeEdge& edge = tree.directed.tree->edges[at(dated[k].edge)];
          messages.push_back({.chunk = tree.first_chunk + chunk,
                              .source = tree.directed.sender(edge),
                              .target = tree.directed.receiver(edge),
                              .channel = channels[at(dated[k].tree)][at(dated[k].edge)],
                              .reduces = tree.directed.inward,
                              .batch = static_cast<int>(first),
                              .group = together ? groups : kNoGroup});
        }
        if (together) ++groups;
      }
      first = end;
    }
    return messages;
  }

  const FlowGraph& graph_;
  const Fabric* fabric_;
  const ProgramForm& form_;
  const TreeOptions& options_;
  std::vector<std::int64_t> counts_;  ///< parts by root
  std::vector<int> first_chunk_;      ///< by root
  std::vector<LoadedTree> trees_;
};

}  // namespace

Program lower_trees(const FlowGraph& graph, const Fabric* fabric, const ProgramForm& form,
                    const TreePacking& packing, const TreeOptions& options) {
  return lower_trees(graph, fabric, form, packing, packing, options);
}

Program lower_trees(const FlowGraph& graph, const Fabric* fabric, const ProgramForm& form,
                    const TreePacking& packing, const TreePacking& inward,
                    const TreeOptions& options) {
  return TreeLowering(graph, fabric, form, options).lower(packing, inward);
}

}  // namespace cclgym::synthesis
