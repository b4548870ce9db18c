#include "collectives/verifier/mutations.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/verifier/numeric_oracle.hpp"
#include "support/index.hpp"

namespace cclgym::test {

namespace {

int below(std::mt19937_64& random, int limit) {
  return static_cast<int>(random() % static_cast<std::uint64_t>(limit));
}

int chunks_of(const Program& program, int rank, Buffer buffer) {
  switch (buffer) {
    case Buffer::Input:
      return program.contract.input_chunks(rank);
    case Buffer::Output:
      return program.contract.output_chunks(rank);
    case Buffer::Scratch:
      return program.scratch_chunks[ix(rank)];
  }
  return 0;
}

int chunks_of(const GpuProgram& gpu, Buffer buffer) {
  return buffer == Buffer::Input    ? gpu.input_chunks
         : buffer == Buffer::Output ? gpu.output_chunks
                                    : gpu.scratch_chunks;
}

bool overlaps(const Contract& contract, const Location& a, const Location& b, int count) {
  const Location x = contract.resolve(a);
  const Location y = contract.resolve(b);
  return x.rank == y.rank && x.buffer == y.buffer && x.index < y.index + count &&
         y.index < x.index + count;
}

/// Another rank, buffer or index for one end of an operation.
bool redirect(const Program& program, Operation& operation, bool source, std::mt19937_64& random) {
  Location& end = source ? operation.source : operation.target;
  const Location before = end;
  switch (below(random, 3)) {
    case 0:
      end.rank = below(random, program.contract.ranks());
      break;
    case 1:
      end.buffer = static_cast<Buffer>(below(random, 3));
      break;
    default:
      end.index = below(random, std::max(1, chunks_of(program, end.rank, end.buffer)));
  }
  if (end.index > chunks_of(program, end.rank, end.buffer) - operation.count) return false;
  if (overlaps(program.contract, operation.source, operation.target, operation.count)) return false;
  return !(end == before);
}

/// Adjusts step references of a block after an insertion or erasure.
void shift_references(GpuProgram& gpu, int block, int from, int by) {
  for (ThreadBlock& other : gpu.thread_blocks) {
    for (Instruction& step : other.steps) {
      for (StepRef& wait : step.dependencies) {
        if (wait.thread_block == block && wait.step >= from) wait.step += by;
      }
    }
  }
}

class StepMutation {
 public:
  StepMutation(ThreadBlockProgram& program, std::mt19937_64& random)
      : program_(program), random_(random) {
    std::vector<std::pair<int, int>> blocks;
    for (int rank = 0; rank < std::ssize(program.gpus); ++rank) {
      const auto& all = program.gpus[ix(rank)].thread_blocks;
      for (int id = 0; id < std::ssize(all); ++id) {
        if (!all[ix(id)].steps.empty()) blocks.emplace_back(rank, id);
      }
    }
    std::tie(rank_, block_) = blocks[ix(below(random, static_cast<int>(blocks.size())))];
    step_ = below(random, static_cast<int>(steps().size()));
  }

  /// Name of the mutation; empty if none was possible.
  std::string apply() {
    switch (below(random_, 13)) {
      case 0:
        steps()[ix(step_)] = Instruction{Opcode::Nop, {}, {}, 1, steps()[ix(step_)].dependencies};
        return "step: dropped";
      case 1:
        shift_references(gpu(), block_, step_ + 1, 1);
        steps().insert(steps().begin() + step_ + 1, Instruction(steps()[ix(step_)]));
        return "step: repeated";
      case 2:
        return redirect_slice() ? "step: redirected" : "";
      case 3:
        return change_opcode() ? "step: other opcode" : "";
      case 4:
      case 5:
        return drop_dependency() ? "step: dependency dropped" : "";
      case 6:
        if (step_ + 1 == std::ssize(steps())) return "";
        std::swap(steps()[ix(step_)], steps()[ix(step_ + 1)]);
        return "step: swapped with the next";
      case 7:
        return change_peer() ? "thread block: other peer" : "";
      case 8:
        return change_channel() ? "thread block: other channel" : "";
      case 9:
        return swap_any() ? "step: swapped with another" : "";
      case 10:
        return erase() ? "step: erased" : "";
      case 11:
        return shift_index() ? "step: next index" : "";
      default:
        return change_count() ? "step: other count" : "";
    }
  }

 private:
  GpuProgram& gpu() { return program_.gpus[ix(rank_)]; }
  std::vector<Instruction>& steps() { return gpu().thread_blocks[ix(block_)].steps; }

  bool redirect_slice() {
    Instruction& step = steps()[ix(step_)];
    const bool both = reads_source(step.opcode) && writes_target(step.opcode);
    const bool source = both ? below(random_, 2) == 0 : reads_source(step.opcode);
    BufferSlice& slice = source ? step.source : step.target;
    const BufferSlice before = slice;
    if (below(random_, 2) == 0) slice.buffer = static_cast<Buffer>(below(random_, 3));
    slice.index = below(random_, std::max(1, chunks_of(gpu(), slice.buffer)));
    return slice.index <= chunks_of(gpu(), slice.buffer) - step.count && !(slice == before);
  }
  bool change_opcode() {
    Instruction& step = steps()[ix(step_)];
    switch (step.opcode) {
      case Opcode::Recv:
        step.opcode = Opcode::RecvReduceCopy;
        step.source = step.target;
        return true;
      case Opcode::RecvReduceCopy:
        step.opcode = Opcode::Recv;
        return true;
      case Opcode::Copy:
        step.opcode = Opcode::Reduce;
        return true;
      case Opcode::Reduce:
        step.opcode = Opcode::Copy;
        return true;
      default:
        return false;
    }
  }
  bool drop_dependency() {
    // Most steps have no dependencies, so take the next step that has some.
    for (std::size_t k = 0; k < steps().size(); ++k) {
      auto& waits = steps()[(ix(step_) + k) % steps().size()].dependencies;
      if (waits.empty()) continue;
      waits.erase(waits.begin() + below(random_, static_cast<int>(waits.size())));
      return true;
    }
    return false;
  }
  bool change_peer() {
    ThreadBlock& block = gpu().thread_blocks[ix(block_)];
    int& peer = block.send_peer == -1 || (block.recv_peer != -1 && below(random_, 2) == 0)
                    ? block.recv_peer
                    : block.send_peer;
    const int other = below(random_, static_cast<int>(program_.gpus.size()));
    if (peer == -1 || other == peer || other == rank_) return false;
    peer = other;
    return true;
  }
  bool change_channel() {
    ThreadBlock& block = gpu().thread_blocks[ix(block_)];
    const int other = below(random_, program_.channels + 1);
    if (other == block.channel) return false;
    block.channel = other;
    program_.channels = std::max(program_.channels, other + 1);
    return true;
  }
  bool swap_any() {
    const int other = below(random_, static_cast<int>(steps().size()));
    std::swap(steps()[ix(step_)], steps()[ix(other)]);
    return other != step_;
  }
  /// Erases the step with its dependencies; no other step may wait for it.
  bool erase() {
    for (const ThreadBlock& other : gpu().thread_blocks) {
      for (const Instruction& step : other.steps) {
        if (std::ranges::count(step.dependencies, StepRef{block_, step_}) > 0) return false;
      }
    }
    steps().erase(steps().begin() + step_);
    shift_references(gpu(), block_, step_ + 1, -1);
    return true;
  }
  bool shift_index() {
    Instruction& step = steps()[ix(step_)];
    const bool source =
        reads_source(step.opcode) && (!writes_target(step.opcode) || below(random_, 2) == 0);
    if (!source && !writes_target(step.opcode)) return false;
    BufferSlice& slice = source ? step.source : step.target;
    slice.index += below(random_, 2) == 0 ? 1 : -1;
    return slice.index >= 0 && slice.index <= chunks_of(gpu(), slice.buffer) - step.count;
  }
  bool change_count() {
    Instruction& step = steps()[ix(step_)];
    const int count = step.count + (below(random_, 2) == 0 ? 1 : -1);
    const auto fits = [&](const BufferSlice& slice) {
      return slice.index <= chunks_of(gpu(), slice.buffer) - count;
    };
    if (count < 1 || (reads_source(step.opcode) && !fits(step.source))) return false;
    if (writes_target(step.opcode) && !fits(step.target)) return false;
    step.count = count;
    return true;
  }

  ThreadBlockProgram& program_;
  std::mt19937_64& random_;
  int rank_ = 0;
  int block_ = 0;
  int step_ = 0;
};

}  // namespace

std::optional<Mutant<Program>> mutate(const Program& program, std::mt19937_64& random) {
  Mutant<Program> mutant{"", program};
  auto& operations = mutant.program.operations;
  // A group of switch operations cannot change in part, so dissolve it first.
  for (Operation& each : operations) each.group = kNoGroup;
  const int chosen = below(random, static_cast<int>(operations.size()));
  Operation& operation = operations[ix(chosen)];
  switch (below(random, 6)) {
    case 0:
      operations.erase(operations.begin() + chosen);
      mutant.what = "operation: dropped";
      break;
    case 1:
      mutant.what = operation.kind == OperationKind::Reduce ? "operation: reduction counted twice"
                                                            : "operation: copied twice";
      operations.insert(operations.begin() + chosen, Operation(operation));
      break;
    case 2: {
      const int later = chosen + below(random, static_cast<int>(operations.size()) - chosen);
      operations.insert(operations.begin() + later + 1, Operation(operation));
      operations[ix(later) + 1].kernel = operations[ix(later)].kernel;
      mutant.what = "operation: repeated later";
      break;
    }
    case 3:
      if (!redirect(program, operation, true, random)) return std::nullopt;
      mutant.what = "operation: other source";
      break;
    case 4:
      if (!redirect(program, operation, false, random)) return std::nullopt;
      mutant.what = "operation: other target";
      break;
    default:
      operation.kind =
          operation.kind == OperationKind::Copy ? OperationKind::Reduce : OperationKind::Copy;
      mutant.what = "operation: copy and reduce exchanged";
  }
  return mutant;
}

std::optional<Mutant<ThreadBlockProgram>> mutate(const ThreadBlockProgram& program,
                                                 std::mt19937_64& random) {
  Mutant<ThreadBlockProgram> mutant{"", program};
  mutant.what = StepMutation(mutant.program, random).apply();
  if (mutant.what.empty()) return std::nullopt;
  return mutant;
}

}  // namespace cclgym::test
