#include "sim/noise/noise_background.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace cclgym {

namespace {

// Ranks by node of the fabric, without nodes that have no ranks.
std::vector<std::vector<int>> ranks_of_servers(const Fabric& fabric) {
  std::vector<std::vector<int>> ranks(static_cast<std::size_t>(std::max(1, fabric.servers())));
  for (int rank = 0; rank < fabric.ranks(); ++rank) {
    ranks[static_cast<std::size_t>(fabric.server_of(rank))].push_back(rank);
  }
  std::erase_if(ranks, [](const std::vector<int>& of_server) { return of_server.empty(); });
  return ranks;
}

std::vector<std::int32_t> network_links(const Fabric& fabric, int source, int target) {
  std::vector<std::int32_t> links;
  for (const LinkId id : fabric.route(source, target, 0)) {
    if (fabric.links()[static_cast<std::size_t>(id)].kind == LinkKind::Network) links.push_back(id);
  }
  return links;
}

// One rank from each of some nodes, in random order.
std::vector<int> random_ring(const std::vector<std::vector<int>>& servers, std::size_t size,
                             Random& random) {
  const auto below = [&random](std::size_t first, std::size_t end) {
    return static_cast<std::size_t>(
        random.integer(static_cast<std::int64_t>(first), static_cast<std::int64_t>(end) - 1));
  };
  std::vector<std::size_t> order(servers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<int> ring;
  for (std::size_t i = 0; i < size; ++i) {
    std::swap(order[i], order[below(i, order.size())]);
    const std::vector<int>& ranks = servers[order[i]];
    ring.push_back(ranks[below(0, ranks.size())]);
  }
  return ring;
}

void add_job(TransferGraph& graph, const Fabric& fabric, const std::vector<int>& ring,
             const BackgroundJobs& jobs, std::span<const double> capacities_Bps, Random& random) {
  const auto bytes = static_cast<double>(jobs.bytes);
  std::vector<std::int32_t> routes;
  double round_s = 0;  // time if no other job shares the links
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const auto links = network_links(fabric, ring[i], ring[(i + 1) % ring.size()]);
    if (links.empty()) continue;
    routes.push_back(graph.add_route(links));
    for (const std::int32_t link : links) {
      round_s = std::max(round_s, bytes / capacities_Bps[static_cast<std::size_t>(link)]);
    }
  }
  if (routes.empty()) return;
  // A pause of no time would be a node that fires for ever at one date.
  constexpr double kLeastPause_s = 1e-9;
  const double pause_s = std::max(random.exponential(jobs.pause_s), kLeastPause_s);
  // The call begins at a random moment of the job's period, left_s before the end of the pause
  // after a round.
  const double left_s = random.uniform(0, pause_s + round_s);
  const TransferId begin = graph.add_delay(std::min(left_s, pause_s));
  const TransferId pause = graph.add_delay(pause_s, TransferGraph::kForever);
  for (const std::int32_t route : routes) {
    if (left_s > pause_s) {
      const double rest = bytes * (left_s - pause_s) / round_s;
      graph.add_edge(graph.add_flow(route, rest, 0), begin);
    }
    const TransferId flow = graph.add_flow(route, bytes, 0, kNoRateCap, TransferGraph::kForever);
    graph.add_edge(begin, flow, TransferGraph::kFirstOnly);
    graph.add_edge(flow, pause);
    graph.add_edge(pause, flow, 1);
  }
}

}  // namespace

TransferGraph background_graph(const Fabric& fabric, const BackgroundJobs& jobs,
                               std::span<const double> capacities_Bps, const NoiseSeed& seed) {
  TransferGraph graph;
  graph.set_link_capacities({capacities_Bps.begin(), capacities_Bps.end()});
  const std::vector<std::vector<int>> servers = ranks_of_servers(fabric);
  const auto size = std::min(static_cast<std::size_t>(jobs.servers), servers.size());
  for (int job = 0; job < jobs.jobs && size > 1; ++job) {
    Random random = call_stream(seed, NoiseDraw::Background, static_cast<std::uint64_t>(job));
    const std::vector<int> ring = random_ring(servers, size, random);
    add_job(graph, fabric, ring, jobs, capacities_Bps, random);
  }
  graph.finish();
  return graph;
}

}  // namespace cclgym
