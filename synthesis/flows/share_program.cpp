#include "synthesis/flows/share_program.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/index.hpp"

namespace cclgym::synthesis {

ShareColumns make_share_columns(const FlowGraph& graph, const AllReduceOptions& options) {
  const std::vector<char> participates = participants(graph, options.group);
  const GraphOrbits orbits = make_graph_orbits(graph, options.symmetries, options.group);
  ShareColumns columns;
  columns.of_node.assign(at(graph.nodes), -1);
  std::vector<int> column_of_orbit(orbits.node_sizes.size(), -1);
  for (int node = 0; node < graph.ranks; ++node) {
    if (!participates[at(node)]) continue;
    int& column = column_of_orbit[at(orbits.of_node[at(node)])];
    if (column < 0) {
      column = static_cast<int>(columns.share_sizes.size());
      columns.share_sizes.push_back(0);
      columns.targets.push_back(node);
    }
    columns.of_node[at(node)] = column;
    ++columns.share_sizes[at(column)];
  }
  const std::size_t edges = graph.edges.size();
  std::map<std::pair<int, int>, std::size_t> edge_at;
  for (std::size_t k = 0; k < edges; ++k) {
    edge_at[{graph.edges[k].source, graph.edges[k].target}] = k;
  }
  std::vector<std::size_t> back(edges, edges);
  columns.duplex = true;
  for (std::size_t k = 0; k < edges; ++k) {
    const auto found = edge_at.find({graph.edges[k].target, graph.edges[k].source});
    if (found == edge_at.end() || graph.edges[found->second].units != graph.edges[k].units) {
      columns.duplex = false;
      break;
    }
    back[k] = found->second;
  }
  DisjointSets sets(2 * edges);
  for (std::size_t k = 0; k < edges; ++k) {
    const int first = orbits.first_edge[at(orbits.of_edge[k])];
    sets.unite(static_cast<int>(k), first);
    sets.unite(static_cast<int>(edges + k), static_cast<int>(edges) + first);
    if (columns.duplex) sets.unite(static_cast<int>(k), static_cast<int>(edges + back[k]));
  }
  const std::vector<int> numbers = sets.numbers();
  const int shares = static_cast<int>(columns.share_sizes.size());
  for (std::size_t way = 0; way < 2; ++way) {
    for (std::size_t k = 0; k < edges; ++k) {
      const int number = numbers[way * edges + k];
      columns.of_edge[way].push_back(shares + number);
      columns.capacities = std::max(columns.capacities, number + 1);
    }
  }
  return columns;
}

void add_capacity_rows(const FlowGraph& graph, const AllReduceOptions& options,
                       const ShareColumns& columns, ExactProgram& program, RowSet& rows) {
  for (const int size : columns.share_sizes) program.add_column(-size);
  for (int k = 0; k < columns.capacities; ++k) program.add_column(0);
  for (std::size_t k = 0; k < graph.edges.size(); ++k) {
    for (const auto& of_edge : columns.of_edge) rows.add(of_edge[k], 1);
    rows.finish(std::nullopt, graph.edges[k].units);
  }
  const std::vector<char> participates = participants(graph, options.group);
  for (int node = 0; node < graph.nodes; ++node) {
    if (!conserves(graph, participates, node)) continue;
    for (const auto& of_edge : columns.of_edge) {
      for (std::size_t k = 0; k < graph.edges.size(); ++k) {
        if (graph.edges[k].source == node) rows.add(of_edge[k], 1);
        if (graph.edges[k].target == node) rows.add(of_edge[k], -1);
      }
      rows.finish(0, 0);
    }
  }
}

bool add_cut_row(const FlowGraph& graph, const ShareColumns& columns, const ShareCut& cut,
                 RowSet& rows) {
  bool leaves_out = false;
  if (cut.side.size() != at(graph.nodes)) {
    throw UserError(
        fmt::format("a cut has {} nodes; the flow graph has {}", cut.side.size(), graph.nodes));
  }
  for (int node = 0; node < graph.nodes; ++node) {
    if (columns.of_node[at(node)] < 0) continue;
    if (cut.side[at(node)]) {
      rows.add(columns.of_node[at(node)], 1);
    } else {
      leaves_out = true;
    }
  }
  if (!leaves_out) throw UserError("a cut leaves out no rank of the group");
  for (std::size_t k = 0; k < graph.edges.size(); ++k) {
    const bool source = cut.side[at(graph.edges[k].source)] != 0;
    const bool target = cut.side[at(graph.edges[k].target)] != 0;
    if (source == target || source == cut.reduce) continue;
    rows.add(columns.of_edge[cut.reduce ? 1 : 0][k], -1);
  }
  return rows.finish(std::nullopt, 0);
}

ExactProgram allreduce_program(const FlowGraph& graph, const AllReduceOptions& options,
                               const std::vector<ShareCut>& cuts) {
  const ShareColumns columns = make_share_columns(graph, options);
  ExactProgram program;
  RowSet rows(program);
  add_capacity_rows(graph, options, columns, program, rows);
  for (const ShareCut& cut : cuts) add_cut_row(graph, columns, cut, rows);
  return program;
}

}  // namespace cclgym::synthesis
