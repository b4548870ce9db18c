#include "workloads/timing/call_flows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <tuple>

#include "core/hash.hpp"
#include "sim/graph/class_graph.hpp"
#include "sim/lowering/transfer_cost.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kCachedTimes = 1024;

using ConnectionKey = std::tuple<std::int32_t, std::int32_t, std::int32_t>;

// Wire bytes of each connection, and of each link of the fabric.
struct Traffic {
  std::map<ConnectionKey, double> connections;
  std::vector<double> link_bytes;
  std::vector<int> link_connections;
  std::vector<double> link_cap_Bps;  ///< rate cap of its fastest message
  bool switched = false;             ///< switches copy or add
  double memory_bytes = 0;           ///< through the memories of all ranks
};

Traffic traffic_of(const LoweredProgram& lowered) {
  Traffic traffic;
  const TransferGraph& graph = *lowered.graph;
  traffic.link_bytes.resize(lowered.fabric_links);
  traffic.link_connections.resize(lowered.fabric_links);
  traffic.link_cap_Bps.resize(lowered.fabric_links);
  for (TransferId node = 0; node < graph.size(); ++node) {
    if (graph.route_of(node) < 0 || graph.bytes(node) <= 0) continue;
    const NodeOrigin& origin = lowered.origins[at(node)];
    const double bytes = graph.bytes(node) * graph.repeat(node);
    const std::int32_t channel = lowered.outline->block(origin.rank, origin.thread_block).channel;
    const auto [known, fresh] = traffic.connections.try_emplace(
        ConnectionKey{origin.rank, std::max(0, origin.peer_rank), channel}, 0.0);
    known->second += bytes;
    traffic.memory_bytes += 2 * bytes;
    traffic.switched = traffic.switched || lowered.costs.of(node).work == Work::SwitchedTransfer;
    for (const std::int32_t link : graph.route_links(graph.route_of(node))) {
      if (at(link) >= lowered.fabric_links) continue;
      traffic.link_bytes[at(link)] += bytes;
      double& cap_Bps = traffic.link_cap_Bps[at(link)];
      cap_Bps = std::max(cap_Bps, graph.rate_cap_Bps(node));
      if (fresh) ++traffic.link_connections[at(link)];
    }
  }
  return traffic;
}

// Time of a program that is too large to be compiled, from the classes of its nodes; nullopt if it
// has none, as on adaptive routes.
std::optional<double> time_of_classes(const LoweredProgram& lowered) {
  if (lowered.tiles > 1) return std::nullopt;
  const TransferGraph& graph = *lowered.graph;
  std::vector<std::uint64_t> costs;
  for (TransferId node = 0; node < graph.size(); ++node) {
    std::uint64_t cost = mix_hash(std::bit_cast<std::uint64_t>(graph.bytes(node)),
                                  std::bit_cast<std::uint64_t>(graph.latency_s(node)));
    cost = mix_hash(cost, std::bit_cast<std::uint64_t>(graph.rate_cap_Bps(node)));
    costs.push_back(cost);
  }
  const std::optional<GraphSymmetry> symmetry = find_symmetry(graph, costs);
  if (!symmetry) return std::nullopt;
  const auto engine = make_engine("flow");
  engine->load(class_graph(graph, *symmetry));
  return engine->run().makespan_s;
}

}  // namespace

std::int32_t sms_of(const ProgramOutline& outline, const CostModel& model, const Config& config,
                    int rank) {
  const int resident = model.resident_thread_blocks(config.threads);
  if (model.hockney || resident <= 0) return 0;
  std::vector<std::int32_t> by_kernel(static_cast<std::size_t>(outline.kernels()), 0);
  for (std::uint32_t b = outline.first_block(rank); b < outline.first_block(rank + 1); ++b) {
    ++by_kernel[at(outline.blocks[b].kernel)];
  }
  const std::int64_t blocks =
      std::int64_t{*std::max_element(by_kernel.begin(), by_kernel.end())} * outline.alike_channels;
  return static_cast<std::int32_t>((blocks * model.max_thread_blocks + resident - 1) / resident);
}

std::vector<CallLoad> rounded_loads(const std::map<std::int32_t, double>& units) {
  std::vector<CallLoad> loads;
  for (const auto& [link, load] : units) {
    const auto rounded = static_cast<std::int32_t>(std::lround(load));
    if (rounded > 0) loads.push_back({link, rounded});
  }
  return loads;
}

double CallFlows::time_s(const ConfiguredCall& planned, std::uint64_t bytes) {
  Simulator& simulator = *planned.view->simulator;
  Call sized = planned.call;
  sized.bytes = bytes;
  if (simulator.compiled(sized, planned.config) == nullptr) {
    if (const auto time = time_of_classes(simulator.lowered(sized, planned.config))) {
      ++simulations_;
      return *time;
    }
  }
  const AlgorithmLibrary& library = planned.view->simulator->algorithms();
  Timer& known = timers_[planned.view];
  if (!known.timer || known.algorithms != library.entries().size()) {
    auto site = std::make_shared<CallSite>();
    site->fabrics = {planned.view->fabric};
    site->cost_model = planned.view->simulator->cost_model();
    site->algorithms = library;
    known.algorithms = library.entries().size();
    known.timer =
        std::make_unique<CallTimer>(std::move(site), kCachedTimes, CallTimer::Timing::Symmetric);
  }
  ++simulations_;
  return known.timer->time(sized, plain_config(library, planned.config)).time_s;
}

CallFlow CallFlows::make(const ConfiguredCall& planned) {
  Simulator& simulator = *planned.view->simulator;
  CallFlow flow;
  flow.time_s = flow.latency_s = time_s(planned, planned.call.bytes);
  const LoweredProgram lowered = simulator.lowered(planned.call, planned.config);
  for (int rank = 0; rank < planned.view->fabric->ranks(); ++rank) {
    flow.sms =
        std::max(flow.sms, sms_of(*lowered.outline, simulator.cost_model(), planned.config, rank));
  }
  flow.nic = lowered.outline->traits.nic;
  const Traffic traffic = traffic_of(lowered);
  const auto capacities = lowered.graph->link_capacities_Bps();
  std::size_t busiest = 0;
  for (std::size_t link = 0; link < traffic.link_bytes.size(); ++link) {
    if (traffic.link_bytes[link] / capacities[link] >
        traffic.link_bytes[busiest] / capacities[busiest]) {
      busiest = link;
    }
  }
  const double busy_s =
      traffic.link_bytes.empty() ? 0 : traffic.link_bytes[busiest] / capacities[busiest];
  if (busy_s <= 0) {  // switches or copies do everything
    flow.latency_s = flow.time_s;
    return flow;
  }
  flow.bytes = traffic.link_bytes[busiest] /
               (traffic.link_connections[busiest] * lowered.outline->alike_channels);
  for (const auto& [key, bytes] : traffic.connections) {
    flow.connections.push_back(
        {std::get<0>(key), std::get<1>(key), std::get<2>(key), bytes / flow.bytes});
  }
  flow.memory_load = static_cast<std::int32_t>(
      std::ceil(traffic.memory_bytes / planned.view->fabric->ranks() / flow.bytes - 1e-9));
  flow.switched = traffic.switched;
  if (flow.switched) {
    for (std::size_t link = 0; link < traffic.link_bytes.size(); ++link) {
      if (traffic.link_bytes[link] > 0) {
        flow.own_units[static_cast<std::int32_t>(link)] = traffic.link_bytes[link] / flow.bytes;
      }
    }
  }
  // The messages move in bursts, at the rate of their thread blocks or of the busiest link.
  double moving_s = flow.bytes * lowered.outline->alike_channels / traffic.link_cap_Bps[busiest];
  for (const CallLoad& load : loads_on(planned, flow)) {
    moving_s = std::max(moving_s, load.load * flow.bytes / capacities[at(load.link)]);
  }
  if (moving_s > flow.time_s) {  // by rounding, or because the links are not all used at once
    flow.bytes *= flow.time_s / moving_s;
    moving_s = flow.time_s;
  }
  flow.latency_s = flow.time_s - moving_s;
  flow.rate_cap_Bps = flow.bytes / moving_s;
  return flow;
}

std::vector<CallLoad> CallFlows::loads_on(const ConfiguredCall& planned, const CallFlow& flow) {
  if (flow.switched) return rounded_loads(flow.own_units);
  const Fabric& fabric = *planned.view->simulator->fabric_for(flow.nic);
  std::map<std::int32_t, double> units;
  for (const CallFlow::Connection& connection : flow.connections) {
    for (const LinkId link :
         fabric.route(connection.source, connection.target, connection.channel)) {
      units[link] += connection.units;
    }
  }
  return rounded_loads(units);
}

const CallFlow& CallFlows::of(const ConfiguredCall& planned) {
  const auto known = flows_.find(&planned);
  if (known != flows_.end()) return known->second;
  return flows_.emplace(&planned, make(planned)).first->second;
}

const std::vector<CallLoad>& CallFlows::loads(const ConfiguredCall& planned) {
  const auto known = loads_.find(&planned);
  if (known != loads_.end()) return known->second;
  return loads_.emplace(&planned, loads_on(planned, of(planned))).first->second;
}

}  // namespace cclgym
