#include "synthesis/throughput/balance.hpp"

#include <algorithm>
#include <numeric>

#include "core/index.hpp"
#include "synthesis/throughput/product.hpp"

namespace cclgym::synthesis {

namespace {

std::int64_t sum_of(const std::vector<std::int64_t*>& shares) {
  std::int64_t sum = 0;
  for (const std::int64_t* share : shares) sum += *share;
  return sum;
}

}  // namespace

void scale_shares(const std::vector<std::int64_t*>& shares, std::int64_t total) {
  const std::int64_t sum = sum_of(shares);
  if (sum <= total) return;
  std::int64_t left = total;
  for (std::int64_t* share : shares) {
    *share = static_cast<std::int64_t>(Product{*share} * total / sum);
    left -= *share;
  }
  for (std::int64_t* share : shares) {
    if (left == 0) break;
    ++*share;
    --left;
  }
}

bool is_balanced(const FlowGraph& graph, const std::vector<int>& members) {
  std::vector<std::int64_t> surplus(at(graph.nodes), 0);
  for (const FlowEdge& edge : graph.edges) {
    surplus[at(edge.source)] -= edge.units;
    surplus[at(edge.target)] += edge.units;
  }
  for (const int member : members) surplus[at(member)] = 0;
  return std::all_of(surplus.begin(), surplus.end(), [](std::int64_t units) { return units == 0; });
}

BalancedGraph balance(const FlowGraph& graph, const std::vector<int>& members, bool finer) {
  BalancedGraph result{graph, 1};
  if (is_balanced(graph, members)) return result;
  // Parts of a unit, so that the shares of up to ten edges, and of many more, are whole.
  result.factor = finer ? 2520 : 1;
  std::vector<std::vector<std::int64_t*>> in(at(graph.nodes));
  std::vector<std::vector<std::int64_t*>> out(at(graph.nodes));
  for (FlowEdge& edge : result.graph.edges) {
    edge.units *= result.factor;
    out[at(edge.source)].push_back(&edge.units);
    in[at(edge.target)].push_back(&edge.units);
  }
  for (const int member : members) {
    in[at(member)].clear();
    out[at(member)].clear();
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t node = 0; node < in.size(); ++node) {
      const std::int64_t received = sum_of(in[node]);
      const std::int64_t sent = sum_of(out[node]);
      if (received == sent) continue;
      scale_shares(received > sent ? in[node] : out[node], std::min(received, sent));
      changed = true;
    }
  }
  std::int64_t common = result.factor;
  for (const FlowEdge& edge : result.graph.edges) common = std::gcd(common, edge.units);
  for (FlowEdge& edge : result.graph.edges) edge.units /= common;
  result.factor /= common;
  return result;
}

}  // namespace cclgym::synthesis
