#include "sim/lowering.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fmt/core.h>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/error.hpp"
#include "sim/transfer_cost.hpp"

namespace cclgym {

namespace {

// The nodes that must be done for a step to be done. A receive needs no node of its own as long as
// two of them say it all, so that a ring costs one flow a step and peer.
struct Completion {
  std::array<TransferId, 2> nodes{-1, -1};

  [[nodiscard]] int size() const { return nodes[0] < 0 ? 0 : (nodes[1] < 0 ? 1 : 2); }
  [[nodiscard]] bool contains(TransferId node) const {
    return nodes[0] == node || nodes[1] == node;
  }
};

// One direction of a channel between two ranks; exactly one thread block at either end.
struct Connection {
  std::int32_t source_block = -1;
  std::int32_t target_block = -1;
  std::vector<TransferId> flows;           // in the order of the sends
  std::vector<std::int32_t> source_steps;  // step of each send
  std::vector<std::int32_t> target_steps;  // step of each receive
};

std::uint64_t connection_key(int source, int target, int channel, int kernel) {
  // 22 bits a rank, 12 a channel, 8 a kernel: far above any program's size.
  return (static_cast<std::uint64_t>(source) << 42) | (static_cast<std::uint64_t>(target) << 20) |
         (static_cast<std::uint64_t>(channel) << 8) | static_cast<std::uint64_t>(kernel);
}

class Lowering {
 public:
  Lowering(std::shared_ptr<const ThreadBlockProgram> program, const Fabric& fabric,
           const CostModel& model, const Call& call, const Config& config,
           std::span<const double> start_delays_s)
      : program_(std::move(program)),
        fabric_(fabric),
        model_(model),
        config_(config),
        start_delays_s_(start_delays_s),
        tiles_(tiles_of(static_cast<double>(call.bytes) / program_->contract.chunks_per_call() *
                            longest_message(*program_),
                        config)),
        tile_bytes_(static_cast<double>(call.bytes) / program_->contract.chunks_per_call() /
                    tiles_) {}

  LoweredProgram run() {
    graph_ = std::make_shared<TransferGraph>();
    graph_->set_link_capacities(link_capacities(fabric_, model_));
    add_starts();
    index_blocks();
    find_connections();
    add_flows();
    for_each_step([this](int rank, int block, int step) { complete(rank, block, step); });
    for_each_step([this](int rank, int block, int step) { connect(rank, block, step); });
    connect_kernels();
    collect_last();
    graph_->finish();
    LoweredProgram lowered;
    lowered.program = program_;
    lowered.steps = longest_chain(*graph_);
    lowered.tiles = tiles_;
    lowered.graph = std::move(graph_);
    lowered.origins = std::move(origins_);
    lowered.rank_last_offset = std::move(rank_last_offset_);
    lowered.rank_last = std::move(rank_last_);
    return lowered;
  }

 private:
  [[nodiscard]] const ThreadBlock& block_at(int rank, int block) const {
    return program_->gpus[static_cast<std::size_t>(rank)]
        .thread_blocks[static_cast<std::size_t>(block)];
  }
  [[nodiscard]] const Instruction& step_at(int rank, int block, int step) const {
    return block_at(rank, block).steps[static_cast<std::size_t>(step)];
  }
  [[nodiscard]] std::size_t step_index(int rank, int block, int step) const {
    return first_step_[static_cast<std::size_t>(first_block_[static_cast<std::size_t>(rank)] +
                                                block)] +
           static_cast<std::size_t>(step);
  }
  [[nodiscard]] Completion& completion_of(int rank, int block, int step) {
    return completions_[step_index(rank, block, step)];
  }

  template <typename Visit>
  void for_each_step(Visit visit) {
    for (int rank = 0; rank < static_cast<int>(program_->gpus.size()); ++rank) {
      const GpuProgram& gpu = program_->gpus[static_cast<std::size_t>(rank)];
      for (int block = 0; block < static_cast<int>(gpu.thread_blocks.size()); ++block) {
        const int steps =
            static_cast<int>(gpu.thread_blocks[static_cast<std::size_t>(block)].steps.size());
        for (int step = 0; step < steps; ++step) visit(rank, block, step);
      }
    }
  }

  // Those that connect GPUs: a kernel that only copies needs none.
  [[nodiscard]] std::vector<int> channels_by_kernel() const {
    std::vector<int> channels(static_cast<std::size_t>(program_->kernels()), 0);
    for (const GpuProgram& gpu : program_->gpus) {
      for (const ThreadBlock& block : gpu.thread_blocks) {
        if (block.send_peer < 0 && block.recv_peer < 0) continue;
        int& count = channels[static_cast<std::size_t>(block.kernel)];
        count = std::max(count, block.channel + 1);
      }
    }
    return channels;
  }

  void add_starts() {
    const int kernels = program_->kernels();
    const std::vector<int> channels = channels_by_kernel();
    for (int rank = 0; rank < fabric_.ranks(); ++rank) {
      std::vector<int> blocks(static_cast<std::size_t>(kernels), 0);
      for (const ThreadBlock& block :
           program_->gpus[static_cast<std::size_t>(rank)].thread_blocks) {
        ++blocks[static_cast<std::size_t>(block.kernel)];
      }
      TransferId launched = -1;
      for (int kernel = 0; kernel < kernels; ++kernel) {
        double delay_s =
            launch_cost_s(model_, program_->runtime, channels[static_cast<std::size_t>(kernel)],
                          blocks[static_cast<std::size_t>(kernel)]);
        if (kernel == 0 && !start_delays_s_.empty()) {
          delay_s += start_delays_s_[static_cast<std::size_t>(rank)];
        }
        const TransferId before = launched;
        if (delay_s > 0) {
          launched =
              add_local_node(delay_s, {.rank = rank, .step = kernel, .role = NodeRole::Launch});
          if (before >= 0) graph_->add_edge(before, launched);
        }
        starts_.push_back(
            kernel == 0 ? launched
                        : add_local_node(model_.hockney ? 0 : model_.kernel_gap_s,
                                         {.rank = rank, .step = kernel, .role = NodeRole::Start}));
        if (kernel > 0 && launched >= 0) graph_->add_edge(launched, starts_.back());
      }
    }
  }
  [[nodiscard]] TransferId& start_of(int rank, int kernel) {
    return starts_[static_cast<std::size_t>(rank * program_->kernels() + kernel)];
  }

  // One flat number for each step of the program.
  void index_blocks() {
    std::size_t steps = 0;
    for (const GpuProgram& gpu : program_->gpus) {
      first_block_.push_back(static_cast<std::int32_t>(first_step_.size()));
      for (const ThreadBlock& block : gpu.thread_blocks) {
        first_step_.push_back(steps);
        steps += block.steps.size();
      }
    }
    completions_.resize(steps);
    own_node_.assign(steps, -1);
    arrival_.assign(steps, -1);
  }

  void find_connections() {
    for_each_step([this](int rank, int block, int step) {
      const ThreadBlock& tb = block_at(rank, block);
      const Opcode opcode = step_at(rank, block, step).opcode;
      if (sends(opcode)) {
        Connection& c = connections_[connection_key(rank, tb.send_peer, tb.channel, tb.kernel)];
        claim(c.source_block, block, rank, tb.send_peer, tb.channel, "send");
        c.source_steps.push_back(step);
      }
      if (receives(opcode)) {
        Connection& c = connections_[connection_key(tb.recv_peer, rank, tb.channel, tb.kernel)];
        claim(c.target_block, block, tb.recv_peer, rank, tb.channel, "receive");
        c.target_steps.push_back(step);
      }
    });
  }

  void claim(std::int32_t& owner, int block, int source, int target, int channel,
             const char* direction) const {
    if (owner >= 0 && owner != block) {
      throw UserError(fmt::format(
          "program '{}': thread blocks {} and {} both {} on the connection rank {} -> rank {}, "
          "channel {}; a connection belongs to one thread block at either end",
          program_->name, owner, block, direction, source, target, channel));
    }
    owner = block;
  }

  void add_flows() {
    for_each_step([this](int rank, int block, int step) {
      const Instruction& instruction = step_at(rank, block, step);
      if (!sends(instruction.opcode)) return;
      const ThreadBlock& tb = block_at(rank, block);
      Connection& c = connections_.at(connection_key(rank, tb.send_peer, tb.channel, tb.kernel));
      const std::size_t k = c.flows.size();
      if (k >= c.target_steps.size()) {
        throw UserError(fmt::format("program '{}': {} sends a message that nobody receives",
                                    program_->name, describe_step(*program_, rank, block, step)));
      }
      const int target_step = c.target_steps[k];
      const Instruction& receive = step_at(tb.send_peer, c.target_block, target_step);
      if (receive.count != instruction.count) {
        throw UserError(fmt::format(
            "program '{}': {} sends {} chunks, but {} expects {}", program_->name,
            describe_step(*program_, rank, block, step), instruction.count,
            describe_step(*program_, tb.send_peer, c.target_block, target_step), receive.count));
      }
      const NodeOrigin origin{rank, block, step, tb.send_peer, c.target_block, target_step};
      const Message message = add_message(origin, tb.channel, instruction.count,
                                          reduces(instruction.opcode) || reduces(receive.opcode));
      c.flows.push_back(message.flow);
      own_node_[step_index(rank, block, step)] = message.flow;
      arrival_[step_index(tb.send_peer, c.target_block, target_step)] = message.arrival;
    });
  }

  struct Message {
    TransferId flow;
    TransferId arrival;  // when the receiver has it: the flow itself if flight takes no time
  };

  Message add_message(const NodeOrigin& origin, int channel, int chunks, bool reducing) {
    const std::uint64_t key = connection_key(origin.rank, origin.peer_rank, channel, 0);
    auto found = routes_.find(key);
    if (found == routes_.end()) {
      std::vector<LinkId> links = fabric_.route(origin.rank, origin.peer_rank, channel);
      const std::int32_t id = graph_->add_route(links);
      found = routes_.emplace(key, Route{id, std::move(links)}).first;
    }
    const TransferCost cost = transfer_cost(model_, fabric_, found->second.links, config_,
                                            program_->runtime, tile_bytes_ * chunks, reducing);
    origins_.push_back(origin);
    const TransferId flow = graph_->add_flow(found->second.id, cost.wire_bytes, cost.latency_s,
                                             cost.rate_cap_Bps, tiles_);
    if (cost.arrival_s == 0) return {flow, flow};
    const TransferId arrival =
        add_local_node(cost.arrival_s, {.rank = origin.peer_rank,
                                        .thread_block = origin.peer_thread_block,
                                        .step = origin.peer_step,
                                        .role = NodeRole::Arrival});
    graph_->add_edge(flow, arrival);
    return {flow, arrival};
  }

  TransferId add_local_node(double delay_s, const NodeOrigin& origin) {
    origins_.push_back(origin);
    return graph_->add_delay(delay_s, origin.thread_block < 0 ? 1 : tiles_,
                             origin.role == NodeRole::Arrival);
  }
  [[nodiscard]] bool is_launch(TransferId node) const {
    return origins_[static_cast<std::size_t>(node)].thread_block < 0;
  }

  // What a step waits for in its own block, within a tile.
  [[nodiscard]] Completion before(int rank, int block, int step) {
    if (step > 0) return completion_of(rank, block, step - 1);
    return {{start_of(rank, block_at(rank, block).kernel), -1}};
  }

  // Decides which nodes stand for the completion of a step, adding a node where one is needed.
  void complete(int rank, int block, int step) {
    const Instruction& instruction = step_at(rank, block, step);
    const std::size_t index = step_index(rank, block, step);
    if (sends(instruction.opcode)) {
      completions_[index] = {{own_node_[index], -1}};
      return;
    }
    const double cost_s = local_cost_s(model_, config_, program_->runtime, instruction.opcode,
                                       tile_bytes_ * instruction.count);
    if (cost_s == 0 && receives(instruction.opcode) && instruction.dependencies.empty() &&
        arrival_[index] >= 0 && (tiles_ == 1 || step > 0 || only_receives(rank, block))) {
      if (const auto merged = merge_receive(rank, block, step)) {
        completions_[index] = *merged;
        return;
      }
    }
    const TransferId node = add_local_node(cost_s, {rank, block, step});
    own_node_[index] = node;
    completions_[index] = {{node, -1}};
    // Taking a message out of the FIFO goes on while it arrives.
    if (takes_while_arriving(index, instruction.opcode))
      completions_[index].nodes[1] = arrival_[index];
  }

  [[nodiscard]] bool takes_while_arriving(std::size_t index, Opcode opcode) const {
    return receives(opcode) && !sends(opcode) && arrival_[index] >= 0 && own_node_[index] >= 0 &&
           graph_->latency_s(own_node_[index]) > 0;
  }

  // With tiles, a block's first step also waits for its last step of the tile before. In a block
  // that only receives, the order of the flows says that already; elsewhere the first step needs a
  // node.
  [[nodiscard]] bool only_receives(int rank, int block) const {
    const std::vector<Instruction>& steps = block_at(rank, block).steps;
    return std::all_of(steps.begin(), steps.end(), [](const Instruction& step) {
      return step.opcode == Opcode::Recv && step.dependencies.empty();
    });
  }

  // "Flow arrived and previous step done" as at most two nodes, or nothing if it takes more.
  std::optional<Completion> merge_receive(int rank, int block, int step) {
    const TransferId flow = arrival_[step_index(rank, block, step)];
    Completion merged{{flow, -1}};
    const Completion previous = before(rank, block, step);
    for (int i = 0; i < previous.size(); ++i) {
      const TransferId node = previous.nodes[static_cast<std::size_t>(i)];
      if (implied_by(node, flow)) continue;
      // A launch is done once, not once a tile: a sender short of slots could not tell for which
      // tile it waits.
      if (tiles_ > 1 && config_.slots > 0 && is_launch(node)) return std::nullopt;
      if (merged.size() == 2) return std::nullopt;
      merged.nodes[1] = node;
    }
    return merged;
  }

  // An earlier flow of the same connection is done before this one starts, because the sending
  // block runs its steps in order.
  [[nodiscard]] bool implied_by(TransferId node, TransferId flow) const {
    const NodeOrigin& a = origins_[static_cast<std::size_t>(node)];
    const NodeOrigin& b = origins_[static_cast<std::size_t>(flow)];
    return a.peer_rank >= 0 && a.rank == b.rank && a.thread_block == b.thread_block &&
           a.step < b.step;
  }

  // The edges into the node that stands for a step, if it has one.
  void connect(int rank, int block, int step) {
    const std::size_t index = step_index(rank, block, step);
    const TransferId node = own_node_[index];
    if (node < 0) return;
    const Instruction& instruction = step_at(rank, block, step);
    std::vector<std::pair<TransferId, std::int32_t>>& sources = scratch_sources_;
    sources.clear();
    const auto add = [this, &sources](const Completion& completion, std::int32_t lag) {
      for (int i = 0; i < completion.size(); ++i) {
        const TransferId source = completion.nodes[static_cast<std::size_t>(i)];
        const bool once = tiles_ > 1 && is_launch(source);
        sources.emplace_back(source, once ? TransferGraph::kFirstOnly : lag);
      }
    };
    add(before(rank, block, step), 0);
    if (step == 0 && tiles_ > 1) {
      const auto steps = static_cast<int>(block_at(rank, block).steps.size());
      add(completion_of(rank, block, steps - 1), 1);
    }
    for (const StepRef& dependency : instruction.dependencies) {
      add(completion_of(rank, dependency.thread_block, dependency.step), 0);
    }
    if (receives(instruction.opcode)) {
      if (arrival_[index] < 0) {
        graph_->add_unsatisfiable_dependency(node);
      } else if (!takes_while_arriving(index, instruction.opcode)) {
        sources.emplace_back(arrival_[index], 0);
      }
    }
    if (sends(instruction.opcode) && config_.slots > 0) {
      const ThreadBlock& tb = block_at(rank, block);
      const Connection& c =
          connections_.at(connection_key(rank, tb.send_peer, tb.channel, tb.kernel));
      if (const auto freed = slot_freed_by(c, node)) {
        add(completion_of(tb.send_peer, c.target_block, freed->first), freed->second);
      }
    }
    // Of several edges from one node, the one of the smallest lag says it all.
    std::sort(sources.begin(), sources.end());
    TransferId last = -1;
    for (const auto& [source, lag] : sources) {
      // A node's firings are in order by themselves.
      if (source != last && !(source == node && lag > 0)) graph_->add_edge(source, node, lag);
      last = source;
    }
  }

  // The receive (a step of the connection's target block, and how many tiles earlier) that frees
  // the slot which a flow moves into: of m messages a tile, the one `slots` messages before it.
  [[nodiscard]] std::optional<std::pair<int, std::int32_t>> slot_freed_by(const Connection& c,
                                                                          TransferId flow) const {
    const auto messages = static_cast<std::int32_t>(c.flows.size());
    const auto position = static_cast<std::int32_t>(
        std::lower_bound(c.flows.begin(), c.flows.end(), flow) - c.flows.begin());
    std::int32_t freed = position - config_.slots;
    std::int32_t lag = 0;
    for (; freed < 0; freed += messages) ++lag;
    if (lag >= tiles_) return std::nullopt;
    return std::pair{c.target_steps[static_cast<std::size_t>(freed)], lag};
  }

  // A kernel waits for all thread blocks of the one before it on its rank, on their last tile.
  void connect_kernels() {
    const std::int32_t lag = tiles_ > 1 ? TransferGraph::kAfterLast : 0;
    const int kernels = program_->kernels();
    for (int rank = 0; rank < fabric_.ranks() && kernels > 1; ++rank) {
      for (int kernel = 1; kernel < kernels; ++kernel) {
        const TransferId before = start_of(rank, kernel - 1);
        if (before >= 0) graph_->add_edge(before, start_of(rank, kernel));
      }
      const auto& blocks = program_->gpus[static_cast<std::size_t>(rank)].thread_blocks;
      for (std::size_t block = 0; block < blocks.size(); ++block) {
        const int next = blocks[block].kernel + 1;
        const int steps = static_cast<int>(blocks[block].steps.size());
        if (steps == 0 || next >= kernels) continue;
        const Completion& last = completion_of(rank, static_cast<int>(block), steps - 1);
        for (int i = 0; i < last.size(); ++i) {
          const TransferId node = last.nodes[static_cast<std::size_t>(i)];
          graph_->add_edge(node, start_of(rank, next), is_launch(node) ? 0 : lag);
        }
      }
    }
  }

  void collect_last() {
    rank_last_offset_.push_back(0);
    for (int rank = 0; rank < fabric_.ranks(); ++rank) {
      const GpuProgram& gpu = program_->gpus[static_cast<std::size_t>(rank)];
      std::vector<TransferId>& last = scratch_;
      last.clear();
      for (int kernel = 0; kernel < program_->kernels(); ++kernel) {
        if (start_of(rank, kernel) >= 0) last.push_back(start_of(rank, kernel));
      }
      for (std::size_t block = 0; block < gpu.thread_blocks.size(); ++block) {
        const int steps = static_cast<int>(gpu.thread_blocks[block].steps.size());
        if (steps == 0) continue;
        const Completion& c = completion_of(rank, static_cast<int>(block), steps - 1);
        for (int i = 0; i < c.size(); ++i) last.push_back(c.nodes[static_cast<std::size_t>(i)]);
      }
      rank_last_.insert(rank_last_.end(), last.begin(), last.end());
      rank_last_offset_.push_back(rank_last_.size());
    }
  }

  struct Route {
    std::int32_t id;
    std::vector<LinkId> links;
  };

  std::shared_ptr<const ThreadBlockProgram> program_;
  const Fabric& fabric_;
  const CostModel& model_;
  const Config& config_;
  std::span<const double> start_delays_s_;
  std::int32_t tiles_;
  double tile_bytes_;  // of one chunk
  std::shared_ptr<TransferGraph> graph_;
  std::vector<NodeOrigin> origins_;
  std::vector<TransferId> starts_;         // by rank and kernel, -1: none
  std::vector<std::int32_t> first_block_;  // by rank
  std::vector<std::size_t> first_step_;    // by block, over all ranks
  std::vector<Completion> completions_;    // by step, over all ranks
  std::vector<TransferId> own_node_;       // by step: its node, -1: none
  std::vector<TransferId> arrival_;        // by step: what says its message is there, -1: none
  std::unordered_map<std::uint64_t, Connection> connections_;
  std::unordered_map<std::uint64_t, Route> routes_;
  std::vector<TransferId> scratch_;
  std::vector<std::pair<TransferId, std::int32_t>> scratch_sources_;  // node, lag
  std::vector<std::size_t> rank_last_offset_;
  std::vector<TransferId> rank_last_;
};

}  // namespace

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

LoweredProgram lower(std::shared_ptr<const ThreadBlockProgram> program, const Fabric& fabric,
                     const CostModel& model, const Call& call, const Config& config,
                     std::span<const double> start_delays_s) {
  if (static_cast<int>(program->gpus.size()) != fabric.ranks()) {
    throw UserError(fmt::format("program '{}' is for {} ranks, but fabric '{}' has {}",
                                program->name, program->gpus.size(), fabric.name(),
                                fabric.ranks()));
  }
  return Lowering(std::move(program), fabric, model, call, config, start_delays_s).run();
}

std::string describe_node(const LoweredProgram& lowered, TransferId node) {
  const NodeOrigin& origin = lowered.origins[static_cast<std::size_t>(node)];
  const std::string kernel =
      origin.step > 0 ? fmt::format(" of kernel {}", origin.step) : std::string();
  if (origin.role == NodeRole::Launch)
    return fmt::format("rank {}: kernel launch{}", origin.rank, kernel);
  if (origin.role == NodeRole::Start) return fmt::format("rank {}: start{}", origin.rank, kernel);
  return describe_step(*lowered.program, origin.rank, origin.thread_block, origin.step) +
         (origin.role == NodeRole::Arrival ? ", in flight" : "");
}

}  // namespace cclgym
