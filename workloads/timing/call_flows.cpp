#include "workloads/timing/call_flows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <tuple>

#include "core/hash.hpp"
#include "sim/graph/class_graph.hpp"
#include "sim/prices/transfer_cost.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kCachedTimes = 1024;

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

double CallFlows::time_s(const ConfiguredCall& planned) {
  Simulator& simulator = *planned.view->simulator;
  const AlgorithmLibrary& library = simulator.algorithms();
  Timer& known = timers_[planned.view];
  if (!known.timer || known.algorithms != library.entries().size()) {
    auto site = std::make_shared<CallSite>();
    site->fabrics = {planned.view->fabric};
    site->cost_model = simulator.cost_model();
    site->algorithms = library;
    known.algorithms = library.entries().size();
    known.timer =
        std::make_unique<CallTimer>(std::move(site), kCachedTimes, CallTimer::Timing::Symmetric);
  }
  return known.timer->time(planned.call, plain_config(library, planned.config)).time_s;
}

const ProgramCut& CallFlows::cut_of(std::shared_ptr<const ThreadBlockProgram> program) {
  const auto [known, fresh] = cuts_.try_emplace(program.get());
  if (fresh) known->second = {program, program_cut(*program)};
  return known->second.cut;
}

CallFlows::Shape CallFlows::shape_of_lowered(const ConfiguredCall& planned,
                                             const LoweredProgram& lowered) {
  const CostModel& model = planned.view->simulator->cost_model();
  Shape shape;
  shape.traffic = std::make_shared<const CallTraffic>(lowered, model);
  shape.nic = lowered.outline->traits.nic;
  for (int rank = 0; rank < planned.view->fabric->ranks(); ++rank) {
    shape.sms = std::max(shape.sms, sms_of(*lowered.outline, model, planned.config, rank));
  }
  return shape;
}

CallFlows::Known CallFlows::make(const ConfiguredCall& planned) {
  ++simulations_;
  if (on_call_) on_call_(planned);
  Simulator& simulator = *planned.view->simulator;
  const Config& config = planned.config;
  if (const auto program = simulator.compiled(planned.call, config)) {
    const ProgramCut& cut = cut_of(program);
    const auto [shape, fresh] = shapes_.try_emplace(
        {program.get(), planned.view, config.protocol, config.threads, config.tile_bytes,
         config.slots, graph_shape(cut, simulator.cost_model(), planned.call, config)});
    if (fresh) {
      shape->second = shape_of_lowered(planned, simulator.lowered(planned.call, config));
    }
    return with_loads(planned, shape->second, time_s(planned),
                      shape->second.traffic->bytes(cut, planned.call, config));
  }
  const LoweredProgram lowered = simulator.lowered(planned.call, config);
  const Shape shape = shape_of_lowered(planned, lowered);
  const std::optional<double> of_classes = time_of_classes(lowered);
  return with_loads(planned, shape, of_classes ? *of_classes : time_s(planned),
                    shape.traffic->bytes());
}

CallFlows::Known CallFlows::with_loads(const ConfiguredCall& planned, const Shape& shape,
                                       double time_s, const CallBytes& bytes) {
  const CallTraffic& traffic = *shape.traffic;
  Known known;
  CallFlow& flow = known.flow;
  flow.time_s = flow.latency_s = time_s;
  flow.sms = shape.sms;
  flow.nic = shape.nic;
  const std::vector<double>& capacities_Bps = traffic.capacities_Bps();
  std::size_t busiest = 0;
  for (std::size_t link = 0; link < bytes.link.size(); ++link) {
    if (bytes.link[link] / capacities_Bps[link] > bytes.link[busiest] / capacities_Bps[busiest]) {
      busiest = link;
    }
  }
  // Without bytes on links, switches or copies do everything.
  if (bytes.link.empty() || bytes.link[busiest] <= 0) return known;
  flow.bytes =
      bytes.link[busiest] / (traffic.link_connections()[busiest] * traffic.alike_channels());
  for (std::size_t i = 0; i < bytes.connection.size(); ++i) {
    flow.connections.push_back({traffic.connections()[i], bytes.connection[i] / flow.bytes});
  }
  flow.memory_load = static_cast<std::int32_t>(
      std::ceil(bytes.memory / planned.view->fabric->ranks() / flow.bytes - 1e-9));
  flow.switched = traffic.switched();
  if (flow.switched) {
    for (std::size_t link = 0; link < bytes.link.size(); ++link) {
      if (bytes.link[link] > 0) {
        flow.own_units[static_cast<std::int32_t>(link)] = bytes.link[link] / flow.bytes;
      }
    }
  }
  // The messages move in bursts, at the rate of their thread blocks or of the busiest link.
  double moving_s = flow.bytes * traffic.alike_channels() / bytes.link_cap_Bps[busiest];
  known.loads = loads_on(planned, flow);
  for (const CallLoad& load : known.loads) {
    moving_s = std::max(moving_s, load.load * flow.bytes / capacities_Bps[at(load.link)]);
  }
  if (moving_s > flow.time_s) {  // by rounding, or because the links are not all used at once
    flow.bytes *= flow.time_s / moving_s;
    moving_s = flow.time_s;
  }
  flow.latency_s = flow.time_s - moving_s;
  flow.rate_cap_Bps = flow.bytes / moving_s;
  return known;
}

std::vector<CallLoad> CallFlows::loads_on(const ConfiguredCall& planned, const CallFlow& flow) {
  if (flow.switched) return rounded_loads(flow.own_units);
  const Fabric& fabric = *planned.view->simulator->fabric_for(flow.nic);
  std::map<std::int32_t, double> units;
  for (const CallFlow::Connection& connection : flow.connections) {
    const CallTraffic::Connection& ends = connection.ends;
    for (const LinkId link : fabric.route(ends.source, ends.target, ends.channel)) {
      units[link] += connection.units;
    }
  }
  return rounded_loads(units);
}

const CallFlows::Known& CallFlows::known(const ConfiguredCall& planned) {
  const auto found = known_.find(&planned);
  if (found != known_.end()) return found->second;
  return known_.emplace(&planned, make(planned)).first->second;
}

}  // namespace cclgym
