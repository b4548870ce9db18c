#include "sim/lowering.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <utility>

#include "core/error.hpp"
#include "sim/lowering_internal.hpp"
#include "sim/transfer_cost.hpp"

namespace cclgym {

Lowering::Lowering(std::shared_ptr<const ThreadBlockProgram> program, const Fabric& fabric,
                   const CostModel& model, const Call& call, const Config& config,
                   std::span<const double> start_delays_s)
    : program_(std::move(program)),
      kernels_(program_->kernels()),
      fabric_(fabric),
      model_(model),
      config_(config),
      start_delays_s_(start_delays_s),
      tiles_(tiles_of(static_cast<double>(call.bytes) / program_->contract.chunks_per_call() *
                          longest_message(*program_),
                      config)),
      tile_bytes_(static_cast<double>(call.bytes) / program_->contract.chunks_per_call() / tiles_) {
}

// The links of the fabric, and behind them, if they limit anything, one for the proxy of each rank:
// as fast as it is with the largest message of the program.
void Lowering::set_links() {
  std::vector<double> capacities = link_capacities(fabric_, model_);
  const double proxy_Bps =
      proxy_capacity_Bps(model_, config_.protocol, tile_bytes_ * longest_message(*program_));
  proxies_ = proxy_Bps < kNoRateCap;
  if (proxies_)
    capacities.insert(capacities.end(), static_cast<std::size_t>(fabric_.ranks()), proxy_Bps);
  graph_->set_link_capacities(std::move(capacities));
}

LoweredProgram Lowering::run() {
  graph_ = std::make_shared<TransferGraph>();
  set_links();
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
  lowered.fabric_links = fabric_.links().size();
  lowered.tiles = tiles_;
  lowered.graph = std::move(graph_);
  lowered.origins = std::move(origins_);
  lowered.rank_last_offset = std::move(rank_last_offset_);
  lowered.rank_last = std::move(rank_last_);
  return lowered;
}

// Those that connect GPUs: a kernel that only copies needs none.
std::vector<int> Lowering::channels_by_kernel() const {
  std::vector<int> channels(static_cast<std::size_t>(kernels_), 0);
  for (const GpuProgram& gpu : program_->gpus) {
    for (const ThreadBlock& block : gpu.thread_blocks) {
      if (block.send_peer < 0 && block.recv_peer < 0) continue;
      int& count = channels[static_cast<std::size_t>(block.kernel)];
      count = std::max(count, block.channel + 1);
    }
  }
  return channels;
}

void Lowering::add_starts() {
  const std::vector<int> channels = channels_by_kernel();
  for (int rank = 0; rank < fabric_.ranks(); ++rank) {
    std::vector<int> blocks(static_cast<std::size_t>(kernels_), 0);
    for (const ThreadBlock& block : program_->gpus[static_cast<std::size_t>(rank)].thread_blocks) {
      ++blocks[static_cast<std::size_t>(block.kernel)];
    }
    TransferId launched = -1;
    for (int kernel = 0; kernel < kernels_; ++kernel) {
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
// One flat number for each step of the program.
void Lowering::index_blocks() {
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

// A kernel waits for all thread blocks of the one before it on its rank, on their last tile.
void Lowering::connect_kernels() {
  const std::int32_t lag = tiles_ > 1 ? TransferGraph::kAfterLast : 0;
  for (int rank = 0; rank < fabric_.ranks() && kernels_ > 1; ++rank) {
    for (int kernel = 1; kernel < kernels_; ++kernel) {
      const TransferId before = start_of(rank, kernel - 1);
      if (before >= 0) graph_->add_edge(before, start_of(rank, kernel));
    }
    const auto& blocks = program_->gpus[static_cast<std::size_t>(rank)].thread_blocks;
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      const int next = blocks[block].kernel + 1;
      const int steps = static_cast<int>(blocks[block].steps.size());
      if (steps == 0 || next >= kernels_) continue;
      const Completion& last = completion_of(rank, static_cast<int>(block), steps - 1);
      for (int i = 0; i < last.size(); ++i) {
        const TransferId node = last.nodes[static_cast<std::size_t>(i)];
        graph_->add_edge(node, start_of(rank, next), is_launch(node) ? 0 : lag);
      }
    }
  }
}

void Lowering::collect_last() {
  rank_last_offset_.push_back(0);
  for (int rank = 0; rank < fabric_.ranks(); ++rank) {
    const GpuProgram& gpu = program_->gpus[static_cast<std::size_t>(rank)];
    std::vector<TransferId>& last = scratch_;
    last.clear();
    for (int kernel = 0; kernel < kernels_; ++kernel) {
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
