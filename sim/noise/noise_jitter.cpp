#include "sim/noise/noise_jitter.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "core/index.hpp"
#include "sim/noise/noise.hpp"

namespace cclgym {

namespace {

// Link kind that decides the jitter of a route's messages.
LinkKind jitter_kind(const Fabric& fabric, std::span<const std::int32_t> route) {
  bool pcie = false;
  bool nvlink = false;
  for (const std::int32_t id : route) {
    if (at(id) >= fabric.links().size()) continue;  // a proxy or a connection
    const LinkKind kind = fabric.links()[at(id)].kind;
    if (kind == LinkKind::Network) return kind;
    pcie = pcie || kind == LinkKind::Pcie;
    nvlink = nvlink || kind == LinkKind::NvLink;
  }
  return pcie ? LinkKind::Pcie : nvlink ? LinkKind::NvLink : LinkKind::Generic;
}

// Jitter of the messages of each route.
std::vector<MessageJitter> jitter_of_routes(const TransferGraph& graph, const Fabric& fabric,
                                            const NoiseProfile& profile) {
  std::vector<MessageJitter> jitter;
  for (std::int32_t route = 0; route < graph.routes(); ++route) {
    const LinkKind kind = jitter_kind(fabric, graph.route_links(route));
    jitter.push_back(profile.jitter[static_cast<std::size_t>(kind)]);
  }
  return jitter;
}

// Draws the jitter of the message with this number.
double draw_jitter_s(const MessageJitter& jitter, const NoiseSeed& seed, std::uint64_t message) {
  Random random = call_stream(seed, NoiseDraw::MessageJitter, message);
  double late_s = lognormal(random, jitter.median_s, jitter.sigma);
  if (random.uniform() < jitter.tail_probability) {
    late_s += pareto(random, jitter.tail_least_s, jitter.tail_shape);
  }
  return late_s;
}

}  // namespace

void add_jitter(LoweredProgram& lowered, const Fabric& fabric, const NoiseProfile& profile,
                const NoiseSeed& seed) {
  const TransferGraph& graph = *lowered.graph;
  const std::vector<MessageJitter> jitter = jitter_of_routes(graph, fabric, profile);
  TransferGraph::Costs numbers = costs_of(graph);
  for (TransferId node = 0; node < graph.size(); ++node) {
    const std::int32_t route = graph.route_of(node);
    if (route < 0 || !jitter[at(route)].any()) continue;
    TransferId late = node;
    for (const TransferGraph::Edge& edge : graph.successors(node)) {
      if (lowered.origins[at(edge.target)].role == NodeRole::Arrival) late = edge.target;
    }
    const double delay_s = draw_jitter_s(jitter[at(route)], seed, static_cast<std::uint64_t>(node));
    numbers.latency_s[at(late)] += delay_s;
    lowered.costs.delays.push_back({late, delay_s});
  }
  std::ranges::stable_sort(lowered.costs.delays, {}, &NodeCosts::Delay::node);
  lowered.graph = std::make_shared<const TransferGraph>(graph.with_costs(std::move(numbers)));
}

std::unique_ptr<JitteredLatencies> JitteredLatencies::make(const LoweredProgram& lowered,
                                                           const Fabric& fabric,
                                                           const NoiseProfile& profile,
                                                           const NoiseSeed& seed) {
  const TransferGraph& graph = *lowered.graph;
  std::unique_ptr<JitteredLatencies> made(new JitteredLatencies(seed));
  made->jitter_ = jitter_of_routes(graph, fabric, profile);
  std::vector<std::pair<TransferId, Message>> late;  // by message: the node that it delays
  std::uint64_t first = 0;
  for (TransferId node = 0; node < graph.size(); ++node) {
    const std::int32_t firings = graph.repeat(node);
    const std::int32_t route = graph.route_of(node);
    if (route >= 0 && made->jitter_[at(route)].any()) {
      TransferId delayed = node;
      std::int32_t lag = 0;
      for (const TransferGraph::Edge& edge : graph.successors(node)) {
        if (lowered.origins[at(edge.target)].role != NodeRole::Arrival) continue;
        if (delayed != node || edge.lag < 0 || edge.lag == TransferGraph::kFirstOnly ||
            firings + edge.lag > graph.repeat(edge.target)) {
          return nullptr;
        }
        delayed = edge.target;
        lag = edge.lag;
      }
      late.push_back({delayed, {first, lag, firings, route}});
    }
    first += static_cast<std::uint64_t>(firings);
  }
  // The messages of a node stay in ascending order, in which add_jitter() adds their delays.
  std::ranges::stable_sort(late, {}, &std::pair<TransferId, Message>::first);
  made->begin_.assign(at(graph.size()) + 1, 0);
  for (const auto& [node, message] : late) {
    ++made->begin_[at(node) + 1];
    made->messages_.push_back(message);
  }
  std::partial_sum(made->begin_.begin(), made->begin_.end(), made->begin_.begin());
  return made;
}

double JitteredLatencies::latency_s(const OneFiring& firing, double own_s) const {
  for (std::size_t i = begin_[at(firing.node)]; i < begin_[at(firing.node) + 1]; ++i) {
    const Message& message = messages_[i];
    const std::int32_t number = firing.number - message.lag;
    if (number < 0 || number >= message.firings) continue;
    own_s += draw_jitter_s(jitter_[at(message.jitter)], seed_,
                           message.first + static_cast<std::uint64_t>(number));
  }
  return own_s;
}

}  // namespace cclgym
