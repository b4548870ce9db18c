#include "synthesis/flows/alltoall.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <queue>
#include <utility>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/flows/exact_dual.hpp"
#include "synthesis/flows/path_decomposition.hpp"

namespace cclgym::synthesis {

namespace {

// The linear program, and the meaning of its columns and rows.
struct ConcurrentFlow {
  ExactProgram program;
  std::vector<SourceOrbit> sources;
  std::vector<std::vector<int>> columns;  // by source and its orbit of edges; -1: into the source
  std::vector<int> capacity_rows;         // by edge orbit
  GraphOrbits orbits;
};

constexpr int kTime = 0;  // column of the rounds

ConcurrentFlow make_concurrent_flow(const FlowGraph& graph, const AllToAllOptions& options) {
  ConcurrentFlow flow;
  flow.orbits = make_graph_orbits(graph, options.symmetries, options.group);
  const std::vector<char> participates = participants(graph, options.group);
  flow.program.add_column(1);
  for (std::size_t orbit = 0; orbit < flow.orbits.edge_sizes.size(); ++orbit) {
    const std::int64_t units = graph.edges[at(flow.orbits.first_edge[orbit])].units;
    flow.capacity_rows.push_back(
        flow.program.add_row({{kTime, -units * flow.orbits.edge_sizes[orbit]}}, std::nullopt, 0));
  }
  for (const int source : flow.orbits.first_node) {
    if (!participates[at(source)]) continue;
    const SourceOrbit& orbit =
        flow.sources.emplace_back(make_source_orbit(graph, options.symmetries, source));
    const auto members = static_cast<std::int64_t>(orbit.images.size());
    std::vector<int>& columns = flow.columns.emplace_back(orbit.fixed.first_edge.size(), -1);
    for (std::size_t k = 0; k < columns.size(); ++k) {
      const int edge = orbit.fixed.first_edge[k];
      if (graph.edges[at(edge)].target == source) continue;
      columns[k] = flow.program.add_column(0);
      const int row = flow.capacity_rows[at(flow.orbits.of_edge[at(edge)])];
      flow.program.rows[at(row)].terms.push_back({columns[k], members * orbit.fixed.edge_sizes[k]});
    }
    // Arriving - leaving = demand, at one node per orbit.
    std::vector<std::map<int, std::int64_t>> balance(at(graph.nodes));
    for (std::size_t k = 0; k < graph.edges.size(); ++k) {
      const int column = columns[at(orbit.fixed.of_edge[k])];
      if (column < 0) continue;
      balance[at(graph.edges[k].target)][column] += 1;
      balance[at(graph.edges[k].source)][column] -= 1;
    }
    for (const int node : orbit.fixed.first_node) {
      if (node == source) continue;
      std::vector<ExactTerm> terms;
      for (const auto& [column, coefficient] : balance[at(node)]) {
        if (coefficient != 0) terms.push_back({column, coefficient});
      }
      const std::int64_t demand = participates[at(node)] ? 1 : 0;
      flow.program.add_row(std::move(terms), demand, demand);
    }
  }
  return flow;
}

// Lengths of edges from the duals of the capacity rows, as whole numbers.
EdgeLengths lengths_of_duals(const ConcurrentFlow& flow, const DualCertificate& certificate) {
  std::vector<Rational> by_orbit;
  for (const int row : flow.capacity_rows) by_orbit.push_back(-certificate.duals[at(row)]);
  const std::optional<std::int64_t> denominator = common_denominator(by_orbit);
  EdgeLengths lengths;
  if (!denominator) return lengths;
  for (const int orbit : flow.orbits.of_edge) {
    lengths.lengths.push_back(numerator_over(by_orbit[at(orbit)], *denominator));
  }
  return lengths;
}

std::vector<FlowPath> paths_of(const FlowGraph& graph, const AllToAllOptions& options,
                               const ConcurrentFlow& flow, const std::vector<Rational>& values) {
  const std::optional<std::int64_t> denominator = common_denominator(values);
  if (!denominator) throw UserError("the AllToAll flow has no common denominator below 2^40");
  const std::vector<char> participates = participants(graph, options.group);
  std::vector<FlowPath> paths;
  for (std::size_t orbit = 0; orbit < flow.sources.size(); ++orbit) {
    const int source = flow.sources[orbit].source;
    std::vector<FlowArc> arcs;
    for (std::size_t k = 0; k < graph.edges.size(); ++k) {
      const int column = flow.columns[orbit][at(flow.sources[orbit].fixed.of_edge[k])];
      const Rational amount = column < 0 ? Rational(0) : values[at(column)];
      arcs.push_back(
          {graph.edges[k].source, graph.edges[k].target, numerator_over(amount, *denominator)});
    }
    std::vector<std::int64_t> demands(at(graph.nodes), 0);
    for (int node = 0; node < graph.nodes; ++node) {
      if (node != source && participates[at(node)]) demands[at(node)] = *denominator;
    }
    for (const ArcPath& path : decompose_flow(arcs, source, demands)) {
      for (const Permutation& image : flow.sources[orbit].images) {
        FlowPath moved{image[at(source)],
                       image[at(path.target)],
                       Rational(path.amount, *denominator),
                       {image[at(source)]}};
        for (const int arc : path.arcs) {
          moved.nodes.push_back(image[at(graph.edges[at(arc)].target)]);
        }
        paths.push_back(std::move(moved));
      }
    }
  }
  std::sort(paths.begin(), paths.end(), [](const FlowPath& one, const FlowPath& other) {
    return std::tie(one.source, one.target, one.nodes) <
           std::tie(other.source, other.target, other.nodes);
  });
  return paths;
}

std::string check_paths(const FlowGraph& graph, const AllToAllOptions& options,
                        const AllToAllFlow& flow) {
  std::map<std::pair<int, int>, Rational> loads;
  PairShares shares;
  for (const FlowPath& path : flow.paths) {
    if (path.nodes.size() < 2 || path.nodes.front() != path.source ||
        path.nodes.back() != path.target || path.share <= Rational(0)) {
      return fmt::format("a path from rank {} to rank {} does not join them", path.source,
                         path.target);
    }
    shares[{path.source, path.target}] += path.share;
    for (std::size_t k = 1; k < path.nodes.size(); ++k) {
      loads[{path.nodes[k - 1], path.nodes[k]}] += path.share;
    }
  }
  if (std::string problem = check_shares(graph, options.group, shares); !problem.empty()) {
    return problem;
  }
  for (const FlowEdge& edge : graph.edges) {
    const auto found = loads.find({edge.source, edge.target});
    if (found == loads.end()) continue;
    if (found->second > flow.rounds * edge.units) {
      return fmt::format("the edge {} -> {} carries {} chunks, more than in all rounds",
                         edge.source, edge.target, text_of(found->second));
    }
    loads.erase(found);
  }
  if (!loads.empty()) {
    return fmt::format("a path uses {} -> {}, which is no edge", loads.begin()->first.first,
                       loads.begin()->first.second);
  }
  return {};
}

// Distance from a rank to every node; -1 if there is no path.
std::vector<std::int64_t> distances_from(const FlowGraph& graph,
                                         const std::vector<std::vector<int>>& edges_out,
                                         const std::vector<std::int64_t>& lengths, int source) {
  std::vector<std::int64_t> distance(at(graph.nodes), -1);
  using Entry = std::pair<std::int64_t, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  queue.push({0, source});
  while (!queue.empty()) {
    const auto [length, node] = queue.top();
    queue.pop();
    if (distance[at(node)] >= 0) continue;
    distance[at(node)] = length;
    for (const int edge : edges_out[at(node)]) {
      const int next = graph.edges[at(edge)].target;
      if (distance[at(next)] < 0) queue.push({length + lengths[at(edge)], next});
    }
  }
  return distance;
}

}  // namespace

std::string check_shares(const FlowGraph& graph, const std::vector<int>& group,
                         const PairShares& shares) {
  const std::vector<char> participates = participants(graph, group);
  std::size_t pairs = 0;
  for (int source = 0; source < graph.ranks; ++source) {
    for (int target = 0; target < graph.ranks; ++target) {
      if (source == target || !participates[at(source)] || !participates[at(target)]) continue;
      ++pairs;
      const auto found = shares.find({source, target});
      if (found != shares.end() && found->second == Rational(1)) continue;
      return fmt::format("the paths from rank {} to rank {} do not carry exactly all data", source,
                         target);
    }
  }
  if (shares.size() != pairs) return "a path joins ranks outside the group";
  return {};
}

ExactProgram alltoall_program(const FlowGraph& graph, const AllToAllOptions& options) {
  return make_concurrent_flow(graph, options).program;
}

Rational bound_of_lengths(const FlowGraph& graph, const std::vector<int>& group,
                          const EdgeLengths& lengths) {
  if (lengths.lengths.size() != graph.edges.size()) {
    throw UserError(fmt::format("there are {} lengths; expected one for each of {} edges",
                                lengths.lengths.size(), graph.edges.size()));
  }
  const std::vector<char> participates = participants(graph, group);
  constexpr std::int64_t kMax = std::int64_t{1} << 62;
  std::int64_t volume = 0;
  std::vector<std::vector<int>> edges_out(at(graph.nodes));
  std::int64_t pairs = std::int64_t{graph.ranks} * graph.ranks;
  for (std::size_t k = 0; k < graph.edges.size(); ++k) {
    const FlowEdge& edge = graph.edges[k];
    const std::int64_t length = lengths.lengths[k];
    edges_out[at(edge.source)].push_back(static_cast<int>(k));
    if (length < 0 || length > kMax / (pairs * graph.nodes) ||
        length > (kMax - volume) / edge.units) {
      throw UserError(fmt::format("the length {} of edge {} is negative or too large", length, k));
    }
    volume += length * edge.units;
  }
  if (volume == 0) throw UserError("all lengths are 0");
  std::int64_t total = 0;
  for (int source = 0; source < graph.ranks; ++source) {
    if (!participates[at(source)]) continue;
    const std::vector<std::int64_t> distance =
        distances_from(graph, edges_out, lengths.lengths, source);
    for (int target = 0; target < graph.ranks; ++target) {
      if (!participates[at(target)]) continue;
      if (distance[at(target)] < 0) {
        throw UserError(fmt::format("rank {} cannot reach rank {}", source, target));
      }
      total += distance[at(target)];
    }
  }
  return Rational(total, volume);
}

AllToAllFlow alltoall_flow(const FlowGraph& graph, const AllToAllOptions& options) {
  const ConcurrentFlow flow = make_concurrent_flow(graph, options);
  ExactOptimum optimum =
      solve_exactly(flow.program, fmt::format("AllToAll on '{}'", graph.name), options.deadline);
  AllToAllFlow result;
  result.rounds = optimum.solution.cost;
  result.lengths = lengths_of_duals(flow, optimum.certificate);
  if (options.paths) result.paths = paths_of(graph, options, flow, optimum.solution.values);
  result.certificate = std::move(optimum.certificate);
  return result;
}

std::string check_alltoall_flow(const FlowGraph& graph, const AllToAllOptions& options,
                                const AllToAllFlow& flow) {
  if (options.paths) {
    if (std::string problem = check_paths(graph, options, flow); !problem.empty()) return problem;
  }
  try {
    if (const Rational bound = bound_of_lengths(graph, options.group, flow.lengths);
        bound != flow.rounds) {
      return fmt::format("the lengths prove {} rounds; the flow takes {}", text_of(bound),
                         text_of(flow.rounds));
    }
  } catch (const UserError& error) {
    return error.what();
  }
  if (flow.certificate.program != alltoall_program(graph, options)) {
    return "the certificate is about another linear program";
  }
  if (flow.certificate.bound != flow.rounds) {
    return fmt::format("the certificate proves {} rounds; the flow takes {}",
                       text_of(flow.certificate.bound), text_of(flow.rounds));
  }
  return check_dual(flow.certificate);
}

}  // namespace cclgym::synthesis
