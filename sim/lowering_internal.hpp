// One lowering at work: the state that the parts of sim/lowering*.cpp share.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/lowering.hpp"

namespace cclgym {

/// Detours that a message may take where routes are adaptive (docs/fabrics.md says why so many).
inline constexpr int kDetours = 32;

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

inline std::uint64_t connection_key(int source, int target, int channel, int kernel) {
  // 22 bits a rank, 12 a channel, 8 a kernel: far above any program's size.
  return (static_cast<std::uint64_t>(source) << 42) | (static_cast<std::uint64_t>(target) << 20) |
         (static_cast<std::uint64_t>(channel) << 8) | static_cast<std::uint64_t>(kernel);
}

class Lowering {
 public:
  Lowering(std::shared_ptr<const ThreadBlockProgram> program, const Fabric& fabric,
           const CostModel& model, const Call& call, const Config& config,
           std::span<const double> start_delays_s);

  LoweredProgram run();

 private:
  struct Route {
    std::int32_t id;
    std::vector<LinkId> links;
  };
  struct Message {
    TransferId flow;
    TransferId arrival;  // when the receiver has it: the flow itself if flight takes no time
  };

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

  [[nodiscard]] TransferId& start_of(int rank, int kernel) {
    return starts_[static_cast<std::size_t>(rank * kernels_ + kernel)];
  }

  TransferId add_local_node(double delay_s, const NodeOrigin& origin) {
    origins_.push_back(origin);
    return graph_->add_delay(delay_s, origin.thread_block < 0 ? 1 : tiles_,
                             origin.role == NodeRole::Arrival);
  }
  [[nodiscard]] bool is_launch(TransferId node) const {
    return origins_[static_cast<std::size_t>(node)].thread_block < 0;
  }

  // sim/lowering.cpp: launches, kernels, the last nodes of each rank.
  [[nodiscard]] std::vector<int> channels_by_kernel() const;
  void add_starts();
  void index_blocks();
  void connect_kernels();
  void collect_last();

  // sim/lowering_messages.cpp: connections and their flows.
  void find_connections();
  void claim(std::int32_t& owner, int block, int source, int target, int channel,
             const char* direction) const;
  void add_flows();
  void set_links();
  [[nodiscard]] bool crosses_network(std::span<const LinkId> links) const;
  void add_alternatives(std::int32_t route, const NodeOrigin& origin, int channel,
                        std::span<const LinkId> links);
  Message add_message(const NodeOrigin& origin, int channel, int chunks, bool reducing);

  // sim/lowering_steps.cpp: completion of steps, and edges.
  [[nodiscard]] Completion before(int rank, int block, int step);
  void complete(int rank, int block, int step);
  [[nodiscard]] bool takes_while_arriving(std::size_t index, Opcode opcode) const;
  [[nodiscard]] bool only_receives(int rank, int block) const;
  std::optional<Completion> merge_receive(int rank, int block, int step);
  [[nodiscard]] bool implied_by(TransferId node, TransferId flow) const;
  void connect(int rank, int block, int step);
  [[nodiscard]] std::optional<std::pair<int, std::int32_t>> slot_freed_by(const Connection& c,
                                                                          TransferId flow) const;

  std::shared_ptr<const ThreadBlockProgram> program_;
  int kernels_;  // program_->kernels(), which looks at every block
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
  bool proxies_ = false;  // do messages over the network load the proxies of their ranks?
  std::unordered_map<std::uint64_t, Route> routes_;
  std::map<std::pair<NodeId, NodeId>, std::int32_t> ways_;  // between two switches, -1: one only
  std::vector<TransferId> scratch_;
  std::vector<std::pair<TransferId, std::int32_t>> scratch_sources_;  // node, lag
  std::vector<std::size_t> rank_last_offset_;
  std::vector<TransferId> rank_last_;
};

}  // namespace cclgym
