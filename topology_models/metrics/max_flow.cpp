#include "topology_models/metrics/max_flow.hpp"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>

namespace cclgym {

namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;

struct EdgeState {
  std::int64_t capacity = 0;
  std::int64_t residual = 0;
  Traits::edge_descriptor reverse{};
};

struct VertexState {
  boost::default_color_type color{};
  long distance = 0;
  Traits::edge_descriptor predecessor{};
};

using Graph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, VertexState, EdgeState>;

}  // namespace

struct MaxFlow::Network {
  Graph graph;
  std::vector<Traits::edge_descriptor> edges;
  int source = 0;
};

MaxFlow::MaxFlow(int nodes) : network_(std::make_unique<Network>()) {
  network_->graph = Graph(static_cast<std::size_t>(nodes));
}

MaxFlow::~MaxFlow() = default;

int MaxFlow::add_edge(int u, int v) {
  Graph& graph = network_->graph;
  const auto from = static_cast<std::size_t>(u);
  const auto to = static_cast<std::size_t>(v);
  const auto there = boost::add_edge(from, to, graph).first;
  const auto back = boost::add_edge(to, from, graph).first;
  graph[there].reverse = back;
  graph[back].reverse = there;
  network_->edges.push_back(there);
  return static_cast<int>(network_->edges.size()) - 1;
}

void MaxFlow::set_capacity(int edge, std::int64_t forwards, std::int64_t backwards) {
  Graph& graph = network_->graph;
  const auto there = network_->edges[static_cast<std::size_t>(edge)];
  graph[there].capacity = forwards;
  graph[graph[there].reverse].capacity = backwards;
}

std::int64_t MaxFlow::solve(int source, int sink) {
  Graph& graph = network_->graph;
  network_->source = source;
  return boost::boykov_kolmogorov_max_flow(
      graph, boost::get(&EdgeState::capacity, graph), boost::get(&EdgeState::residual, graph),
      boost::get(&EdgeState::reverse, graph), boost::get(&VertexState::predecessor, graph),
      boost::get(&VertexState::color, graph), boost::get(&VertexState::distance, graph),
      boost::get(boost::vertex_index, graph), static_cast<std::size_t>(source),
      static_cast<std::size_t>(sink));
}

std::vector<bool> MaxFlow::source_side() const {
  const Graph& graph = network_->graph;
  std::vector<bool> side(boost::num_vertices(graph));
  std::vector<std::size_t> open{static_cast<std::size_t>(network_->source)};
  side[open.front()] = true;
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    for (const auto edge : boost::make_iterator_range(boost::out_edges(node, graph))) {
      const std::size_t next = boost::target(edge, graph);
      if (graph[edge].residual > 0 && !side[next]) {
        side[next] = true;
        open.push_back(next);
      }
    }
  }
  return side;
}

}  // namespace cclgym
