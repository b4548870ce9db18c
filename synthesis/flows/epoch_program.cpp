#include "synthesis/flows/epoch_program.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/flows/path_decomposition.hpp"

namespace cclgym::synthesis {

namespace {

// Minimum delay from the nearest start to every node along the edges, or against them; -1: none.
std::vector<int> least_delays(const EpochGraph& epochs, const std::vector<int>& starts,
                              bool against) {
  const FlowGraph& graph = epochs.graph;
  std::vector<int> delay(at(graph.nodes), -1);
  for (const int start : starts) delay[at(start)] = 0;
  for (bool changed = true; changed;) {  // Bellman-Ford: the graphs have few hops
    changed = false;
    for (std::size_t k = 0; k < graph.edges.size(); ++k) {
      const int from = against ? graph.edges[k].target : graph.edges[k].source;
      const int into = against ? graph.edges[k].source : graph.edges[k].target;
      if (delay[at(from)] < 0) continue;
      const int reached = delay[at(from)] + epochs.delay[k];
      if (delay[at(into)] >= 0 && delay[at(into)] <= reached) continue;
      delay[at(into)] = reached;
      changed = true;
    }
  }
  return delay;
}

// Sums of columns, by row of one node and epoch.
class NodeBalance {
 public:
  void add(int column, std::int64_t coefficient) {
    if (column >= 0) terms_[column] += coefficient;
  }
  // Ends the row; a row without terms is dropped.
  void finish(ExactProgram& program, std::optional<std::int64_t> upper) {
    std::vector<ExactTerm> terms;
    for (const auto& [column, coefficient] : terms_) {
      if (coefficient != 0) terms.push_back({column, coefficient});
    }
    terms_.clear();
    if (!terms.empty()) program.add_row(std::move(terms), 0, upper);
  }

 private:
  std::map<int, std::int64_t> terms_;
};

void add_source(const EpochSetting& setting, std::size_t index, int count, EpochProgram& program) {
  const EpochGraph& epochs = setting.epochs;
  const FlowGraph& graph = epochs.graph;
  EpochColumns& columns = program.sources.emplace_back();
  columns.source = setting.sources[index];
  const int source = columns.source.source;
  const GraphOrbits& fixed = columns.source.fixed;
  const std::vector<int>& arrival = setting.arrival[index];
  // True if what is at the node at this time can still reach a participant.
  const auto useful = [&](int node, int time) {
    return node != source && arrival[at(node)] >= 0 && arrival[at(node)] <= time &&
           setting.back[at(node)] >= 0 && time + setting.back[at(node)] <= count;
  };
  for (const int edge : fixed.first_edge) {
    const FlowEdge& ends = graph.edges[at(edge)];
    std::vector<int>& sent = columns.sent.emplace_back(at(count), -1);
    for (int epoch = 0; epoch < count; ++epoch) {
      if (arrival[at(ends.source)] < 0 || arrival[at(ends.source)] > epoch) continue;
      if (!useful(ends.target, epoch + epochs.delay[at(edge)])) continue;
      sent[at(epoch)] = program.program.add_column(0);
    }
  }
  for (const int node : fixed.first_node) {
    std::vector<int>& held = columns.held.emplace_back(at(count), -1);
    if (node >= graph.ranks) continue;
    for (int epoch = 0; epoch < count; ++epoch) {
      if (useful(node, epoch) && useful(node, epoch + 1)) {
        held[at(epoch)] = program.program.add_column(0);
      }
    }
  }
  std::vector<std::vector<int>> edges_at(at(graph.nodes));
  for (std::size_t k = 0; k < graph.edges.size(); ++k) {
    edges_at[at(graph.edges[k].source)].push_back(static_cast<int>(k));
    edges_at[at(graph.edges[k].target)].push_back(static_cast<int>(k));
  }
  NodeBalance balance;
  for (std::size_t orbit = 0; orbit < fixed.first_node.size(); ++orbit) {
    const int node = fixed.first_node[orbit];
    if (node == source) continue;
    for (int time = 0; time <= count; ++time) {
      for (const int edge : edges_at[at(node)]) {
        const std::vector<int>& sent = columns.sent[at(fixed.of_edge[at(edge)])];
        const bool arrives = graph.edges[at(edge)].target == node;
        const int epoch = arrives ? time - epochs.delay[at(edge)] : time;
        if (epoch >= 0 && epoch < count) balance.add(sent[at(epoch)], arrives ? 1 : -1);
      }
      if (time > 0) balance.add(columns.held[orbit][at(time - 1)], 1);
      if (time < count) {
        balance.add(columns.held[orbit][at(time)], -1);
        balance.finish(program.program, 0);
      } else {
        if (setting.participates[at(node)]) balance.add(0, -setting.chunks);
        balance.finish(program.program, std::nullopt);
      }
    }
  }
}

}  // namespace

EpochSetting make_epoch_setting(const EpochGraph& epochs, int chunks,
                                const AllToAllOptions& options) {
  const FlowGraph& graph = epochs.graph;
  if (chunks < 1) throw UserError(fmt::format("{} chunks per pair; expected at least 1", chunks));
  if (epochs.delay.size() != graph.edges.size() || epochs.window.size() != graph.edges.size()) {
    throw UserError(
        fmt::format("there are {} delays and {} windows; expected one for each of {} "
                    "edges",
                    epochs.delay.size(), epochs.window.size(), graph.edges.size()));
  }
  EpochSetting setting{.epochs = epochs, .options = options, .chunks = chunks};
  setting.participates = participants(graph, options.group);
  setting.orbits = make_graph_orbits(graph, options.symmetries, options.group);
  for (std::size_t k = 0; k < graph.edges.size(); ++k) {
    const auto first = at(setting.orbits.first_edge[at(setting.orbits.of_edge[k])]);
    if (epochs.delay[k] < 1 || epochs.window[k] < 1 || epochs.window[k] > epochs.delay[k]) {
      throw UserError(
          fmt::format("edge {} has a delay of {} and a window of {} epochs; expected "
                      "1 <= window <= delay",
                      k, epochs.delay[k], epochs.window[k]));
    }
    if (epochs.delay[k] == epochs.delay[first] && epochs.window[k] == epochs.window[first]) {
      continue;
    }
    throw UserError(fmt::format("a symmetry maps edge {} to edge {} of another delay", first, k));
  }
  std::vector<int> ranks;
  for (int rank = 0; rank < graph.ranks; ++rank) {
    if (setting.participates[at(rank)]) ranks.push_back(rank);
  }
  setting.back = least_delays(epochs, ranks, true);
  for (const int source : setting.orbits.first_node) {
    if (!setting.participates[at(source)]) continue;
    setting.sources.push_back(make_source_orbit(graph, options.symmetries, source));
    setting.arrival.push_back(least_delays(epochs, {source}, false));
    for (const int rank : ranks) {
      if (setting.arrival.back()[at(rank)] >= 0) continue;
      throw UserError(
          fmt::format("rank {} cannot reach rank {} on '{}'", source, rank, graph.name));
    }
  }
  return setting;
}

EpochProgram make_epoch_program(const EpochSetting& setting, int count) {
  const EpochGraph& epochs = setting.epochs;
  EpochProgram result;
  result.program.add_column(-1);
  for (std::size_t k = 0; k < setting.sources.size(); ++k) add_source(setting, k, count, result);
  // Orbits of edges under the symmetries that fix a source, by orbit under all symmetries.
  struct Part {
    std::size_t source;
    std::size_t orbit;
  };
  std::vector<std::vector<Part>> parts(setting.orbits.first_edge.size());
  for (std::size_t source = 0; source < result.sources.size(); ++source) {
    const GraphOrbits& fixed = result.sources[source].source.fixed;
    for (std::size_t orbit = 0; orbit < fixed.first_edge.size(); ++orbit) {
      const int edge = fixed.first_edge[orbit];
      parts[at(setting.orbits.of_edge[at(edge)])].push_back({source, orbit});
    }
  }
  for (std::size_t orbit = 0; orbit < parts.size(); ++orbit) {
    const auto edge = at(setting.orbits.first_edge[orbit]);
    const int window = std::min(epochs.window[edge], count);
    for (int last = window - 1; last < count; ++last) {
      std::vector<ExactTerm> terms;
      for (const Part& part : parts[orbit]) {
        const EpochColumns& columns = result.sources[part.source];
        const auto members = static_cast<std::int64_t>(columns.source.images.size());
        const std::int64_t weight = members * columns.source.fixed.edge_sizes[part.orbit] *
                                    epochs.chunks_per_unit.denominator();
        for (int epoch = last - window + 1; epoch <= last; ++epoch) {
          const int column = columns.sent[part.orbit][at(epoch)];
          if (column >= 0) terms.push_back({column, weight});
        }
      }
      if (terms.empty()) continue;
      result.program.add_row(std::move(terms), std::nullopt,
                             setting.orbits.edge_sizes[orbit] * epochs.graph.edges[edge].units *
                                 epochs.chunks_per_unit.numerator() * epochs.window[edge]);
    }
  }
  return result;
}

namespace {

// A path of the flow from the first source of an orbit, with its amount.
struct SourcePath {
  int target = 0;  // rank
  std::int64_t amount = 0;
  std::vector<EpochHop> hops;
};

std::vector<SourcePath> source_paths(const EpochSetting& setting, const EpochColumns& columns,
                                     int count, const std::vector<std::int64_t>& amounts,
                                     std::int64_t demand, bool rounded) {
  const FlowGraph& graph = setting.epochs.graph;
  const SourceOrbit& orbit = columns.source;
  // Node v at time t is t * nodes + v; all times of the source are one node.
  std::vector<FlowArc> arcs;
  std::vector<EpochHop> hops;  // by arc; edge -1: held
  const auto copy = [&](int node, int time) {
    return node == orbit.source ? node : time * graph.nodes + node;
  };
  for (std::size_t edge = 0; edge < graph.edges.size(); ++edge) {
    const std::vector<int>& sent = columns.sent[at(orbit.fixed.of_edge[edge])];
    for (int epoch = 0; epoch < count; ++epoch) {
      if (sent[at(epoch)] < 0) continue;
      arcs.push_back({copy(graph.edges[edge].source, epoch),
                      copy(graph.edges[edge].target, epoch + setting.epochs.delay[edge]),
                      amounts[at(sent[at(epoch)])]});
      hops.push_back({static_cast<int>(edge), epoch});
    }
  }
  for (int node = 0; node < graph.nodes; ++node) {
    const std::vector<int>& held = columns.held[at(orbit.fixed.of_node[at(node)])];
    for (int epoch = 0; epoch < count; ++epoch) {
      if (held[at(epoch)] < 0) continue;
      arcs.push_back({copy(node, epoch), copy(node, epoch + 1), amounts[at(held[at(epoch)])]});
      hops.push_back({-1, epoch});
    }
  }
  std::vector<std::int64_t> demands(at((count + 1) * graph.nodes), 0);
  for (int rank = 0; rank < graph.ranks; ++rank) {
    if (rank == orbit.source || !setting.participates[at(rank)]) continue;
    demands[at(copy(rank, count))] = demand;
  }
  std::vector<SourcePath> paths;
  for (const ArcPath& path : decompose_flow(arcs, orbit.source, demands, rounded)) {
    SourcePath& added = paths.emplace_back();
    added.target = path.target % graph.nodes;
    added.amount = path.amount;
    for (const int arc : path.arcs) {
      if (hops[at(arc)].edge >= 0) added.hops.push_back(hops[at(arc)]);
    }
  }
  return paths;
}

// Adds the images of paths from the orbit's first source; shares are multiples of 1 / parts.
void add_images(const EpochSetting& setting, const SourceOrbit& orbit,
                const std::vector<SourcePath>& paths, std::int64_t parts,
                std::vector<EpochPath>& result) {
  for (const Permutation& image : orbit.images) {
    const std::vector<int> edges = edge_images(setting.epochs.graph, image);
    for (const SourcePath& path : paths) {
      if (path.amount == 0) continue;
      EpochPath& moved = result.emplace_back();
      moved.source = image[at(orbit.source)];
      moved.target = image[at(path.target)];
      moved.share = Rational(path.amount, parts);
      for (const EpochHop& hop : path.hops) {
        moved.hops.push_back({edges[at(hop.edge)], hop.epoch});
      }
    }
  }
}

void sort_paths(std::vector<EpochPath>& paths) {
  std::sort(paths.begin(), paths.end(), [](const EpochPath& one, const EpochPath& other) {
    return std::tie(one.source, one.target, one.hops) <
           std::tie(other.source, other.target, other.hops);
  });
}

}  // namespace

std::vector<EpochPath> exact_epoch_paths(const EpochSetting& setting, const EpochProgram& program,
                                         int count, const std::vector<std::int64_t>& amounts,
                                         std::int64_t scale) {
  std::vector<EpochPath> result;
  const std::int64_t demand = scale * setting.chunks;
  for (const EpochColumns& columns : program.sources) {
    add_images(setting, columns.source,
               source_paths(setting, columns, count, amounts, demand, false), demand, result);
  }
  sort_paths(result);
  return result;
}

std::vector<EpochPath> rounded_epoch_paths(const EpochSetting& setting, const EpochProgram& program,
                                           int count, std::span<const double> values,
                                           std::int64_t parts) {
  constexpr std::int64_t kScale = std::int64_t{1} << 32;
  std::vector<std::int64_t> amounts;
  for (const double value : values) {
    amounts.push_back(std::llround(std::max(0.0, value) * static_cast<double>(kScale)));
  }
  // All that is delivered is scaled down to the demand, which leaves room in every capacity if it
  // is more.
  std::vector<EpochPath> result;
  for (const EpochColumns& columns : program.sources) {
    std::vector<SourcePath> paths =
        source_paths(setting, columns, count, amounts, amounts[0] * setting.chunks, true);
    std::map<int, std::int64_t> totals;  // by target
    for (const SourcePath& path : paths) totals[path.target] += path.amount;
    // Running sums are rounded, so that the shares of a target add up to 1.
    std::map<int, std::int64_t> before;
    for (SourcePath& path : paths) {
      const auto rounded_sum = [&](std::int64_t sum) {
        return std::llround(static_cast<double>(sum) * static_cast<double>(parts) /
                            static_cast<double>(totals[path.target]));
      };
      std::int64_t& sum = before[path.target];
      const std::int64_t amount = path.amount;
      path.amount = rounded_sum(sum + amount) - rounded_sum(sum);
      sum += amount;
    }
    add_images(setting, columns.source, paths, parts, result);
  }
  sort_paths(result);
  return result;
}

}  // namespace cclgym::synthesis
