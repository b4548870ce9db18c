#include "agreement/explorer.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "collectives/memory_layout.hpp"
#include "support/index.hpp"

namespace cclgym::test {

namespace {

using Number = std::uint64_t;

Number mixed(Number a, Number b) {
  Number hash = (a ^ (b >> 32U)) * 0x9e3779b97f4a7c15U + b;
  hash = (hash ^ (hash >> 29U)) * 0xbf58476d1ce4e5b9U;
  return hash ^ (hash >> 32U);
}

/// A message: the send that fills it, and its position in the data of a state.
struct Message {
  std::size_t block = 0;  ///< the sender
  std::size_t step = 0;
  std::size_t begin = 0;
  std::size_t count = 0;
};

struct Step {
  const Instruction* instruction = nullptr;
  bool contended = false;        ///< true if another block uses one of its places and either writes
  const Message* in = nullptr;   ///< received message; null if there is none or it is never sent
  const Message* out = nullptr;  ///< sent message
  std::optional<Number> seen;    ///< hash of the values that it read the first time it ran
};

struct Block {
  int rank = 0;
  int kernel = 0;
  std::size_t registers = 0;  ///< start in a state's data
  std::vector<Step> steps;
};

/// The complete state of an execution at one moment.
struct State {
  std::vector<Number> data;          ///< places, then registers, then messages
  std::vector<std::uint32_t> turns;  ///< by block: two turns per step, loading and storing
  Number hash = 0;                   ///< hash of data and turns, updated incrementally
};

class Explorer {
 public:
  Explorer(const ThreadBlockProgram& program, std::size_t most_states)
      : program_(program), layout_(program.contract, scratch(program)), most_states_(most_states) {
    index_blocks();
    connect_messages();
    find_contended();
  }

  Exploration run() {
    std::vector<State> stack{initial()};  // from `height` on: free states, kept for their memory
    std::size_t height = 1;
    State state;
    std::unordered_set<Number> visited;
    std::vector<std::size_t> branches;
    while (height > 0) {
      std::swap(state, stack[--height]);
      advance(state);
      if (!visited.insert(state.hash).second) continue;
      if (++result_.states > most_states_) return result_;
      find_branches(state, branches);
      if (branches.empty()) finish(state);
      for (const std::size_t b : branches) {
        if (height == stack.size()) stack.emplace_back();
        stack[height] = state;
        turn(stack[height++], b);
      }
    }
    result_.complete = true;
    return result_;
  }

 private:
  static std::vector<std::int32_t> scratch(const ThreadBlockProgram& program) {
    std::vector<std::int32_t> chunks;
    for (const GpuProgram& gpu : program.gpus) chunks.push_back(gpu.scratch_chunks);
    return chunks;
  }

  void index_blocks() {
    data_size_ = layout_.size();
    for (int rank = 0; rank < std::ssize(program_.gpus); ++rank) {
      first_.push_back(blocks_.size());
      for (const ThreadBlock& of : program_.gpus[ix(rank)].thread_blocks) {
        Block block{rank, of.kernel, data_size_, {}};
        std::size_t registers = 0;
        for (const Instruction& step : of.steps) {
          block.steps.push_back({.instruction = &step, .in = nullptr, .out = nullptr, .seen = {}});
          registers = std::max(registers, ix(step.count));
        }
        data_size_ += registers;
        blocks_.push_back(std::move(block));
      }
    }
    first_.push_back(blocks_.size());
  }

  /// Matches the k-th send of a connection with its k-th receive; blocks of one rank are in kernel
  /// order.
  void connect_messages() {
    using Connection = std::tuple<int, int, int>;  // source, target, channel
    std::map<Connection, std::vector<Step*>> sends_of;
    std::map<Connection, std::vector<Step*>> receives_of;
    std::size_t messages = 0;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      const ThreadBlock& of = block_of(b);
      for (Step& step : blocks_[b].steps) {
        const Opcode opcode = step.instruction->opcode;
        if (sends(opcode)) {
          sends_of[{blocks_[b].rank, of.send_peer, of.channel}].push_back(&step);
          ++messages;
        }
        if (receives(opcode)) {
          receives_of[{of.recv_peer, blocks_[b].rank, of.channel}].push_back(&step);
        }
      }
    }
    messages_.reserve(messages);  // because steps point to messages
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      for (std::size_t s = 0; s < blocks_[b].steps.size(); ++s) {
        Step& step = blocks_[b].steps[s];
        if (!sends(step.instruction->opcode)) continue;
        const std::size_t count = ix(step.instruction->count);
        step.out = &messages_.emplace_back(Message{b, s, data_size_, count});
        data_size_ += count;
      }
    }
    for (const auto& [connection, receiving] : receives_of) {
      const std::vector<Step*>& sending = sends_of[connection];
      for (std::size_t k = 0; k < std::min(receiving.size(), sending.size()); ++k) {
        receiving[k]->in = sending[k]->out;
      }
    }
    for (const auto& [connection, sending] : sends_of) {
      if (sending.size() > receives_of[connection].size()) result_.wrong = true;  // never received
    }
  }

  [[nodiscard]] const ThreadBlock& block_of(std::size_t b) const {
    const std::size_t rank = ix(blocks_[b].rank);
    return program_.gpus[rank].thread_blocks[b - first_[rank]];
  }

  /// Calls visit(place, write) for each access of a step.
  template <typename Visit>
  void accesses(int rank, const Instruction& step, const Visit& visit) const {
    const auto each = [&](const BufferSlice& slice, bool write) {
      for (int k = 0; k < step.count; ++k) {
        visit(layout_.place(rank, slice.buffer, slice.index + k), write);
      }
    };
    if (reads_source(step.opcode)) each(step.source, false);
    if (writes_target(step.opcode)) each(step.target, true);  // covers a reduction's read of it
  }

  void find_contended() {
    struct Users {
      int one = -1;          ///< one of the blocks that touch the place
      bool several = false;  ///< true if several blocks touch it
      bool written = false;
    };
    std::vector<Users> users(layout_.size());
    for (int b = 0; b < std::ssize(blocks_); ++b) {
      for (const Step& step : blocks_[ix(b)].steps) {
        accesses(blocks_[ix(b)].rank, *step.instruction, [&](std::size_t place, bool write) {
          Users& of = users[place];
          of.several = of.several || (of.one >= 0 && of.one != b);
          of.one = b;
          of.written = of.written || write;
        });
      }
    }
    for (Block& block : blocks_) {
      for (Step& step : block.steps) {
        accesses(block.rank, *step.instruction, [&](std::size_t place, bool) {
          if (users[place].several && users[place].written) step.contended = true;
        });
      }
    }
  }

  State initial() {
    State state;
    state.turns.resize(blocks_.size());
    state.data.resize(data_size_);
    std::mt19937_64 random(7);
    for (std::size_t i = 0; i < layout_.size(); ++i) state.data[i] = random();
    start_ = state.data;
    return state;
  }

  static void set(State& state, std::size_t index, Number value) {
    state.hash -= mixed(index, state.data[index]);
    state.data[index] = value;
    state.hash += mixed(index, value);
  }

  [[nodiscard]] bool finished(const State& state, std::size_t b) const {
    return state.turns[b] == 2 * blocks_[b].steps.size();
  }
  [[nodiscard]] bool done(const State& state, std::size_t b, std::size_t step) const {
    return state.turns[b] > 2 * step + 1;
  }
  [[nodiscard]] const Step& next(const State& state, std::size_t b) const {
    return blocks_[b].steps[state.turns[b] / 2];
  }

  enum class Ability : std::uint8_t { Finished, Able, WaitsForOwnGpu, WaitsForMessage };

  [[nodiscard]] Ability ability(const State& state, std::size_t b) const {
    if (finished(state, b)) return Ability::Finished;
    if (state.turns[b] % 2 == 1) return Ability::Able;
    const std::size_t first = first_[ix(blocks_[b].rank)];
    if (state.turns[b] == 0) {
      for (std::size_t other = first; blocks_[other].kernel < blocks_[b].kernel; ++other) {
        if (!finished(state, other)) return Ability::WaitsForOwnGpu;
      }
    }
    const Step& step = next(state, b);
    for (const StepRef& wait : step.instruction->dependencies) {
      if (!done(state, first + ix(wait.thread_block), ix(wait.step))) {
        return Ability::WaitsForOwnGpu;
      }
    }
    if (!receives(step.instruction->opcode)) return Ability::Able;
    const bool sent = step.in != nullptr && done(state, step.in->block, step.in->step);
    return sent ? Ability::Able : Ability::WaitsForMessage;
  }

  /// Runs all commuting turns until none of them can run.
  void advance(State& state) {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t b = 0; b < blocks_.size(); ++b) {
        while (ability(state, b) == Ability::Able && !next(state, b).contended) {
          turn(state, b);
          moved = true;
        }
      }
    }
  }

  /// Finds the blocks that may take the next turn: the runnable blocks of one GPU on which no block
  /// waits for a message, since other GPUs cannot change the state of its blocks. If there
  /// is no such GPU, finds all runnable blocks.
  void find_branches(const State& state, std::vector<std::size_t>& branches) {
    branches.clear();
    for (std::size_t rank = 0; rank + 1 < first_.size(); ++rank) {
      const std::size_t before = branches.size();
      bool alone = true;
      for (std::size_t b = first_[rank]; b < first_[rank + 1]; ++b) {
        const Ability found = ability(state, b);
        if (found == Ability::Able) branches.push_back(b);
        alone = alone && found != Ability::WaitsForMessage;
      }
      if (alone && branches.size() > before) {
        branches.erase(branches.begin(), branches.begin() + static_cast<std::ptrdiff_t>(before));
        return;
      }
    }
  }

  void turn(State& state, std::size_t b) {
    const Block& block = blocks_[b];
    Step& step = blocks_[b].steps[state.turns[b] / 2];
    const Instruction& instruction = *step.instruction;
    if (state.turns[b] % 2 == 0) {
      load(state, block, step);
    } else {
      for (std::size_t k = 0; k < ix(instruction.count); ++k) {
        const Number value = state.data[block.registers + k];
        if (writes_target(instruction.opcode)) {
          set(state, place(block, instruction.target) + k, value);
        }
        if (step.out != nullptr) set(state, step.out->begin + k, value);
        set(state, block.registers + k, 0);
      }
    }
    const Number key = data_size_ + b;
    state.hash -= mixed(key, state.turns[b]);
    ++state.turns[b];
    state.hash += mixed(key, state.turns[b]);
  }

  void load(State& state, const Block& block, Step& step) {
    const Instruction& instruction = *step.instruction;
    const Opcode opcode = instruction.opcode;
    if (opcode == Opcode::Nop) return;
    if (receives(opcode) && step.in->count != ix(instruction.count)) result_.wrong = true;
    Number seen = 0;
    for (std::size_t k = 0; k < ix(instruction.count); ++k) {
      const auto read = [&](const BufferSlice& slice) {
        const Number value = state.data[place(block, slice) + k];
        seen = mixed(seen, value);
        return value;
      };
      Number value = 0;
      if (!receives(opcode)) {
        value = read(instruction.source);
      } else if (k < step.in->count) {
        value = state.data[step.in->begin + k];
      }
      if (reduces(opcode)) {
        value += read(opcode == Opcode::Reduce ? instruction.target : instruction.source);
      }
      set(state, block.registers + k, value);
    }
    for (std::size_t k = 0; receives(opcode) && k < step.in->count; ++k) {
      set(state, step.in->begin + k, 0);
    }
    if (step.seen && *step.seen != seen) result_.order_dependent = true;
    step.seen = seen;
  }

  [[nodiscard]] std::size_t place(const Block& block, const BufferSlice& slice) const {
    return layout_.place(block.rank, slice.buffer, slice.index);
  }

  /// Called when no block can run any more.
  void finish(const State& state) {
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (!finished(state, b)) result_.wrong = true;
    }
    const Contract& contract = program_.contract;
    Number outputs = 0;
    for (int rank = 0; rank < contract.ranks(); ++rank) {
      for (int index = 0; index < contract.output_chunks(rank); ++index) {
        const Number found = state.data[layout_.place(rank, Buffer::Output, index)];
        const auto required = contract.postcondition(rank, index);
        if (required || contract.kind() == CollectiveKind::Custom) outputs = mixed(outputs, found);
        if (!required) continue;
        Number sum = 0;
        for (const ChunkId& chunk : *required) {
          sum += start_[layout_.place(chunk.rank, Buffer::Input, chunk.index)];
        }
        if (found != sum) result_.wrong = true;
      }
    }
    if (outputs_ && *outputs_ != outputs) result_.order_dependent = true;
    outputs_ = outputs;
  }

  const ThreadBlockProgram& program_;
  MemoryLayout layout_;
  std::size_t most_states_;
  std::vector<Block> blocks_;
  std::vector<std::size_t> first_;  ///< first block of each rank, then the number of blocks
  std::vector<Message> messages_;
  std::size_t data_size_ = 0;
  std::vector<Number> start_;      ///< initial contents of the places
  std::optional<Number> outputs_;  ///< hash of the outputs of one order
  Exploration result_;
};

}  // namespace

Exploration explore(const ThreadBlockProgram& program, std::size_t most_states) {
  return Explorer(program, most_states).run();
}

}  // namespace cclgym::test
