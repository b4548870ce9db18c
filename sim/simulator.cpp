#include "sim/simulator.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <optional>

#include "collectives/library/direct_exchange.hpp"
#include "collectives/library/logical_rings.hpp"
#include "collectives/library/program_entry.hpp"
#include "core/error.hpp"
#include "core/index.hpp"
#include "core/random.hpp"
#include "sim/classes/class_program.hpp"
#include "sim/config_checks.hpp"
#include "sim/engine/steady_state.hpp"
#include "sim/lowering/alike_channels.hpp"
#include "sim/lowering/block_company.hpp"
#include "sim/lowering/kernel_times.hpp"
#include "sim/prices/transfer_cost.hpp"
#include "sim/recorder.hpp"
#include "sim/summary_recorder.hpp"
#include "topology_models/fabric_spec.hpp"

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

// Number of channels, counted over all ranks, from which alike ones are simulated as one although
// they are known only from a compiled program: compiling a second program must pay.
constexpr std::int64_t kJoinedChannels = 1 << 13;

// Searches for loops only in programs that are large enough to be worth folding.
std::shared_ptr<const ProgramOutline> outline_of_large(const ThreadBlockProgram& program) {
  return std::make_shared<const ProgramOutline>(
      outline_of(program, program.instructions() > kFoldedSteps));
}

}  // namespace

Simulator::Simulator(std::shared_ptr<const Fabric> fabric, CostModel cost_model,
                     std::string_view engine, AlgorithmLibrary library)
    : fabric_(std::move(fabric)),
      cost_model_(std::move(cost_model)),
      library_(std::move(library)),
      engine_(make_engine(engine)),
      rings_(logical_rings(*fabric_)) {}

const std::shared_ptr<const Fabric>& Simulator::fabric_for(NicUse use) {
  if (use == NicUse::Fabric) return fabric_;
  std::shared_ptr<const Fabric>& known = bound_[use];
  if (!known) {
    known = fabric_->bound(use == NicUse::RoundRobin      ? NicBinding::RoundRobin
                           : use == NicUse::TopologyAware ? NicBinding::TopologyAware
                                                          : NicBinding::SingleNic);
  }
  return known;
}

void Simulator::set_noise(NoiseProfile noise) {
  require_ranks(noise, *fabric_);
  if (noise.any_jitter() != noise_.any_jitter()) programs_.clear();  // channels are alike or not
  noise_ = std::move(noise);
}

Result Simulator::simulate(const Call& call, const Config& config, std::uint64_t seed,
                           std::uint64_t repetition) {
  SimulationRecord record;
  record.call = call;
  record.config = config;
  (void)run_chosen(record, {seed, repetition}, false, RecordDetail::Classes);
  return record.result;
}

SimulationRecord Simulator::record(const Call& call, const Config& config, std::uint64_t seed,
                                   std::uint64_t repetition, RecordDetail detail) {
  SimulationRecord record;
  record.call = call;
  record.config = config;
  const Run made = run_chosen(record, {seed, repetition}, true, detail);
  add_dates(record, made);
  return record;
}

SimulationRecord Simulator::record_program(std::shared_ptr<const ThreadBlockProgram> program,
                                           const Call& call, const Config& config,
                                           std::uint64_t seed, std::uint64_t repetition) {
  BuiltProgram built{outline_of_large(*program), nullptr};
  built.program = std::move(program);
  SimulationRecord record;
  record.call = call;
  record.config = config;
  const Run made = run(built, record, {seed, repetition}, true);
  add_dates(record, made);
  return record;
}

void Simulator::add_dates(SimulationRecord& record, const Run& made) {
  if (made.dated || record.graph->firings() > SimulationRecord::kMostDated) return;
  Recorder recorder(record, made.noisy.unfolded);
  if ((record.graph->folded() && !made.noisy.unfolded) || record.graph->adaptive()) {
    engine_->load(made.noisy.graph);
    (void)engine_->run(&recorder, made.noisy.capacities.get());
  } else {
    // Nodes are firings, in the same order; the nodes after them belong to other jobs.
    std::copy_n(made.only.start_s.begin(), record.start_s.size(), record.start_s.begin());
    std::copy_n(made.only.end_s.begin(), record.end_s.size(), record.end_s.begin());
  }
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
                              std::span<const double> start_delays_s, const NoiseSeed& seed,
                              JitterForm form) {
  // Jitter is drawn per message.
  const Folding folding = noise_.any_jitter() ? Folding::Never : Folding::Large;
  const std::shared_ptr<const Fabric>& fabric = fabric_for(program.outline->traits.nic);
  LoweredProgram lowered =
      lower(program.outline, *fabric, cost_model_, call, config, start_delays_s, folding);
  lowered.fabric = fabric;
  return apply_noise(std::move(lowered), *fabric_, cost_model_, noise_, seed, form);
}

Simulator::Run Simulator::run_chosen(SimulationRecord& record, const NoiseSeed& seed,
                                     bool keep_dates, RecordDetail detail) {
  if (detail != RecordDetail::Nodes) {
    if (auto lowered = lowered_exchange(record.call, record.config)) {
      Run made;
      made.noisy.graph = lowered->graph;
      made.noisy.rank_last = lowered->rank_last;
      made.noisy.lowered = std::move(*lowered);
      run_lowered(made, record, keep_dates, nullptr, detail);
      return made;
    }
  }
  return run(program(record.call, record.config), record, seed, keep_dates, detail);
}

std::optional<LoweredProgram> Simulator::lowered_exchange(const Call& call, const Config& config) {
  const AlgorithmEntry* const known_algorithm = library_.find(config.algorithm);
  if (known_algorithm == nullptr || !known_algorithm->exchanges) return std::nullopt;
  const AlgorithmEntry& algorithm = *known_algorithm;
  if (engine_->name() != "flow" || !noise_.none() || cost_model_.random() ||
      cost_model_.network_burst_bytes > 0 ||
      cost_model_.connection_rate_Bps < ProtocolCost::kUnlimited) {
    return std::nullopt;
  }
  if (const std::string reason = check_config(library_, call, config, fabric_->ranks());
      !reason.empty()) {
    throw UserError(reason);
  }
  const AlgorithmRequest request = request_of(algorithm, call, config, *fabric_, cost_model_, {});
  const std::optional<DirectExchange> exchange = direct_exchange(algorithm, request);
  if (!exchange || exchange->messages() < fold_from_.messages) return std::nullopt;
  // Messages of one class could differ in cost if the blocks of ranks have different company.
  const std::optional<BlockCompany> company =
      prices_company(cost_model_)
          ? company_of_exchange(*fabric_, exchange->channels, algorithm.traits.runtime)
          : BlockCompany{.senders = 0};
  if (!company) return std::nullopt;
  if (call.bytes == 0) throw UserError("a call's size must be > 0");
  if (const std::string reason = check_resident(library_, call, config, *fabric_, cost_model_);
      !reason.empty()) {
    throw UserError(reason);
  }
  const std::shared_ptr<const Fabric>& fabric = fabric_for(algorithm.traits.nic);
  const auto lowered = [&](std::span<const ExchangeMessage> messages) {
    LoweredProgram examples = lower_some(
        std::make_shared<const ProgramOutline>(exchange_outline(algorithm, request, messages)),
        *fabric, cost_model_, call, config,
        {.channels = exchange->channels,
         .blocks = exchange->blocks_per_rank(),
         .company = *company});
    examples.fabric = fabric;
    return examples;
  };
  const LoweredProgram empty = lowered({});
  const std::span<const double> capacities_Bps = empty.graph->link_capacities_Bps();
  Exchange& known = exchanges_[{config.algorithm, exchange->channels, algorithm.traits.nic,
                                capacities_Bps.size()}];
  if (known.classes ? !known.classes->hold_for(capacities_Bps)
                    : !std::ranges::equal(known.capacities_Bps, capacities_Bps)) {
    require_exchange_memory(algorithm, request, *exchange);
    known.classes = find_exchange_classes(*fabric, *exchange, capacities_Bps);
    known.capacities_Bps.assign(capacities_Bps.begin(), capacities_Bps.end());
  }
  if (!known.classes) return std::nullopt;
  return exchange_of_classes(lowered(known.classes->first), *exchange, *known.classes);
}

// Replaces the nodes of a large program by their classes.
void Simulator::fold(NoisyProgram& noisy) const {
  const TransferGraph& graph = *noisy.graph;
  if (engine_->name() != "flow" || !noisy.steady() || noisy.unfolded || graph.adaptive() ||
      graph.firings() < fold_from_.firings || !noisy.lowered.costs.delays.empty()) {
    return;
  }
  std::optional<LoweredProgram> classes = program_of_classes(noisy.lowered);
  if (!classes) return;
  noisy.graph = classes->graph;
  noisy.rank_last = classes->rank_last;
  noisy.lowered = std::move(*classes);
}

Simulator::Run Simulator::run(const BuiltProgram& program, SimulationRecord& record,
                              const NoiseSeed& seed, bool keep_dates, RecordDetail detail) {
  require_runnable(program, record.call, record.config);
  record.start_delay_s = start_delays(seed);
  Run made;
  const bool unfold = keep_dates || detail == RecordDetail::Nodes || engine_->name() != "flow";
  made.noisy = noisy(program, record.call, record.config, record.start_delay_s, seed,
                     unfold ? JitterForm::Unfolded : JitterForm::Folded);
  if (detail != RecordDetail::Nodes) fold(made.noisy);
  made.noisy.lowered.program = program.program;
  try {
    run_lowered(made, record, keep_dates, &program, detail);
  } catch (const GraphStalled&) {  // classes and single firings have no names of their own
    return run(program, record, seed, keep_dates, RecordDetail::Nodes);
  }
  return made;
}

TiledDates Simulator::run_firings(const NoisyProgram& noisy) {
  if (!firing_run_) firing_run_ = std::make_unique<FiringRun>();
  const FiringRun::Dates run = firing_run_->run(noisy.graph, *noisy.latencies, *noisy.capacities);
  TiledDates dates;
  dates.graph = noisy.graph;
  dates.simulated_makespan_s = run.makespan_s;
  for (const TransferId node : noisy.rank_last) dates.end_s.push_back(run.end_s[at(node)]);
  return dates;
}

void Simulator::run_lowered(Run& made, SimulationRecord& record, bool keep_dates,
                            const BuiltProgram* program, RecordDetail detail) {
  const Call& call = record.call;
  const bool steady = made.noisy.steady();
  record.lowered = std::move(made.noisy.lowered);
  const LoweredProgram& lowered = record.lowered;
  const NoisyProgram& noisy = made.noisy;
  // Without tiles one run is enough, and it fills the record.
  std::unique_ptr<FiringObserver> recorder;
  SummaryRecorder* summary = nullptr;
  made.dated = keep_dates && steady && lowered.tiles == 1 &&
               (lowered.folded || lowered.graph->adaptive()) &&
               lowered.graph->firings() <= SimulationRecord::kMostDated;
  record.graph = lowered.graph;
  if (made.dated && detail == RecordDetail::Summary) {
    auto observer = std::make_unique<SummaryRecorder>(record);
    summary = observer.get();
    recorder = std::move(observer);
  } else if (made.dated) {
    recorder = std::make_unique<Recorder>(record, false);
  }
  TiledDates dates;
  try {
    // As many tiles as without classes.
    TileBudget budget = tile_budget_;
    budget.firings =
        static_cast<std::int64_t>(static_cast<double>(budget.firings) * share_of_nodes(lowered));
    dates = noisy.latencies ? run_firings(noisy)
                            : run_tiles(*engine_, noisy.graph, noisy.unfolded ? 1 : lowered.tiles,
                                        noisy.rank_last, budget, noisy.capacities.get(),
                                        recorder.get(), &tile_runs_);
  } catch (const GraphStalled& cause) {
    if (lowered.classes || noisy.latencies) throw;
    if (lowered.folded) {  // nodes of single steps give a better error message
      const LoweredProgram each = lower(program->outline, *lowered.fabric, cost_model_, call,
                                        record.config, record.start_delay_s, Folding::Never);
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
  if (summary != nullptr) made.dated = summary->finish();
  if (steady) {
    made.noisy.graph = record.graph = dates.graph;
  } else {
    dates.simulated = lowered.tiles;
  }
  record.simulated_s = dates.simulated_makespan_s;

  Result& result = record.result;
  result.steps = lowered.steps;
  result.flows = flow_firings(lowered) * lowered.outline->alike_channels;
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
  if (lowered.kernels > 1)
    result.kernels = kernel_times(lowered, *fabric_, dates.end_s, result.time_s);
  if (result.time_s > 0) {
    result.algbw_Bps = static_cast<double>(call.bytes) / result.time_s;
    result.busbw_Bps = result.algbw_Bps * bus_bandwidth_factor(call.collective, fabric_->ranks());
  }
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
    require_program_memory(algorithm, request);
    std::optional<ProgramOutline> outline;
    if (algorithm.outline || std::int64_t{request.ranks} * request.channels >= kJoinedChannels) {
      outline = outline_of_different_channels(algorithm, request);
    }
    if (outline && (noise_.any_jitter() || !channels_route_alike(*outline, *fabric_))) {
      outline = outline_algorithm(algorithm, request);
    }
    if (outline && outline->instructions() * outline->alike_channels > kFoldedSteps) {
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
