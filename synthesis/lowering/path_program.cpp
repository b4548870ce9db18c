#include "synthesis/lowering/path_program.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>
#include <utility>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/lowering/messages.hpp"
#include "synthesis/lowering/tree_channels.hpp"

namespace cclgym::synthesis {

namespace {

// Path from rank to rank: an edge per message.
Tree tree_of_path(const FlowGraph& graph, const FlowPath& path, std::int64_t count) {
  if (path.nodes.size() < 2 || path.nodes.front() >= graph.ranks ||
      path.nodes.back() >= graph.ranks) {
    throw UserError(fmt::format("a path from rank {} to rank {} does not join two ranks",
                                path.source, path.target));
  }
  Tree tree{.root = path.source, .count = count};
  TreeEdge edge{.source = path.nodes.front()};
  for (std::size_t k = 1; k < path.nodes.size(); ++k) {
    const int node = path.nodes[k];
    if (node >= graph.ranks) {
      edge.through.push_back(node);
      continue;
    }
    edge.target = node;
    tree.edges.push_back(edge);
    edge = {.source = node};
  }
  return tree;
}

std::int64_t whole(const Rational& value) { return value.numerator() / value.denominator(); }

// Parts of the paths of one pair: the largest remainders are rounded up.
std::vector<std::int64_t> parts_of_pair(const std::vector<const FlowPath*>& paths, int parts) {
  std::vector<std::int64_t> counts;
  std::vector<std::pair<Rational, std::size_t>> remainders;
  std::int64_t left = parts;
  for (std::size_t k = 0; k < paths.size(); ++k) {
    const Rational wanted = paths[k]->share * parts;
    counts.push_back(whole(wanted));
    left -= counts.back();
    remainders.push_back({counts.back() - wanted, k});
  }
  std::sort(remainders.begin(), remainders.end());
  for (std::size_t k = 0; left > 0; k = (k + 1) % remainders.size(), --left) {
    ++counts[remainders[k].second];
  }
  return counts;
}

}  // namespace

TreePacking rounded_paths(const FlowGraph& graph, const std::vector<FlowPath>& paths, int parts) {
  if (parts < 1) throw UserError(fmt::format("{} parts per pair; expected at least 1", parts));
  std::map<std::pair<int, int>, std::vector<const FlowPath*>> pairs;
  for (const FlowPath& path : paths) pairs[{path.source, path.target}].push_back(&path);
  TreePacking packing;
  for (const auto& [pair, of_pair] : pairs) {
    const std::vector<std::int64_t> counts = parts_of_pair(of_pair, parts);
    for (std::size_t k = 0; k < of_pair.size(); ++k) {
      if (counts[k] > 0) packing.trees.push_back(tree_of_path(graph, *of_pair[k], counts[k]));
    }
  }
  const Rational rounds = rounds_of_paths(graph, packing);
  packing.capacity_numerator = rounds.numerator();
  packing.capacity_denominator = rounds.denominator();
  return packing;
}

Rational rounds_of_paths(const FlowGraph& graph, const TreePacking& paths) {
  const std::vector<std::int64_t> loads = edge_loads(graph, paths);
  Rational rounds{0};
  for (std::size_t k = 0; k < loads.size(); ++k) {
    rounds = std::max(rounds, Rational(loads[k], graph.edges[k].units));
  }
  return rounds;
}

Program lower_paths(const FlowGraph& graph, const Fabric* fabric, const ProgramForm& form,
                    const TreePacking& paths, int parts, int channels) {
  if (form.collective != CollectiveKind::AllToAll) {
    throw UserError(fmt::format("paths carry alltoall, not {}", to_string(form.collective)));
  }
  std::vector<PlannedChunk> chunks;
  std::vector<DirectedTree> directed;
  std::vector<int> first_chunk;
  std::map<std::pair<int, int>, int> sent;
  for (const Tree& tree : paths.trees) {
    if (tree.edges.empty() || tree.count < 1) throw UserError("a path without edges or parts");
    const int target = tree.edges.back().target;
    int& number = sent[{tree.root, target}];
    directed.push_back({&tree});
    first_chunk.push_back(static_cast<int>(chunks.size()));
    for (std::int64_t k = 0; k < tree.count; ++k) chunks.push_back({tree.root, target, number++});
  }
  ChunkLayout layout(form, graph.ranks, parts, chunks);
  for (const int source : layout.members()) {
    for (const int target : layout.members()) {
      if (source == target) continue;
      const auto found = sent.find({source, target});
      const int number = found == sent.end() ? 0 : found->second;
      if (number != parts) {
        throw UserError(fmt::format("{} parts go from rank {} to rank {}; expected {}", number,
                                    source, target, parts));
      }
    }
  }
  const std::vector<std::vector<int>> channel_of =
      assign_tree_channels(graph, fabric, directed, channels);
  struct Dated {
    int level;
    int shift;  // distance of the path's ends: sources begin with different targets
    int path;
    int edge;
  };
  std::vector<Dated> dated;
  for (std::size_t path = 0; path < directed.size(); ++path) {
    const std::vector<int> levels = message_levels(directed[path]);
    const PlannedChunk& chunk = chunks[at(first_chunk[path])];
    const int shift = (chunk.target - chunk.source + graph.ranks) % graph.ranks;
    for (std::size_t edge = 0; edge < levels.size(); ++edge) {
      dated.push_back({levels[edge], shift, static_cast<int>(path), static_cast<int>(edge)});
    }
  }
  std::sort(dated.begin(), dated.end(), [](const Dated& a, const Dated& b) {
    return std::tie(a.level, a.shift, a.path, a.edge) < std::tie(b.level, b.shift, b.path, b.edge);
  });
  std::vector<PlannedMessage> messages;
  for (std::size_t k = 0; k < dated.size(); ++k) {
    const Tree& tree = paths.trees[at(dated[k].path)];
    const TreeEdge& edge = tree.edges[at(dated[k].edge)];
    for (int chunk = 0; chunk < static_cast<int>(tree.count); ++chunk) {
      messages.push_back({.chunk = first_chunk[at(dated[k].path)] + chunk,
                          .source = edge.source,
                          .target = edge.target,
                          .channel = channel_of[at(dated[k].path)][at(dated[k].edge)],
                          .batch = static_cast<int>(k)});
    }
  }
  return trace_messages(layout, messages);
}

}  // namespace cclgym::synthesis
