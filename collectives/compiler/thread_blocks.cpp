#include "collectives/compiler/thread_blocks.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "collectives/compiler/wait_reducer.hpp"
#include "core/index.hpp"

namespace cclgym {

namespace {

constexpr std::int32_t kNone = -1;

/// One end of a connection in a kernel: a rank's side of the messages to or from a peer on a
/// channel.
struct Endpoint {
  std::int32_t rank;
  std::int32_t kernel;
  std::int32_t channel;
  std::int32_t peer;
  bool sends;
  std::int32_t block = kNone;
  /// True if it has grouped messages, which share a transfer with other connections: a wait of one
  /// of these is a wait of all, so a block of both directions could wait for itself.
  bool grouped = false;
};

struct Block {
  std::int32_t rank;
  std::int32_t kernel;
  std::int32_t channel;
  std::int32_t send_peer = kNone;
  std::int32_t recv_peer = kNone;
  std::int32_t steps = 0;
  std::int32_t id = kNone;  ///< on its rank
};

class Assignment {
 public:
  Assignment(const Program& program, const InstructionDag& dag, const BlockSharing& sharing)
      : program_(program), dag_(dag) {
    find_endpoints();
    partner_.assign(endpoints_.size(), kNone);
    pair_fused();
    if (sharing.both_directions) pair_peers();
    if (sharing.forwarding) pair_forwarding();
    make_peer_blocks();
    place_messages();
    place_local_instructions();
  }

  [[nodiscard]] ThreadBlockProgram emit();
  /// Largest number of blocks of a kernel on a rank.
  [[nodiscard]] std::int64_t most_resident() const;

 private:
  void find_endpoints();
  void pair_fused();
  void pair_forwarding();
  void pair_peers();
  void pair(std::int32_t a, std::int32_t b) {
    if (partner_[at(a)] != kNone || partner_[at(b)] != kNone) return;
    if (endpoints_[at(a)].grouped || endpoints_[at(b)].grouped) return;
    partner_[at(a)] = b;
    partner_[at(b)] = a;
  }
  void make_peer_blocks();
  void place_messages();
  void place_local_instructions();
  void number_blocks();
  [[nodiscard]] ThreadBlockProgram empty_program() const;
  [[nodiscard]] std::vector<bool> steps_waited_for() const;

  const Program& program_;
  const InstructionDag& dag_;
  std::vector<Endpoint> endpoints_;     ///< in the order of their first use
  std::vector<std::int32_t> sends_on_;  ///< by instruction: endpoint; kNone: sends nothing
  std::vector<std::int32_t> receives_on_;
  std::vector<std::int32_t> partner_;  ///< by endpoint: the endpoint with which it shares a block
  std::vector<Block> blocks_;
  std::vector<std::int32_t> block_of_;  ///< by instruction
};

void Assignment::find_endpoints() {
  std::unordered_map<std::uint64_t, std::int32_t> known;
  const auto ranks = static_cast<std::uint64_t>(program_.contract.ranks());
  const auto channels = static_cast<std::uint64_t>(program_.channels);
  const auto kernels = static_cast<std::uint64_t>(program_.kernels());
  const auto endpoint = [&](const InstructionNode& node, std::int32_t peer, bool sending) {
    if (peer == kNone) return kNone;
    const std::uint64_t key =
        (((static_cast<std::uint64_t>(node.rank) * ranks + static_cast<std::uint64_t>(peer)) *
              channels +
          static_cast<std::uint64_t>(node.channel)) *
             kernels +
         static_cast<std::uint64_t>(node.kernel)) *
            2 +
        (sending ? 1 : 0);
    const auto [entry, is_new] = known.try_emplace(key, static_cast<std::int32_t>(known.size()));
    if (is_new) endpoints_.push_back({node.rank, node.kernel, node.channel, peer, sending});
    if (node.group != kNoGroup) endpoints_[at(entry->second)].grouped = true;
    return entry->second;
  };
  for (const InstructionNode& node : dag_.nodes) {
    receives_on_.push_back(endpoint(node, node.recv_peer, false));
    sends_on_.push_back(endpoint(node, node.send_peer, true));
  }
}

void Assignment::pair_fused() {
  for (std::size_t i = 0; i < dag_.nodes.size(); ++i) {
    if (receives_on_[i] != kNone && sends_on_[i] != kNone) pair(receives_on_[i], sends_on_[i]);
  }
}

void Assignment::pair_forwarding() {
  struct Pair {
    std::int32_t receive;
    std::int32_t send;
    std::int64_t messages;
  };
  std::unordered_map<std::uint64_t, std::int64_t> forwarded;
  for (std::size_t i = 0; i < dag_.nodes.size(); ++i) {
    if (sends_on_[i] == kNone || partner_[at(sends_on_[i])] != kNone) continue;
    for (const InstructionEdge& edge : dag_.predecessors(i)) {
      const std::size_t source = at(edge.instruction);
      if (edge.kind != DependenceKind::True || receives_on_[source] == kNone) continue;
      if (dag_.nodes[source].channel != dag_.nodes[i].channel) continue;
      const auto receive = static_cast<std::uint64_t>(receives_on_[source]);
      const auto send = static_cast<std::uint64_t>(sends_on_[i]);
      ++forwarded[receive << 32U | send];
    }
  }
  std::vector<Pair> pairs;
  pairs.reserve(forwarded.size());
  for (const auto& [key, messages] : forwarded) {
    pairs.push_back({static_cast<std::int32_t>(key >> 32U),
                     static_cast<std::int32_t>(key & 0xffffffffU), messages});
  }
  // The busiest pair comes first; ties are in order of first use, not of the hash table.
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return std::tie(b.messages, a.receive, a.send) < std::tie(a.messages, b.receive, b.send);
  });
  for (const Pair& each : pairs) pair(each.receive, each.send);
}

void Assignment::pair_peers() {
  std::unordered_map<std::uint64_t, std::int32_t> waiting;  // by rank, peer, channel and kernel
  const auto ranks = static_cast<std::uint64_t>(program_.contract.ranks());
  const auto channels = static_cast<std::uint64_t>(program_.channels);
  const auto kernels = static_cast<std::uint64_t>(program_.kernels());
  for (std::size_t i = 0; i < endpoints_.size(); ++i) {
    if (partner_[i] != kNone) continue;
    const Endpoint& endpoint = endpoints_[i];
    const std::uint64_t key = ((static_cast<std::uint64_t>(endpoint.rank) * ranks +
                                static_cast<std::uint64_t>(endpoint.peer)) *
                                   channels +
                               static_cast<std::uint64_t>(endpoint.channel)) *
                                  kernels +
                              static_cast<std::uint64_t>(endpoint.kernel);
    const auto [entry, is_new] = waiting.try_emplace(key, static_cast<std::int32_t>(i));
    if (!is_new) pair(entry->second, static_cast<std::int32_t>(i));
  }
}

void Assignment::make_peer_blocks() {
  for (std::size_t i = 0; i < endpoints_.size(); ++i) {
    Endpoint& endpoint = endpoints_[i];
    const std::int32_t partner = partner_[i];
    if (partner != kNone && endpoints_[at(partner)].block != kNone) {
      endpoint.block = endpoints_[at(partner)].block;
    } else {
      endpoint.block = static_cast<std::int32_t>(blocks_.size());
      blocks_.push_back({endpoint.rank, endpoint.kernel, endpoint.channel});
    }
    Block& block = blocks_[at(endpoint.block)];
    (endpoint.sends ? block.send_peer : block.recv_peer) = endpoint.peer;
  }
}

void Assignment::place_messages() {
  block_of_.assign(dag_.nodes.size(), kNone);
  for (std::size_t i = 0; i < dag_.nodes.size(); ++i) {
    const std::int32_t endpoint = sends_on_[i] != kNone ? sends_on_[i] : receives_on_[i];
    if (endpoint != kNone) block_of_[i] = endpoints_[at(endpoint)].block;
  }
}

void Assignment::place_local_instructions() {
  // Each local instruction goes to the block of its producer, in order, so that chains of local
  // instructions stay together.
  for (std::size_t i = 0; i < dag_.nodes.size(); ++i) {
    if (!dag_.nodes[i].local()) continue;
    std::int32_t producer = kNone;
    for (const InstructionEdge& edge : dag_.predecessors(i)) {
      if (edge.kind != DependenceKind::True || edge.instruction < producer) continue;
      if (block_of_[at(edge.instruction)] == kNone) continue;
      if (dag_.nodes[at(edge.instruction)].channel == dag_.nodes[i].channel) {
        producer = edge.instruction;
      }
    }
    if (producer != kNone) block_of_[i] = block_of_[at(producer)];
  }
  // Other local instructions go to the block of their first user, in reverse order, so that users
  // are placed before producers and the first user decides.
  std::vector<bool> unplaced(dag_.nodes.size());
  for (std::size_t i = 0; i < unplaced.size(); ++i) unplaced[i] = block_of_[i] == kNone;
  for (std::size_t i = dag_.nodes.size(); i-- > 0;) {
    if (block_of_[i] == kNone) continue;
    for (const InstructionEdge& edge : dag_.predecessors(i)) {
      const std::size_t source = at(edge.instruction);
      const bool same_channel = dag_.nodes[source].channel == dag_.nodes[i].channel;
      if (edge.kind == DependenceKind::True && unplaced[source] && same_channel) {
        block_of_[source] = block_of_[i];
      }
    }
  }
  std::unordered_map<std::uint64_t, std::int32_t> peerless;  // by rank, kernel and channel
  const auto kernels = static_cast<std::uint64_t>(program_.kernels());
  for (std::size_t i = 0; i < dag_.nodes.size(); ++i) {
    if (block_of_[i] != kNone) continue;
    const InstructionNode& node = dag_.nodes[i];
    const std::uint64_t key =
        (static_cast<std::uint64_t>(node.rank) * kernels + static_cast<std::uint64_t>(node.kernel))
            << 32U |
        static_cast<std::uint64_t>(node.channel);
    const auto [entry, is_new] =
        peerless.try_emplace(key, static_cast<std::int32_t>(blocks_.size()));
    if (is_new) blocks_.push_back({node.rank, node.kernel, node.channel});
    block_of_[i] = entry->second;
  }
}

void Assignment::number_blocks() {
  for (const std::int32_t block : block_of_) ++blocks_[at(block)].steps;
  std::vector<std::int32_t> order(blocks_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  std::sort(order.begin(), order.end(), [this](std::int32_t a, std::int32_t b) {
    const Block& x = blocks_[at(a)];
    const Block& y = blocks_[at(b)];
    return std::tie(x.rank, x.kernel, x.channel, a) < std::tie(y.rank, y.kernel, y.channel, b);
  });
  std::int32_t rank = kNone;
  std::int32_t next = 0;
  for (const std::int32_t i : order) {
    Block& block = blocks_[at(i)];
    if (block.rank != rank) next = 0;
    rank = block.rank;
    block.id = next++;
  }
}

ThreadBlockProgram Assignment::empty_program() const {
  ThreadBlockProgram result;
  result.name = program_.name;
  result.contract = program_.contract;
  result.channels = program_.channels;
  result.gates = program_.gates;
  result.gpus.resize(at(program_.contract.ranks()));
  for (std::size_t rank = 0; rank < result.gpus.size(); ++rank) {
    GpuProgram& gpu = result.gpus[rank];
    gpu.input_chunks = program_.contract.input_chunks(static_cast<int>(rank));
    gpu.output_chunks = program_.contract.output_chunks(static_cast<int>(rank));
    gpu.scratch_chunks = program_.scratch_chunks.empty() ? 0 : program_.scratch_chunks[rank];
  }
  std::vector<std::int32_t> blocks_of_rank(result.gpus.size(), 0);
  for (const Block& block : blocks_) ++blocks_of_rank[at(block.rank)];
  for (std::size_t rank = 0; rank < result.gpus.size(); ++rank) {
    result.gpus[rank].thread_blocks.resize(at(blocks_of_rank[rank]));
  }
  for (const Block& block : blocks_) {
    ThreadBlock& made = result.gpus[at(block.rank)].thread_blocks[at(block.id)];
    made.send_peer = block.send_peer;
    made.recv_peer = block.recv_peer;
    made.channel = block.channel;
    made.kernel = block.kernel;
    made.steps.reserve(at(block.steps));
  }
  return result;
}

std::vector<bool> Assignment::steps_waited_for() const {
  std::vector<bool> waited_for(dag_.nodes.size(), false);
  for (std::size_t i = 0; i < dag_.nodes.size(); ++i) {
    for (const InstructionEdge& edge : dag_.predecessors(i)) {
      if (block_of_[at(edge.instruction)] != block_of_[i]) waited_for[at(edge.instruction)] = true;
    }
  }
  return waited_for;
}

std::int64_t Assignment::most_resident() const {
  const std::size_t ranks = at(program_.contract.ranks());
  std::vector<std::int64_t> blocks;  // by kernel and rank
  for (const Block& block : blocks_) {
    const std::size_t place = at(block.kernel) * ranks + at(block.rank);
    if (place >= blocks.size()) blocks.resize((at(block.kernel) + 1) * ranks, 0);
    ++blocks[place];
  }
  return blocks.empty() ? 0 : *std::max_element(blocks.begin(), blocks.end());
}

ThreadBlockProgram Assignment::emit() {
  number_blocks();
  ThreadBlockProgram result = empty_program();
  const std::vector<bool> waited_for = steps_waited_for();
  WaitReducer reducer(blocks_.size());
  std::vector<std::int32_t> step_of(dag_.nodes.size());
  std::vector<WaitReducer::Wait> waits;
  for (std::size_t i = 0; i < dag_.nodes.size(); ++i) {
    const InstructionNode& node = dag_.nodes[i];
    const std::int32_t own = block_of_[i];
    auto& steps = result.gpus[at(node.rank)].thread_blocks[at(blocks_[at(own)].id)].steps;
    step_of[i] = static_cast<std::int32_t>(steps.size());
    waits.clear();
    for (const InstructionEdge& edge : dag_.predecessors(i)) {
      const std::int32_t other = block_of_[at(edge.instruction)];
      if (other != own) waits.push_back({other, step_of[at(edge.instruction)]});
    }
    reducer.add_step(own, step_of[i], waited_for[i], waits);
    Instruction& instruction = steps.emplace_back(Instruction{
        node.opcode, node.source, node.target, node.count, {}, node.group, node.answers});
    for (const WaitReducer::Wait& wait : waits) {
      instruction.dependencies.push_back({blocks_[at(wait.block)].id, wait.step});
    }
    std::sort(instruction.dependencies.begin(), instruction.dependencies.end());
  }
  return result;
}

}  // namespace

ThreadBlockProgram assign_thread_blocks(const Program& program, const InstructionDag& dag,
                                        const BlockSharing& sharing) {
  return Assignment(program, dag, sharing).emit();
}

std::int64_t count_resident_blocks(const Program& program, const InstructionDag& dag,
                                   const BlockSharing& sharing) {
  return Assignment(program, dag, sharing).most_resident();
}

}  // namespace cclgym
