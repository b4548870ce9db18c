#include "sim/noise/noise.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/index.hpp"
#include "sim/engine/firing_run.hpp"
#include "sim/noise/noise_background.hpp"
#include "sim/noise/noise_jitter.hpp"
#include "sim/noise/noise_load.hpp"
#include "sim/prices/price.hpp"

namespace cclgym {

namespace {

std::shared_ptr<const TransferGraph> with_numbers(const TransferGraph& graph,
                                                  TransferGraph::Costs numbers) {
  return std::make_shared<const TransferGraph>(graph.with_costs(std::move(numbers)));
}

void degrade_links(TransferGraph::Costs& numbers, const Fabric& fabric, const NoiseProfile& profile,
                   const NoiseSeed& seed) {
  for (std::size_t id = 0; id < fabric.links().size(); ++id) {
    const Link& link = fabric.links()[id];
    const DegradedLinks& degraded = profile.degraded[static_cast<std::size_t>(link.kind)];
    if (!degraded.any()) continue;
    const auto [low, high] = std::minmax(link.source, link.target);
    Random random = machine_stream(seed, NoiseDraw::DegradedLink, static_cast<std::uint64_t>(low),
                                   static_cast<std::uint64_t>(high));
    if (random.uniform() < degraded.probability) numbers.capacity_Bps[id] *= degraded.capacity;
  }
}

void slow_down_nics(TransferGraph::Costs& numbers, const Fabric& fabric, const SlowNics& slow) {
  // Number of each NIC within its node.
  std::vector<int> next(at(fabric.servers()), 0);
  std::vector<bool> is_slow;
  for (const Node& node : fabric.nodes()) {
    bool named = false;
    if (node.kind == NodeKind::Nic && node.server >= 0) {
      const int number = next[at(node.server)]++;
      named =
          std::ranges::find(slow.nics, number) != slow.nics.end() &&
          (slow.nodes.empty() || std::ranges::find(slow.nodes, node.server) != slow.nodes.end());
    }
    is_slow.push_back(named);
  }
  for (std::size_t id = 0; id < fabric.links().size(); ++id) {
    const Link& link = fabric.links()[id];
    if (link.kind != LinkKind::Network) continue;
    if (is_slow[at(link.source)] || is_slow[at(link.target)]) {
      numbers.capacity_Bps[id] *= slow.capacity;
    }
  }
}

// Remaining share of its rates, for each rank's GPU.
std::vector<double> rates_of(const Fabric& fabric, const SlowGpus& slow, const NoiseSeed& seed) {
  std::vector<double> rates;
  for (int rank = 0; rank < fabric.ranks(); ++rank) {
    Random random = machine_stream(seed, NoiseDraw::SlowGpu, static_cast<std::uint64_t>(rank));
    const bool named = std::find(slow.ranks.begin(), slow.ranks.end(), rank) != slow.ranks.end();
    rates.push_back(slow.all * (random.uniform() < slow.probability || named ? slow.rate : 1.0));
  }
  return rates;
}

// Edits the cost records of the nodes at slow GPUs, and reprices these nodes. A node whose price
// does not depend on GPU rates keeps its record.
class SlowDown {
 public:
  SlowDown(NodeCosts& costs, const Fabric& fabric, const CostModel& model)
      : costs_(costs), fabric_(fabric), model_(model), prices_(prices_of(model, fabric, costs)) {}

  void apply(const LoweredProgram& lowered, const std::vector<double>& rates,
             TransferGraph::Costs& numbers) {
    for (TransferId node = 0; node < lowered.graph->size(); ++node) {
      const NodeOrigin& origin = lowered.origins[at(node)];
      if (origin.role != NodeRole::Step && origin.role != NodeRole::Head) continue;
      double rate = rates[at(origin.rank)];
      if (origin.peer_rank >= 0) rate = std::min(rate, rates[at(origin.peer_rank)]);
      if (rate == 1) continue;
      std::int32_t& record = costs_.record_of[at(node)];
      const std::int32_t slowed = slowed_record(record, rate);
      if (slowed == record) continue;
      record = slowed;
      numbers.latency_s[at(node)] = prices_[at(slowed)].latency_s;
      numbers.rate_cap_Bps[at(node)] = prices_[at(slowed)].rate_cap_Bps;
    }
  }

 private:
  std::int32_t slowed_record(std::int32_t record, double rate) {
    const auto [known, fresh] = slowed_.try_emplace({record, rate}, record);
    if (!fresh) return known->second;
    NodeCost cost = costs_.records[at(record)];
    cost.gpu_rate = rate;
    const Price slowed = price(model_, fabric_, costs_.terms, costs_.routes, cost);
    if (slowed == prices_[at(record)]) return record;
    known->second = static_cast<std::int32_t>(costs_.records.size());
    costs_.records.push_back(cost);
    prices_.push_back(slowed);
    return known->second;
  }

  NodeCosts& costs_;
  const Fabric& fabric_;
  const CostModel& model_;
  std::vector<Price> prices_;  // by record
  std::map<std::pair<std::int32_t, double>, std::int32_t> slowed_;
};

std::vector<bool> used_links(const TransferGraph& graph, std::size_t links) {
  std::vector<bool> used(links, false);
  for (std::int32_t route = 0; route < graph.routes(); ++route) {
    for (const std::int32_t link : graph.route_links(route)) used[at(link)] = true;
  }
  return used;
}

bool any_degraded(const NoiseProfile& profile) {
  return std::any_of(profile.degraded.begin(), profile.degraded.end(),
                     [](const DegradedLinks& one) { return one.any(); });
}

// Applies the noise that does not change during a call.
void add_stragglers(LoweredProgram& lowered, const Fabric& fabric, const CostModel& model,
                    const NoiseProfile& profile, const NoiseSeed& seed) {
  if (!any_degraded(profile) && !profile.slow_gpus.any() && !profile.slow_nics.any()) return;
  TransferGraph::Costs numbers = costs_of(*lowered.graph);
  degrade_links(numbers, fabric, profile, seed);
  if (profile.slow_nics.any()) slow_down_nics(numbers, fabric, profile.slow_nics);
  if (profile.slow_gpus.any()) {
    SlowDown(lowered.costs, fabric, model)
        .apply(lowered, rates_of(fabric, profile.slow_gpus, seed), numbers);
  }
  lowered.graph = with_numbers(*lowered.graph, std::move(numbers));
}

// Load on the links that a graph uses; null if there is none.
std::unique_ptr<CapacityProcess> load_of(const TransferGraph& graph, const Fabric& fabric,
                                         const NoiseProfile& profile, const NoiseSeed& seed) {
  if (!profile.any_load()) return nullptr;
  const auto now_Bps = graph.link_capacities_Bps();
  auto load = std::make_unique<LoadProcess>(fabric, profile, now_Bps,
                                            used_links(graph, now_Bps.size()), seed);
  return load->any() ? std::move(load) : nullptr;
}

// Sets latencies by firing and capacities if FiringRun can run the folded graph. Without load, a
// run may need no events at all (FixedRates), and a background has nodes of its own.
bool keep_folded(NoisyProgram& noisy, const Fabric& fabric, const NoiseProfile& profile,
                 const NoiseSeed& seed) {
  const TransferGraph& graph = *noisy.lowered.graph;
  if (profile.background.any() || !FiringRun::possible(graph)) return false;
  require_unfoldable(graph);
  std::unique_ptr<CapacityProcess> load = load_of(graph, fabric, profile, seed);
  if (!load) return false;
  noisy.latencies = JitteredLatencies::make(noisy.lowered, fabric, profile, seed);
  if (!noisy.latencies) return false;
  noisy.capacities = std::move(load);
  return true;
}

}  // namespace

TransferGraph::Costs costs_of(const TransferGraph& graph) {
  TransferGraph::Costs numbers;
  const std::size_t nodes = at(graph.size());
  numbers.bytes.reserve(nodes);
  numbers.latency_s.reserve(nodes);
  numbers.rate_cap_Bps.reserve(nodes);
  numbers.repeat.reserve(nodes);
  for (TransferId node = 0; node < graph.size(); ++node) {
    numbers.bytes.push_back(graph.bytes(node));
    numbers.latency_s.push_back(graph.latency_s(node));
    numbers.rate_cap_Bps.push_back(graph.rate_cap_Bps(node));
    numbers.repeat.push_back(graph.repeat(node));
  }
  const auto capacities = graph.link_capacities_Bps();
  numbers.capacity_Bps.assign(capacities.begin(), capacities.end());
  return numbers;
}

NoisyProgram apply_noise(LoweredProgram lowered, const Fabric& given, const CostModel& model,
                         const NoiseProfile& profile, const NoiseSeed& seed, JitterForm form) {
  NoisyProgram noisy;
  noisy.lowered = std::move(lowered);
  const std::shared_ptr<const Fabric> bound = noisy.lowered.fabric;
  const Fabric& fabric = bound ? *bound : given;
  add_stragglers(noisy.lowered, fabric, model, profile, seed);
  noisy.graph = noisy.lowered.graph;
  noisy.rank_last = noisy.lowered.rank_last;
  if (profile.any_jitter()) {
    noisy.unfolded = noisy.lowered.graph->folded();
    if (noisy.unfolded && form == JitterForm::Folded && keep_folded(noisy, fabric, profile, seed)) {
      return noisy;
    }
    if (noisy.unfolded) {
      LoweredProgram each = unfolded(noisy.lowered);
      add_jitter(each, fabric, profile, seed);
      noisy.graph = std::move(each.graph);
      noisy.rank_last = std::move(each.rank_last);
    } else {
      add_jitter(noisy.lowered, fabric, profile, seed);
      noisy.graph = noisy.lowered.graph;
    }
  }
  if (profile.background.any()) {
    const TransferGraph others =
        background_graph(given, profile.background, noisy.graph->link_capacities_Bps(), seed);
    if (others.size() > 0) {
      noisy.graph = std::make_shared<TransferGraph>(noisy.graph->with_background(others));
    }
  }
  noisy.capacities = load_of(*noisy.graph, fabric, profile, seed);
  return noisy;
}

}  // namespace cclgym
