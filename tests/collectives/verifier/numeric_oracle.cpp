#include "collectives/verifier/numeric_oracle.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include "support/index.hpp"

namespace cclgym::test {

namespace {

using Payload = std::vector<std::uint64_t>;
using Connection = std::tuple<int, int, int>;  // source, target, channel

struct Cursor {
  int rank;
  int id;
  const ThreadBlock* block;
  std::size_t next = 0;

  [[nodiscard]] bool finished() const { return next == block->steps.size(); }
};

class Run {
 public:
  Run(const ThreadBlockProgram& program, NumericMemory& memory, std::uint64_t seed)
      : memory_(memory), random_(seed), by_priority_(seed % 2 == 1) {
    unfinished_.resize(program.gpus.size());
    for (int rank = 0; rank < std::ssize(program.gpus); ++rank) {
      const auto& blocks = program.gpus[ix(rank)].thread_blocks;
      for (int id = 0; id < std::ssize(blocks); ++id) {
        cursors_.push_back({rank, id, &blocks[ix(id)]});
        if (!cursors_.back().finished()) ++unfinished_[ix(rank)][blocks[ix(id)].kernel];
      }
    }
    std::shuffle(cursors_.begin(), cursors_.end(), random_);
  }

  Outcome run() {
    while (Cursor* cursor = next_able()) {
      execute(*cursor);
      ++cursor->next;
      if (cursor->finished()) finish(*cursor);
    }
    if (wrong_) return Outcome::WrongData;
    for (const Cursor& cursor : cursors_) {
      if (!cursor.finished()) return Outcome::Stuck;
    }
    for (const auto& [connection, queue] : messages_) {
      if (!queue.empty()) return Outcome::Stuck;
    }
    return memory_.outputs_right() ? Outcome::Right : Outcome::WrongData;
  }

 private:
  /// The first runnable cursor, in order of priority or from a random cursor on; null if none can
  /// run.
  Cursor* next_able() {
    const std::size_t first = by_priority_ || cursors_.empty() ? 0 : random_() % cursors_.size();
    for (std::size_t i = 0; i < cursors_.size(); ++i) {
      Cursor& cursor = cursors_[(first + i) % cursors_.size()];
      if (can_run(cursor)) return &cursor;
    }
    return nullptr;
  }
  [[nodiscard]] bool step_done(int rank, const StepRef& wait) const {
    for (const Cursor& cursor : cursors_) {
      if (cursor.rank == rank && cursor.id == wait.thread_block) {
        return cursor.next > ix(wait.step);
      }
    }
    return false;
  }
  [[nodiscard]] bool kernel_begun(const Cursor& cursor) const {
    return unfinished_[ix(cursor.rank)].begin()->first >= cursor.block->kernel;
  }
  void finish(const Cursor& cursor) {
    auto& kernels = unfinished_[ix(cursor.rank)];
    const auto found = kernels.find(cursor.block->kernel);
    if (--found->second == 0) kernels.erase(found);
  }
  [[nodiscard]] static Connection incoming(const Cursor& cursor) {
    return {cursor.block->recv_peer, cursor.rank, cursor.block->channel};
  }
  [[nodiscard]] static Connection outgoing(const Cursor& cursor) {
    return {cursor.rank, cursor.block->send_peer, cursor.block->channel};
  }
  [[nodiscard]] bool can_run(const Cursor& cursor) {
    if (cursor.finished() || !kernel_begun(cursor)) return false;
    const Instruction& step = cursor.block->steps[cursor.next];
    for (const StepRef& wait : step.dependencies) {
      if (!step_done(cursor.rank, wait)) return false;
    }
    const bool waits = step.opcode != Opcode::Send && step.opcode != Opcode::Copy &&
                       step.opcode != Opcode::DeviceCopy && step.opcode != Opcode::Reduce &&
                       step.opcode != Opcode::Nop;
    return !waits || !messages_[incoming(cursor)].empty();
  }
  Payload load(const Cursor& cursor, const BufferSlice& slice, int count) {
    Payload data;
    for (int k = 0; k < count; ++k) {
      data.push_back(memory_.at({cursor.rank, slice.buffer, slice.index + k}));
    }
    return data;
  }
  void store(const Cursor& cursor, const BufferSlice& slice, const Payload& data) {
    for (int k = 0; k < std::ssize(data); ++k) {
      memory_.at({cursor.rank, slice.buffer, slice.index + k}) = data[ix(k)];
    }
  }
  Payload take(const Cursor& cursor, int count) {
    auto& queue = messages_[incoming(cursor)];
    Payload data = queue.front();
    queue.pop_front();
    if (std::ssize(data) != count) wrong_ = true;
    data.resize(ix(count));
    return data;
  }
  static Payload add(Payload a, const Payload& b) {
    for (std::size_t k = 0; k < a.size(); ++k) a[k] += b[k];
    return a;
  }

  void execute(const Cursor& cursor) {
    const Instruction& step = cursor.block->steps[cursor.next];
    const int count = step.count;
    switch (step.opcode) {
      case Opcode::Send:
        messages_[outgoing(cursor)].push_back(load(cursor, step.source, count));
        return;
      case Opcode::Recv:
        store(cursor, step.target, take(cursor, count));
        return;
      case Opcode::Copy:
      case Opcode::DeviceCopy:
        store(cursor, step.target, load(cursor, step.source, count));
        return;
      case Opcode::Reduce:
        store(cursor, step.target,
              add(load(cursor, step.target, count), load(cursor, step.source, count)));
        return;
      case Opcode::RecvReduceCopy:
        store(cursor, step.target, add(take(cursor, count), load(cursor, step.source, count)));
        return;
      case Opcode::RecvCopySend: {
        const Payload data = take(cursor, count);
        store(cursor, step.target, data);
        messages_[outgoing(cursor)].push_back(data);
        return;
      }
      case Opcode::RecvReduceSend:
        messages_[outgoing(cursor)].push_back(
            add(take(cursor, count), load(cursor, step.source, count)));
        return;
      case Opcode::RecvReduceCopySend: {
        const Payload data = add(take(cursor, count), load(cursor, step.source, count));
        store(cursor, step.target, data);
        messages_[outgoing(cursor)].push_back(data);
        return;
      }
      case Opcode::Nop:
        return;
    }
  }

  NumericMemory& memory_;
  std::mt19937_64 random_;
  bool by_priority_;
  std::vector<Cursor> cursors_;
  std::vector<std::map<int, int>> unfinished_;  ///< by rank: number of unfinished blocks, by kernel
  std::map<Connection, std::deque<Payload>> messages_;
  bool wrong_ = false;
};

}  // namespace

NumericMemory::NumericMemory(const Contract& contract, const std::vector<int>& scratch_chunks,
                             std::uint64_t seed)
    : contract_(&contract) {
  std::mt19937_64 random(seed);
  const auto fill = [&random](std::vector<std::uint64_t>& buffer, int chunks) {
    buffer.resize(ix(chunks));
    for (std::uint64_t& value : buffer) value = random();
  };
  for (int rank = 0; rank < contract.ranks(); ++rank) {
    Buffers& buffers = buffers_.emplace_back();
    for (const Buffer buffer : {Buffer::Input, Buffer::Output}) {
      if (contract.resolve({rank, buffer, 0}).buffer != buffer) continue;
      const int chunks =
          buffer == Buffer::Input ? contract.input_chunks(rank) : contract.output_chunks(rank);
      fill(buffers[static_cast<std::size_t>(buffer)], chunks);
    }
    fill(buffers[static_cast<std::size_t>(Buffer::Scratch)],
         scratch_chunks.empty() ? 0 : scratch_chunks[ix(rank)]);
  }
  for (int rank = 0; rank < contract.ranks(); ++rank) {
    auto& inputs = inputs_.emplace_back();
    for (int index = 0; index < contract.input_chunks(rank); ++index) {
      inputs.push_back(at({rank, Buffer::Input, index}));
    }
  }
}

std::uint64_t& NumericMemory::at(const Location& location) {
  const Location place = contract_->resolve(location);
  return buffers_.at(ix(place.rank)).at(static_cast<std::size_t>(place.buffer)).at(ix(place.index));
}

bool NumericMemory::outputs_right() {
  for (int rank = 0; rank < contract_->ranks(); ++rank) {
    for (int index = 0; index < contract_->output_chunks(rank); ++index) {
      const auto required = contract_->postcondition(rank, index);
      if (!required) continue;
      std::uint64_t sum = 0;
      for (const ChunkId& chunk : *required) sum += inputs_.at(ix(chunk.rank)).at(ix(chunk.index));
      if (at({rank, Buffer::Output, index}) != sum) return false;
    }
  }
  return true;
}

Outcome interpret(const ThreadBlockProgram& program, NumericMemory& memory, std::uint64_t seed) {
  return Run(program, memory, seed).run();
}

void execute_in_order(const Program& program, NumericMemory& memory) {
  for (const Operation& operation : program.operations) {
    std::vector<std::uint64_t> data;
    for (int k = 0; k < operation.count; ++k) {
      Location source = operation.source;
      source.index += k;
      data.push_back(memory.at(source));
    }
    for (int k = 0; k < operation.count; ++k) {
      Location target = operation.target;
      target.index += k;
      std::uint64_t& place = memory.at(target);
      place = operation.kind == OperationKind::Copy ? data[ix(k)] : place + data[ix(k)];
    }
  }
}

std::vector<int> scratch_of(const ThreadBlockProgram& program) {
  std::vector<int> chunks;
  for (const GpuProgram& gpu : program.gpus) chunks.push_back(gpu.scratch_chunks);
  return chunks;
}

}  // namespace cclgym::test
