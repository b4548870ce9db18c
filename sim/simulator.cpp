#include "sim/simulator.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <optional>

#include "collectives/library/logical_rings.hpp"
#include "collectives/library/program_entry.hpp"
#include "core/error.hpp"
#include "core/random.hpp"
#include "sim/engine/steady_state.hpp"

namespace cclgym {

namespace {

// Error that names the first few operations that are waiting.
SimulationStalled stalled(const LoweredProgram& lowered, const std::vector<TransferId>& waiting) {
  constexpr std::size_t kShown = 8;
  std::string message =
      fmt::format("the simulation of program '{}' cannot finish: {} operation{} wait{} forever",
                  lowered.outline->name, waiting.size(), waiting.size() == 1 ? "" : "s",
                  waiting.size() == 1 ? "s" : "");
  for (std::size_t i = 0; i < std::min(kShown, waiting.size()); ++i) {
    message += "\n  " + describe_node(lowered, waiting[i]);
  }
  if (waiting.size() > kShown) message += fmt::format("\n  … and {} more", waiting.size() - kShown);
  return SimulationStalled(message);
}

// Nodes of the given firings, which are numbered node by node in ascending order.
std::vector<TransferId> nodes_of_firings(const TransferGraph& graph,
                                         const std::vector<TransferId>& firings) {
  std::vector<TransferId> nodes;
  std::int64_t end = 0;
  std::size_t next = 0;
  for (TransferId node = 0; node < graph.size(); ++node) {
    end += graph.repeat(node);
    if (next == firings.size() || firings[next] >= end) continue;
    nodes.push_back(node);
    while (next < firings.size() && firings[next] < end) ++next;
  }
  return nodes;
}

bool limits_blocks(const CostModel& model) { return !model.hockney && model.max_thread_blocks > 0; }

// Throws unless all blocks of a program from outside the library can be resident at once.
void require_resident(const ProgramOutline& program, const CostModel& model, int threads) {
  if (!limits_blocks(model)) return;
  // NCCL runs one block per channel, which divides its warps among the peers.
  const std::int64_t blocks =
      program.traits.runtime == Runtime::Nccl ? program.channels : program.most_resident_blocks();
  const int limit = model.resident_thread_blocks(threads);
  if (blocks <= limit) return;
  throw UserError(fmt::format(
      "program '{}' needs {} thread blocks on a GPU; cost model {} runs {} of {} threads at once",
      program.name, blocks, model.name, limit, threads));
}

// Request for the algorithm's program from the library.
AlgorithmRequest request_of(const AlgorithmEntry& algorithm, const Call& call, const Config& config,
                            const Fabric& fabric, const CostModel& model,
                            const std::vector<std::vector<int>>& rings) {
  AlgorithmRequest request{.collective = call.collective,
                           .ranks = fabric.ranks(),
                           .channels = config.channels,
                           .root = call.root,
                           .rings = rings,
                           .ranks_per_server = fabric.ranks_per_server().value_or(0)};
  // The simulation covers the program that would be deployed. Under model "hockney" a sender is
  // busy until its message has arrived, so that a fused step would end too late for steps that wait
  // only for its receive.
  if (!model.hockney) request.compile = deployed_compile_options(algorithm);
  request.compile.instances = config.instances;
  if (config.slots == 1) request.compile.slots = 1;
  return request;
}

// Searches for loops only in programs that are large enough to be worth folding.
std::shared_ptr<const ProgramOutline> outline_of_large(const ThreadBlockProgram& program) {
  return std::make_shared<const ProgramOutline>(
      outline_of(program, program.instructions() > kFoldedSteps));
}

// Keeps the dates of every firing of record.graph, and the alternative route that it took.
// `unfolded`: true if the observed nodes are firings.
class Recorder final : public FiringObserver {
 public:
  Recorder(SimulationRecord& record, bool unfolded) : record_(record), unfolded_(unfolded) {
    const TransferGraph& graph = *record.graph;
    record.first_firing.assign(1, 0);
    for (TransferId id = 0; id < graph.size(); ++id) {
      record.first_firing.push_back(record.first_firing.back() +
                                    static_cast<std::size_t>(graph.repeat(id)));
    }
    record.start_s.resize(record.first_firing.back());
    record.end_s.resize(record.first_firing.back());
    if (graph.adaptive()) record.way.resize(record.first_firing.back());
  }
  void on_firing(TransferId node, std::int32_t tile, double start_s, double end_s) override {
    record_.start_s[firing(node, tile)] = start_s;
    record_.end_s[firing(node, tile)] = end_s;
  }
  void on_choice(TransferId node, std::int32_t tile, std::int32_t way) override {
    record_.way[firing(node, tile)] = static_cast<std::uint16_t>(way);
  }

 private:
  [[nodiscard]] std::size_t firing(TransferId node, std::int32_t tile) const {
    return unfolded_ ? static_cast<std::size_t>(node) : record_.firing(node, tile);
  }
  SimulationRecord& record_;
  bool unfolded_;
};

}  // namespace

std::string check_config(const AlgorithmLibrary& library, const Call& call, const Config& config,
                         int ranks) {
  const AlgorithmEntry& algorithm = library.at(config.algorithm);
  if (!supports(algorithm, call.collective)) {
    return fmt::format("algorithm '{}' has no {}; it has {}", config.algorithm,
                       to_string(call.collective), collectives_text(algorithm));
  }
  if (const auto reason = check_ranks(algorithm, ranks)) return *reason;
  if (config.channels < 1) return fmt::format("channels must be >= 1, found {}", config.channels);
  if (config.instances < 1) {
    return fmt::format("instances must be >= 1, found {}", config.instances);
  }
  if (config.threads < 1) return fmt::format("threads must be >= 1, found {}", config.threads);
  if (config.slots < 0 || config.slots > kMostSlots) {
    return fmt::format("slots must be 0 (unbounded) to {}, found {}", kMostSlots, config.slots);
  }
  if (call.root < 0 || call.root >= ranks) {
    return fmt::format("root must be a rank from 0 to {}, found {}", ranks - 1, call.root);
  }
  if (const auto reason =
          check_fixed_program(algorithm, config.channels, config.instances, call.root)) {
    return *reason;
  }
  if (config.slots > 0 && config.slots < algorithm.min_slots) {
    return fmt::format(
        "program '{}' deadlocks where a connection holds {} message{}; expected "
        "slots 0 (unbounded) or at least {}",
        config.algorithm, config.slots, config.slots == 1 ? "" : "s", algorithm.min_slots);
  }
  return {};
}

std::string check_switches(const AlgorithmEntry& algorithm, const Fabric& fabric) {
  if (algorithm.switches == SwitchUse::None) return {};
  const bool inside = algorithm.switches != SwitchUse::Network &&
                      fabric.ranks_per_server().value_or(fabric.ranks()) > 1;
  const bool between = algorithm.switches != SwitchUse::InServers && fabric.servers() > 1;
  for (const NodeKind kind : {NodeKind::NvSwitch, NodeKind::NetworkSwitch}) {
    if (kind == NodeKind::NvSwitch ? !inside : !between) continue;
    const auto computes = [&](const Node& node) { return node.kind != kind || node.computes; };
    const auto is_one = [&](const Node& node) { return node.kind == kind; };
    if (std::ranges::any_of(fabric.nodes(), is_one) &&
        std::ranges::all_of(fabric.nodes(), computes)) {
      continue;
    }
    return fmt::format("{} needs switches that copy and add, and fabric '{}' has no such {}",
                       algorithm.name, fabric.name(), to_string(kind));
  }
  return {};
}

std::string check_resident(const AlgorithmLibrary& library, const Call& call, const Config& config,
                           const Fabric& fabric, const CostModel& cost_model) {
  const AlgorithmEntry& algorithm = library.at(config.algorithm);
  if (std::string reason = check_switches(algorithm, fabric); !reason.empty()) return reason;
  if (!limits_blocks(cost_model)) return {};
  const int limit = cost_model.resident_thread_blocks(config.threads);
  AlgorithmRequest request = request_of(algorithm, call, config, fabric, cost_model, {});
  const bool nccl = algorithm.traits.runtime == Runtime::Nccl;
  // Number of blocks if they join the chunks that they pass on; otherwise there are half to twice
  // as many.
  const std::int64_t joined = std::int64_t{config.instances} *
                              (nccl ? config.channels : thread_blocks_per_gpu(algorithm, request));
  const bool exact = nccl || algorithm.fixed();
  if ((exact ? 1 : 2) * joined <= limit) return {};
  std::int64_t needed = exact ? joined : (joined + 1) / 2;
  const bool at_least = !exact && needed > limit;
  if (!at_least && !exact) {
    request.rings = logical_rings(fabric);
    needed = compile(trace_algorithm(algorithm, request), request.compile).most_resident_blocks();
    if (needed <= limit) return {};
  }
  return fmt::format(
      "{} with {} channel{}{} needs {}{} thread blocks per GPU; cost model {} runs {} of {} "
      "threads at once",
      config.algorithm, config.channels, config.channels == 1 ? "" : "s",
      config.instances == 1 ? "" : fmt::format(" and {} instances", config.instances),
      at_least ? "at least " : "", needed, cost_model.name, limit, config.threads);
}

std::string check_size(CollectiveKind collective, std::uint64_t bytes, int ranks,
                       int element_bytes) {
  if (bytes == 0) return "a size must be > 0";
  const int slices = size_granularity(collective, ranks);
  const auto unit = static_cast<std::uint64_t>(slices) * static_cast<std::uint64_t>(element_bytes);
  if (bytes % unit == 0) return {};
  const std::uint64_t below = bytes / unit * unit;
  return fmt::format("{} of {} B is not a multiple of {} B ({}{} B elements); nearest: {}{} B",
                     to_string(collective), bytes, unit,
                     slices > 1 ? fmt::format("{} ranks x ", slices) : std::string(), element_bytes,
                     below > 0 ? fmt::format("{} or ", below) : std::string(), below + unit);
}

Simulator::Simulator(std::shared_ptr<const Fabric> fabric, CostModel cost_model,
                     std::string_view engine, AlgorithmLibrary library)
    : fabric_(std::move(fabric)),
      cost_model_(std::move(cost_model)),
      library_(std::move(library)),
      engine_(make_engine(engine)),
      rings_(logical_rings(*fabric_)) {}

void Simulator::set_noise(NoiseProfile noise) {
  require_ranks(noise, *fabric_);
  noise_ = std::move(noise);
}

Result Simulator::simulate(const Call& call, const Config& config, std::uint64_t seed,
                           std::uint64_t repetition) {
  SimulationRecord record;
  record.call = call;
  record.config = config;
  (void)run(program(call, config), record, {seed, repetition}, false);
  return record.result;
}

SimulationRecord Simulator::record(const Call& call, const Config& config, std::uint64_t seed,
                                   std::uint64_t repetition) {
  return record_built(program(call, config), call, config, {seed, repetition});
}

SimulationRecord Simulator::record_program(std::shared_ptr<const ThreadBlockProgram> program,
                                           const Call& call, const Config& config,
                                           std::uint64_t seed, std::uint64_t repetition) {
  BuiltProgram built{outline_of_large(*program), nullptr};
  built.program = std::move(program);
  return record_built(built, call, config, {seed, repetition});
}

SimulationRecord Simulator::record_built(const BuiltProgram& program, const Call& call,
                                         const Config& config, const NoiseSeed& seed) {
  SimulationRecord record;
  record.call = call;
  record.config = config;
  const Run made = run(program, record, seed, true);
  if (made.dated || record.graph->firings() > SimulationRecord::kMostDated) return record;
  Recorder recorder(record, made.noisy.unfolded);
  if ((record.graph->folded() && !made.noisy.unfolded) || record.graph->adaptive()) {
    engine_->load(made.noisy.graph);
    (void)engine_->run(&recorder, made.noisy.capacities.get());
  } else {
    // Nodes are firings, in the same order; the nodes after them belong to other jobs.
    std::copy_n(made.only.start_s.begin(), record.start_s.size(), record.start_s.begin());
    std::copy_n(made.only.end_s.begin(), record.end_s.size(), record.end_s.begin());
  }
  return record;
}

std::shared_ptr<const ThreadBlockProgram> Simulator::compiled(const Call& call,
                                                              const Config& config) {
  const BuiltProgram& built = program(call, config);
  require_runnable(built, call, config);
  return built.program;
}

LoweredProgram Simulator::lowered(const Call& call, const Config& config, std::uint64_t seed) {
  const BuiltProgram& built = program(call, config);
  require_runnable(built, call, config);
  LoweredProgram lowered = noisy(built, call, config, start_delays({seed, 0}), {seed, 0}).lowered;
  lowered.program = built.program;
  return lowered;
}

void Simulator::require_runnable(const BuiltProgram& program, const Call& call,
                                 const Config& config) const {
  if (call.bytes == 0) throw UserError("a call's size must be > 0");
  require_resident(*program.outline, cost_model_, config.threads);
}

NoisyProgram Simulator::noisy(const BuiltProgram& program, const Call& call, const Config& config,
                              std::span<const double> start_delays_s, const NoiseSeed& seed) const {
  // Jitter is drawn per message.
  const Folding folding = noise_.any_jitter() ? Folding::Never : Folding::Large;
  return apply_noise(
      lower(program.outline, *fabric_, cost_model_, call, config, start_delays_s, folding),
      *fabric_, cost_model_, noise_, seed);
}

Simulator::Run Simulator::run(const BuiltProgram& program, SimulationRecord& record,
                              const NoiseSeed& seed, bool keep_dates) {
  const Call& call = record.call;
  require_runnable(program, call, record.config);
  record.start_delay_s = start_delays(seed);
  Run made;
  made.noisy = noisy(program, call, record.config, record.start_delay_s, seed);
  const bool steady = made.noisy.steady();
  record.lowered = std::move(made.noisy.lowered);
  record.lowered.program = program.program;
  const LoweredProgram& lowered = record.lowered;
  const NoisyProgram& noisy = made.noisy;
  // Without tiles one run is enough, and it fills the record.
  std::optional<Recorder> recorder;
  made.dated = keep_dates && steady && lowered.tiles == 1 &&
               (lowered.folded || lowered.graph->adaptive()) &&
               lowered.graph->firings() <= SimulationRecord::kMostDated;
  record.graph = lowered.graph;
  if (made.dated) recorder.emplace(record, false);
  TiledDates dates;
  try {
    dates = run_tiles(*engine_, noisy.graph, noisy.unfolded ? 1 : lowered.tiles, noisy.rank_last,
                      tile_budget_, noisy.capacities.get(), recorder ? &*recorder : nullptr,
                      &tile_runs_);
  } catch (const GraphStalled& cause) {
    if (lowered.folded) {  // nodes of single steps give a better error message
      const LoweredProgram each = lower(program.outline, *fabric_, cost_model_, call, record.config,
                                        record.start_delay_s, Folding::Never);
      try {
        engine_->load(each.graph);
        (void)engine_->run();
      } catch (const GraphStalled& cause_of_each) {
        throw stalled(each, cause_of_each.waiting());
      }
    }
    throw stalled(lowered, noisy.unfolded ? nodes_of_firings(*lowered.graph, cause.waiting())
                                          : cause.waiting());
  }
  made.only = dates.whole;
  if (steady) {
    made.noisy.graph = record.graph = dates.graph;
  } else {
    dates.simulated = lowered.tiles;
  }
  record.simulated_s = dates.simulated_makespan_s;

  Result& result = record.result;
  result.steps = lowered.steps;
  result.flows = lowered.graph->flow_firings();
  result.tiles = lowered.tiles;
  result.simulated_tiles = dates.simulated;
  result.tile_error_s = dates.error_s;
  result.periodic = dates.periodic;
  for (std::size_t rank = 0; rank + 1 < lowered.rank_last_offset.size(); ++rank) {
    double done_s = 0;
    for (std::size_t i = lowered.rank_last_offset[rank]; i < lowered.rank_last_offset[rank + 1];
         ++i) {
      done_s = std::max(done_s, dates.end_s[i]);
    }
    result.rank_time_s.push_back(done_s);
    result.time_s = std::max(result.time_s, done_s);
  }
  if (result.time_s > 0) {
    result.algbw_Bps = static_cast<double>(call.bytes) / result.time_s;
    result.busbw_Bps = result.algbw_Bps * bus_bandwidth_factor(call.collective, fabric_->ranks());
  }
  return made;
}

const Simulator::BuiltProgram& Simulator::program(const Call& call, const Config& config) {
  if (const std::string reason = check_config(library_, call, config, fabric_->ranks());
      !reason.empty()) {
    throw UserError(reason);
  }
  BuiltProgram& known = programs_[{config.algorithm, call.collective, config.channels,
                                   config.instances, config.slots == 1, call.root}];
  if (!known.outline) {
    if (const std::string reason = check_resident(library_, call, config, *fabric_, cost_model_);
        !reason.empty()) {
      throw UserError(reason);
    }
    const AlgorithmEntry& algorithm = library_.at(config.algorithm);
    const AlgorithmRequest request =
        request_of(algorithm, call, config, *fabric_, cost_model_, rings_);
    auto outline = outline_algorithm(algorithm, request);
    if (outline && outline->instructions() > kFoldedSteps) {
      known.outline = std::make_shared<const ProgramOutline>(std::move(*outline));
    } else {
      known.program = build_algorithm(algorithm, request);
      known.outline = outline_of_large(*known.program);
    }
  }
  return known;
}

std::vector<double> Simulator::start_delays(const NoiseSeed& seed) const {
  std::vector<double> delays_s;
  const double mean_s =
      noise_.start_skew_s.value_or(cost_model_.random() ? cost_model_.start_skew_s : 0);
  if (mean_s == 0) return delays_s;
  for (int rank = 0; rank < fabric_->ranks(); ++rank) {
    Random random = Random::stream(seed.seed, {seed.repetition, static_cast<std::uint64_t>(rank)});
    delays_s.push_back(random.exponential(mean_s));
  }
  return delays_s;
}

}  // namespace cclgym
