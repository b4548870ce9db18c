#include "sim/lowering/lowering.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <optional>
#include <span>
#include <utility>

#include "core/error.hpp"
#include "sim/call/tiles.hpp"
#include "sim/graph/class_graph.hpp"
#include "sim/graph/dependency_tracker.hpp"
#include "sim/graph/symmetry.hpp"
#include "sim/lowering/lowering_internal.hpp"
#include "sim/prices/transfer_cost.hpp"

namespace cclgym {

namespace {

std::int32_t tiles_in(const ProgramOutline& outline, const Call& call, const Config& config) {
  return tiles_of(static_cast<double>(call.bytes) / outline.contract.chunks_per_call() *
                      outline.longest_message() / outline.alike_channels,
                  config);
}

// The graph with one node per class of nodes that have equally long chains; the graph itself if its
// nodes have no classes. Routes and costs do not matter: all flows cross one link.
std::shared_ptr<const TransferGraph> graph_of_classes(
    const std::shared_ptr<const TransferGraph>& graph, std::span<const TransferId> heads) {
  TransferGraph bare;
  bare.set_link_capacities({1});
  const std::int32_t links[] = {0};
  const std::int32_t route = bare.add_route(links);
  std::vector<std::uint64_t> kinds;
  std::vector<std::int32_t> missing;
  for (TransferId node = 0; node < graph->size(); ++node) {
    const bool flow =
        graph->route_of(node) >= 0 || std::binary_search(heads.begin(), heads.end(), node);
    if (flow) {
      (void)bare.add_flow(route, 0, 0, kNoRateCap, graph->repeat(node));
    } else {
      (void)bare.add_delay(0, graph->repeat(node), graph->overlapping(node));
    }
    kinds.push_back(flow ? 1 : 0);
    missing.push_back(graph->dependencies(node));
  }
  for (TransferId node = 0; node < graph->size(); ++node) {
    for (const TransferGraph::Edge& edge : graph->successors(node)) {
      bare.add_edge(node, edge.target, edge.lag);
      --missing[at(edge.target)];
    }
  }
  // Some nodes may wait for an event that never happens.
  if (std::ranges::any_of(missing, [](std::int32_t left) { return left != 0; })) return graph;
  bare.finish();
  const std::optional<GraphSymmetry> symmetry = find_symmetry(bare, kinds);
  if (!symmetry) return std::make_shared<const TransferGraph>(std::move(bare));
  return class_graph(bare, *symmetry);
}

// Number of flows on the longest chain of firings that wait for each other: the time of the graph
// if a flow takes one unit of time and nothing else takes any.
int longest_chain_of_firings(const std::shared_ptr<const TransferGraph>& full_graph,
                             std::span<const TransferId> heads) {
  const std::shared_ptr<const TransferGraph> graph = graph_of_classes(full_graph, heads);
  DependencyTracker tracker;
  tracker.load(graph);
  std::vector<TransferId> instant;
  std::vector<TransferId> started;  // flows, which are done in the next unit
  std::vector<TransferId> ending;
  const auto start = [&](TransferId node) {
    (graph->route_of(node) >= 0 ? started : instant).push_back(node);
  };
  const auto finish_instant = [&] {
    while (!instant.empty()) {
      const TransferId node = instant.back();
      instant.pop_back();
      tracker.done(node, start);
    }
  };
  tracker.start_roots(start);
  finish_instant();
  int length = 0;
  for (; !started.empty(); ++length) {
    ending.swap(started);
    for (const TransferId node : ending) tracker.done(node, start);
    ending.clear();
    finish_instant();
  }
  return length;
}

// Thread blocks of a GPU that share an SM, if there are more blocks than SMs. In symmetric memory,
// one block serves all peers.
double sharing_blocks(const ProgramOutline& outline, const CostModel& model,
                      const std::optional<LaunchedBlocks>& launched) {
  if (in_symmetric_memory(outline.traits)) return outline.ranks() - 1;
  if (model.hockney || model.max_thread_blocks == 0) return 1;
  std::int64_t blocks = outline.launched_blocks();
  if (launched) {
    blocks = outline.alike_channels *
             (outline.traits.runtime == Runtime::Nccl ? launched->channels : launched->blocks);
  }
  return std::max(1.0, static_cast<double>(blocks) / model.max_thread_blocks);
}

}  // namespace

Lowering::Lowering(const ProgramOutline& outline, const Fabric& fabric, const CostModel& model,
                   const Call& call, const Config& config, std::span<const double> start_delays_s,
                   const std::optional<LaunchedBlocks>& launched)
    : outline_(outline),
      fabric_(fabric),
      model_(model),
      config_(config),
      slots_(outline.traits.direct ? 0 : config.slots),
      start_delays_s_(start_delays_s),
      launched_(launched),
      index_(outline),
      kernels_(outline.kernels()),
      use_(network_use(outline, fabric)),
      company_(!launched && prices_company(model) ? company_of_blocks(outline, fabric)
                                                  : std::vector<BlockCompany>{}),
      tiles_(tiles_in(outline, call, config)),
      costs_(model, fabric,
             {.config = config,
              .traits = outline.traits,
              .tile_bytes =
                  static_cast<double>(call.bytes) / outline.contract.chunks_per_call() / tiles_,
              .network_messages = use_.messages,
              .alike_channels = outline.alike_channels,
              .sharing_blocks = sharing_blocks(outline, model, launched)}) {}

LoweredProgram Lowering::run() {
  graph_ = std::make_shared<TransferGraph>();
  set_links();
  add_starts();
  const std::size_t steps = outline_.steps.size();
  completions_.resize(steps);
  own_node_.assign(steps, -1);
  arrival_.assign(steps, -1);
  find_connections();
  match_receives();
  add_flows();
  add_heads();
  add_groups();
  for_each_site([this](const Site& site) { complete(site); });
  for_each_site([this](const Site& site) { connect(site); });
  connect_kernels();
  collect_last();
  pass_bursts();
  graph_->finish();
  LoweredProgram lowered;
  lowered.fabric_links = fabric_.links().size();
  lowered.tiles = tiles_;
  lowered.kernels = kernels_;
  lowered.folded = tiles_ == 1 && graph_->folded();
  lowered.graph = std::move(graph_);
  lowered.steps = lowered.folded ? longest_chain_of_firings(lowered.graph, head_nodes_)
                                 : longest_chain(*lowered.graph, head_nodes_);
  lowered.origins = std::move(origins_);
  lowered.costs = costs_.take();
  lowered.rank_last_offset = std::move(rank_last_offset_);
  lowered.rank_last = std::move(rank_last_);
  return lowered;
}

// Adds a node that moves nothing over links; `start_delay_s` is added to the latency in its price.
TransferId Lowering::add_delay(std::int32_t record, const NodeOrigin& origin, std::int32_t times,
                               double start_delay_s) {
  origins_.push_back(origin);
  costs_.add_node(record, start_delay_s);
  return graph_->add_delay(latency_s(record) + start_delay_s,
                           origin.thread_block < 0 ? 1 : tiles_ * times,
                           origin.role == NodeRole::Arrival);
}

// Number of channels that connect GPUs, by kernel; a kernel that only copies has none.
std::vector<int> Lowering::channels_by_kernel() const {
  std::vector<int> channels(static_cast<std::size_t>(kernels_), 0);
  for (const OutlineBlock& block : outline_.blocks) {
    if (block.send_peer < 0 && block.recv_peer < 0) continue;
    int& count = channels[static_cast<std::size_t>(block.kernel)];
    count = std::max(count, block.channel + 1);
  }
  return channels;
}

// Channels for which a channel of the kernel stands: MPI has none.
int Lowering::alike_in(int kernel) const {
  const bool by_mpi = outline_.traits.transport == Transport::Mpi &&
                      use_.crosses[static_cast<std::size_t>(kernel)] != 0;
  return by_mpi ? 1 : outline_.alike_channels;
}

void Lowering::add_starts() {
  std::vector<int> channels = channels_by_kernel();
  if (launched_) channels.assign(1, launched_->channels);
  std::vector<char> gated(static_cast<std::size_t>(fabric_.ranks()), 0);  // by rank: kernel 0 is
  for (const KernelGate& gate : outline_.gates) {
    if (gate.kernel == 0) gated[static_cast<std::size_t>(gate.rank)] = 1;
  }
  for (int rank = 0; rank < fabric_.ranks(); ++rank) {
    std::vector<int> blocks(static_cast<std::size_t>(kernels_), 0);
    for (std::uint32_t b = outline_.first_block(rank); b < outline_.first_block(rank + 1); ++b) {
      ++blocks[static_cast<std::size_t>(outline_.blocks[b].kernel)];
    }
    if (launched_) blocks.assign(1, static_cast<int>(launched_->blocks));
    TransferId launched = -1;
    for (int kernel = 0; kernel < kernels_; ++kernel) {
      const std::int32_t launch = costs_.record(
          {.work = Work::Launch,
           .channels = channels[static_cast<std::size_t>(kernel)] * alike_in(kernel),
           .thread_blocks = blocks[static_cast<std::size_t>(kernel)] * alike_in(kernel)});
      const double start_delay_s = kernel == 0 && !start_delays_s_.empty()
                                       ? start_delays_s_[static_cast<std::size_t>(rank)]
                                       : 0.0;
      const TransferId before = launched;
      if (latency_s(launch) + start_delay_s > 0) {
        launched = add_delay(launch, {.rank = rank, .step = kernel, .role = NodeRole::Launch}, 1,
                             start_delay_s);
        if (before >= 0) graph_->add_edge(before, launched);
      }
      const bool waits = kernel > 0 || gated[static_cast<std::size_t>(rank)] != 0;
      starts_.push_back(!waits
                            ? launched
                            : add_delay(costs_.record({.work = Work::KernelGap}),
                                        {.rank = rank, .step = kernel, .role = NodeRole::Start}));
      if (waits && launched >= 0) graph_->add_edge(launched, starts_.back());
    }
  }
}

// Adds the edges by which the start of a kernel waits for the last tile of a block.
void Lowering::start_after(std::uint32_t block, TransferId start) {
  requirements_.clear();
  require(last_of_block(block), TransferGraph::kAfterLast, {0, 1, 0});
  for (const Requirement& last : requirements_) {
    graph_->add_edge(last.node, start, is_launch(last.node) ? 0 : lag_of(last, 1));
  }
}

// A kernel waits for the last tile of all thread blocks of the previous kernel on its rank.
void Lowering::connect_kernels() {
  for (int rank = 0; rank < fabric_.ranks() && kernels_ > 1; ++rank) {
    for (int kernel = 1; kernel < kernels_; ++kernel) {
      const TransferId earlier = start_of(rank, kernel - 1);
      if (earlier >= 0) graph_->add_edge(earlier, start_of(rank, kernel));
    }
    for (std::uint32_t b = outline_.first_block(rank); b < outline_.first_block(rank + 1); ++b) {
      const int next = outline_.blocks[b].kernel + 1;
      if (outline_.blocks[b].steps == 0 || next >= kernels_) continue;
      start_after(b, start_of(rank, next));
    }
  }
  for (const KernelGate& gate : outline_.gates) {
    const TransferId start = start_of(gate.rank, gate.kernel);
    const TransferId earlier = start_of(gate.after, gate.kernel);
    if (earlier >= 0) graph_->add_edge(earlier, start);
    const std::uint32_t end = outline_.first_block(gate.after + 1);
    for (std::uint32_t b = outline_.first_block(gate.after); b < end; ++b) {
      if (outline_.blocks[b].steps == 0 || outline_.blocks[b].kernel != gate.kernel) continue;
      start_after(b, start);
    }
  }
}

void Lowering::collect_last() {
  rank_last_offset_.push_back(0);
  for (int rank = 0; rank < fabric_.ranks(); ++rank) {
    for (int kernel = 0; kernel < kernels_; ++kernel) {
      if (start_of(rank, kernel) >= 0) rank_last_.push_back(start_of(rank, kernel));
    }
    for (std::uint32_t b = outline_.first_block(rank); b < outline_.first_block(rank + 1); ++b) {
      if (outline_.blocks[b].steps == 0) continue;
      requirements_.clear();
      require(last_of_block(b), 0, {0, 1, 0});
      for (const Requirement& last : requirements_) {
        // The end of a node is the end of its last firing.
        if (tiles_ == 1 && last.iterations.shift + 1 != graph_->repeat(last.node)) {
          throw CannotFold();
        }
        rank_last_.push_back(last.node);
      }
    }
    rank_last_offset_.push_back(rank_last_.size());
  }
}

int longest_message(const ThreadBlockProgram& program) {
  std::int32_t longest = 1;
  for (const GpuProgram& gpu : program.gpus) {
    for (const ThreadBlock& block : gpu.thread_blocks) {
      for (const Instruction& step : block.steps) {
        if (sends(step.opcode)) longest = std::max(longest, step.count);
      }
    }
  }
  return longest;
}

LoweredProgram lower(std::shared_ptr<const ProgramOutline> program, const Fabric& fabric,
                     const CostModel& model, const Call& call, const Config& config,
                     std::span<const double> start_delays_s, Folding folding) {
  if (program->ranks() != fabric.ranks()) {
    throw UserError(fmt::format("program '{}' is for {} ranks, but fabric '{}' has {}",
                                program->name, program->ranks(), fabric.name(), fabric.ranks()));
  }
  const auto lowered_of = [&](const ProgramOutline& outline) {
    LoweredProgram lowered = Lowering(outline, fabric, model, call, config, start_delays_s).run();
    lowered.outline = program;
    if (lowered.folded) lowered.messages = std::make_shared<const MessageIndex>(*program);
    return lowered;
  };
  if (!program->has_loops()) return lowered_of(*program);
  const bool worthwhile = folding == Folding::Always ||
                          (folding == Folding::Large && program->instructions() > kFoldedSteps);
  if (worthwhile && tiles_in(*program, call, config) == 1) {
    try {
      return lowered_of(*program);
    } catch (const CannotFold&) {
    }
  }
  return lowered_of(program->unrolled());
}

LoweredProgram lower_some(std::shared_ptr<const ProgramOutline> program, const Fabric& fabric,
                          const CostModel& model, const Call& call, const Config& config,
                          const LaunchedBlocks& launched) {
  LoweredProgram lowered = Lowering(*program, fabric, model, call, config, {}, launched).run();
  lowered.outline = std::move(program);
  return lowered;
}

LoweredProgram lower(std::shared_ptr<const ThreadBlockProgram> program, const Fabric& fabric,
                     const CostModel& model, const Call& call, const Config& config,
                     std::span<const double> start_delays_s, Folding folding) {
  const bool fold = folding == Folding::Always ||
                    (folding == Folding::Large && program->instructions() > kFoldedSteps);
  LoweredProgram lowered = lower(std::make_shared<const ProgramOutline>(outline_of(*program, fold)),
                                 fabric, model, call, config, start_delays_s, folding);
  lowered.program = std::move(program);
  return lowered;
}

}  // namespace cclgym
