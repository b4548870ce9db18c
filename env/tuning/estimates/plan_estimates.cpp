#include "env/tuning/estimates/plan_estimates.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/index.hpp"
#include "env/tuning/workload/workload.hpp"
#include "sim/prices/transfer_cost.hpp"

namespace cclgym {

namespace {

// Time of a node if nothing shares its links.
double own_time_s(const TransferGraph& graph, TransferId id) {
  const std::int32_t route = graph.route_of(id);
  if (route < 0 || graph.bytes(id) <= 0) return graph.latency_s(id);
  double rate_Bps = graph.rate_cap_Bps(id);
  for (const std::int32_t link : graph.route_links(route)) {
    rate_Bps = std::min(rate_Bps, graph.link_capacities_Bps()[at(link)]);
  }
  return graph.latency_s(id) + graph.bytes(id) / rate_Bps;
}

struct Chain {
  double time_s = 0;
  int proxied = 0;  ///< its messages that pass proxies
};

// Longest chain of nodes. Links from number `fabric_links` on are proxies.
Chain longest_chain(const LoweredProgram& lowered) {
  const TransferGraph& graph = *lowered.graph;
  const auto size = static_cast<std::size_t>(graph.size());
  std::vector<int> waits(size, 0);
  const auto counts = [](std::int32_t lag) { return lag <= 0 || lag == TransferGraph::kFirstOnly; };
  for (TransferId id = 0; id < graph.size(); ++id) {
    for (const TransferGraph::Edge& edge : graph.successors(id)) {
      if (counts(edge.lag)) ++waits[at(edge.target)];
    }
  }
  std::vector<TransferId> ready;
  for (TransferId id = 0; id < graph.size(); ++id) {
    if (waits[at(id)] == 0) ready.push_back(id);
  }
  std::vector<Chain> before(size);
  Chain longest;
  while (!ready.empty()) {
    const TransferId id = ready.back();
    ready.pop_back();
    Chain own = before[at(id)];
    own.time_s += own_time_s(graph, id) * graph.repeat(id);
    if (graph.route_of(id) >= 0) {
      const auto links = graph.route_links(graph.route_of(id));
      const bool passes = std::ranges::any_of(
          links, [&](std::int32_t link) { return at(link) >= lowered.fabric_links; });
      own.proxied += passes ? graph.repeat(id) : 0;
    }
    if (own.time_s > longest.time_s) longest = own;
    for (const TransferGraph::Edge& edge : graph.successors(id)) {
      if (!counts(edge.lag)) continue;
      if (own.time_s > before[at(edge.target)].time_s) before[at(edge.target)] = own;
      if (--waits[at(edge.target)] == 0) ready.push_back(edge.target);
    }
  }
  return longest;
}

// Time of each thread block's nodes, by rank and thread block. A message keeps its sender busy at
// the rate of the thread blocks at its ends.
std::map<std::pair<int, int>, double> block_times_s(const LoweredProgram& lowered) {
  const TransferGraph& graph = *lowered.graph;
  std::map<std::pair<int, int>, double> times_s;
  for (TransferId id = 0; id < graph.size(); ++id) {
    const NodeOrigin& origin = lowered.origins[at(id)];
    if (origin.rank < 0 || origin.thread_block < 0) continue;
    const Work work = lowered.costs.of(id).work;
    double time_s = 0;
    if (work == Work::Transfer || work == Work::SwitchedTransfer) {
      time_s = graph.bytes(id) / graph.rate_cap_Bps(id);
    } else if (work == Work::Local) {
      time_s = graph.latency_s(id);
    }
    times_s[{origin.rank, origin.thread_block}] += time_s * graph.repeat(id);
  }
  return times_s;
}

double largest(const std::map<std::pair<int, int>, double>& times_s) {
  double most_s = 0;
  for (const auto& [block, time_s] : times_s) most_s = std::max(most_s, time_s);
  return most_s;
}

}  // namespace

double PlanEstimate::time_s(double bytes, const CostModel& model, Protocol protocol) const {
  const double one_tile = std::min(bytes, tile_bytes);
  double time_s = start_s + s_per_B * bytes + (path_s_per_B - s_per_B) * one_tile;
  if (proxied > 0 && queued > 0) {
    const double payload_bytes = one_tile * message_share;
    const double wire_bytes =
        payload_bytes / model.protocols[static_cast<std::size_t>(protocol)].efficiency;
    time_s += proxied * queued * wire_bytes / proxy_capacity_Bps(model, protocol, payload_bytes);
  }
  return time_s;
}

PlanEstimates::PlanEstimates(std::shared_ptr<const CallSite> site)
    : site_(std::move(site)), simulators_(site_->fabrics.size()) {}

std::optional<PlanEstimate> PlanEstimates::estimate(CollectiveKind collective,
                                                    const PlainConfig& config, PlanLoads& loads) {
  const Base& one = base(collective, config);
  const PlanLoad& load = loads.load(collective, config);
  if (!one.runs || !load.known()) return std::nullopt;
  const CostModel& model = site_->cost_model;
  const int copies = std::max(1, config.channels * config.instances / one.channels);
  PlanEstimate plan;
  plan.start_s = one.start_s + launch_cost_s(model, one.runtime, one.channels * copies,
                                             one.thread_blocks * copies);
  plan.s_per_B = std::max(load.s_per_B * one.wire_share, one.block_s_per_B / copies);
  plan.path_s_per_B = std::max(plan.s_per_B, one.path_s_per_B / copies);
  const Config full = full_config(site_->algorithms, config);
  if (full.tile_bytes > 0 && one.proxy_share > 0) {
    const double rate_Bps =
        proxy_capacity_Bps(model, config.protocol, static_cast<double>(full.tile_bytes));
    plan.s_per_B = std::max(plan.s_per_B, one.proxy_share / rate_Bps);
  }
  plan.proxied = one.proxied;
  plan.queued = copies - 1;
  plan.message_share = one.message_share / copies;
  plan.tile_bytes = full.tile_bytes == 0
                        ? std::numeric_limits<double>::infinity()
                        : static_cast<double>(full.tile_bytes) / plan.message_share;
  return plan;
}

const PlanEstimates::Base& PlanEstimates::base(CollectiveKind collective,
                                               const PlainConfig& config) {
  const auto [known, is_new] = bases_.try_emplace(
      {collective, int{config.program}, int{config.binding}, config.protocol, int{config.threads}});
  if (is_new) known->second = measure(collective, config);
  return known->second;
}

PlanEstimates::Base PlanEstimates::measure(CollectiveKind collective, const PlainConfig& config) {
  const std::shared_ptr<const Fabric>& fabric = site_->fabrics[config.binding];
  std::unique_ptr<Simulator>& simulator = simulators_[config.binding];
  if (!simulator) {
    simulator = std::make_unique<Simulator>(fabric, site_->cost_model, "flow", site_->algorithms);
  }
  Config plain = full_config(site_->algorithms, config);
  const AlgorithmEntry& entry = site_->algorithms.entries()[config.program];
  plain.channels = entry.program ? static_cast<int>(entry.program->channels) : 1;
  plain.instances = 1;
  plain.tile_bytes = 0;
  plain.slots = 0;
  const auto call_of = [&](std::uint64_t bytes) {
    return Call{.collective = collective,
                .bytes = fitting_bytes(collective, bytes, fabric->ranks())};
  };
  Base base;
  base.channels = plain.channels;
  try {
    const Call small = call_of(1);
    const Call large = call_of(std::uint64_t{1} << 26U);
    const LoweredProgram first = simulator->lowered(small, plain);
    const LoweredProgram second = simulator->lowered(large, plain);
    base.runtime = second.outline->traits.runtime;
    const TransferGraph& graph = *second.graph;
    std::map<int, std::set<int>> blocks;
    double message_bytes = 0;
    std::map<std::int32_t, double> proxy_bytes;
    for (TransferId id = 0; id < graph.size(); ++id) {
      const NodeOrigin& origin = second.origins[at(id)];
      if (origin.rank < 0 || origin.thread_block < 0) continue;
      blocks[origin.rank].insert(origin.thread_block);
      if (graph.route_of(id) < 0) continue;
      message_bytes = std::max(message_bytes, graph.bytes(id));
      for (const std::int32_t link : graph.route_links(graph.route_of(id))) {
        if (at(link) >= second.fabric_links) {
          proxy_bytes[link] += graph.bytes(id) * graph.repeat(id);
        }
      }
    }
    for (const auto& [rank, numbers] : blocks) {
      base.thread_blocks = std::max(base.thread_blocks, static_cast<int>(numbers.size()));
    }
    const auto more_bytes = static_cast<double>(large.bytes - small.bytes);
    const Chain chain = longest_chain(first);
    base.proxied = chain.proxied;
    base.start_s = chain.time_s - launch_cost_s(site_->cost_model, base.runtime, base.channels,
                                                base.thread_blocks);
    base.path_s_per_B = (longest_chain(second).time_s - chain.time_s) / more_bytes;
    base.block_s_per_B =
        (largest(block_times_s(second)) - largest(block_times_s(first))) / more_bytes;
    base.wire_share =
        1 / site_->cost_model.protocols[static_cast<std::size_t>(plain.protocol)].efficiency;
    base.message_share = message_bytes / base.wire_share / static_cast<double>(large.bytes);
    for (const auto& [link, bytes] : proxy_bytes) {
      base.proxy_share = std::max(base.proxy_share, bytes / static_cast<double>(large.bytes));
    }
    base.runs = message_bytes > 0;
  } catch (const UserError&) {
    return {};
  }
  return base;
}

}  // namespace cclgym
