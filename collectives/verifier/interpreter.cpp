#include "collectives/verifier/interpreter.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <random>

#include "collectives/verifier/kernel_order.hpp"
#include "collectives/verifier/verify_internal.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/index.hpp"

namespace cclgym {

namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr std::int32_t kMostSlots = 8;
constexpr std::uint64_t kStride = kGoldenRatio;  // separates the seeds of runs

/// The buffers of all ranks.
class NumberMemory {
 public:
  NumberMemory(const ThreadBlockProgram& program, std::mt19937_64 random)
      : contract_(program.contract),
        layout_(program.contract, verifier::scratch_chunks(program)),
        values_(layout_.size(), kNothing) {
    // Sums of 20-bit numbers over up to 2^33 chunks are exact.
    constexpr std::uint64_t kBelow = 1U << 20U;
    for (int rank = 0; rank < contract_.ranks(); ++rank) {
      auto& inputs = inputs_.emplace_back();
      for (int index = 0; index < contract_.input_chunks(rank); ++index) {
        inputs.push_back(static_cast<double>(random() % kBelow));
        if (contract_.precondition(rank, index)) {
          values_[layout_.place(rank, Buffer::Input, index)] = inputs.back();
        }
      }
    }
  }

  [[nodiscard]] double* places(int rank, const BufferSlice& slice) {
    return values_.data() + layout_.place(rank, slice.buffer, slice.index);
  }

  template <typename Report>
  void check_outputs(const Report& report) {
    for (int rank = 0; rank < contract_.ranks(); ++rank) {
      for (int index = 0; index < contract_.output_chunks(rank); ++index) {
        const auto required = contract_.postcondition(rank, index);
        if (!required) continue;
        double sum = 0;
        for (const ChunkId& chunk : *required) sum += inputs_[at(chunk.rank)][at(chunk.index)];
        const double found = *places(rank, {Buffer::Output, index});
        if (found == sum) continue;
        report([&] {
          return fmt::format("wrong output: {} holds {}, must hold {}",
                             describe_location({rank, Buffer::Output, index}), text(found),
                             text(sum));
        });
      }
    }
  }

  /// Unconstrained outputs of a custom collective must at least be the same in every order: `first`
  /// holds their values in the first order (it is empty during that order).
  template <typename Report>
  void check_free_outputs(std::vector<double>& first, const Report& report) {
    if (contract_.kind() != CollectiveKind::Custom) return;
    const bool is_first = first.empty();
    std::size_t next = 0;
    for (int rank = 0; rank < contract_.ranks(); ++rank) {
      for (int index = 0; index < contract_.output_chunks(rank); ++index) {
        if (contract_.postcondition(rank, index)) continue;
        const double found = *places(rank, {Buffer::Output, index});
        if (is_first) first.push_back(found);
        const double before = first[next++];
        if (found == before || (std::isnan(found) && std::isnan(before))) continue;
        report([&] {
          return fmt::format("race: {} holds {} in one order, {} in another",
                             describe_location({rank, Buffer::Output, index}), text(before),
                             text(found));
        });
      }
    }
  }

 private:
  [[nodiscard]] static std::string text(double value) {
    return std::isnan(value) ? "nothing" : fmt::format("{:.0f}", value);
  }

  const Contract& contract_;
  MemoryLayout layout_;
  std::vector<double> values_;               ///< by place
  std::vector<std::vector<double>> inputs_;  ///< by rank
};

class Execution {
 public:
  /// `free_outputs`: values from the first order (see NumberMemory::check_free_outputs).
  Execution(const ThreadBlockProgram& program, const verifier::BlockIndex& blocks,
            const ExecuteOptions& options, int number, std::vector<double>& free_outputs)
      : program_(program),
        blocks_(blocks),
        slots_(options.slots),
        random_(options.seed * kStride + static_cast<std::uint64_t>(number)),
        run_ahead_(number % 4 >= 2),
        kernels_(blocks, program.gates),
        memory_(program, std::mt19937_64(options.seed * kStride)),
        free_outputs_(free_outputs),
        states_(blocks.size()),
        messages_(blocks.connections().size()),
        problems_(options.most_problems) {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      states_[i].starved = number % 2 == 1 && random_() % 4 == 0;
      wake(static_cast<std::int32_t>(i));
    }
  }

  VerifyReport run() {
    while (const auto block = pick()) {
      do {
        turn(*block);
      } while (run_ahead_ && states_[at(*block)].awake);
    }
    check_end();
    return std::move(problems_).report();
  }

 private:
  struct State {
    std::int32_t next = 0;  ///< step
    bool loaded = false;    ///< true if the step has loaded its inputs
    bool awake = false;     ///< true if the block is in awake_
    bool starved = false;   ///< true if it runs only when no other block can
    std::vector<double> registers;
    std::vector<std::int32_t> waiters;  ///< blocks that wait for steps of this block
  };

  void wake(std::int32_t block) {
    if (block < 0 || states_[at(block)].awake || !kernels_.begun(block)) return;
    states_[at(block)].awake = true;
    awake_[states_[at(block)].starved ? 1 : 0].push_back(block);
  }

  /// A random block that may be able to run; it stays awake until a turn shows that it is not.
  std::optional<std::int32_t> pick() {
    for (auto& list : awake_) {
      if (list.empty()) continue;
      picked_ = random_() % list.size();
      return list[picked_];
    }
    return std::nullopt;
  }

  [[nodiscard]] bool finished(std::size_t block) const {
    return states_[block].next == std::ssize(blocks_[block].block->steps);
  }

  void turn(std::int32_t block) {
    State& state = states_[at(block)];
    if (finished(at(block)) || !can_run(block, state)) {
      sleep(block);
      return;
    }
    const Instruction& step = blocks_[block].block->steps[at(state.next)];
    if (!state.loaded) {
      load(block, step, state);
      state.loaded = true;
      return;
    }
    store(block, step, state);
    state.loaded = false;
    ++state.next;
    for (const std::int32_t waiter : state.waiters) wake(waiter);
    state.waiters.clear();
    if (finished(at(block))) {
      kernels_.finish(block, [this](std::int32_t begun) { wake(begun); });
    }
  }

  void sleep(std::int32_t block) {
    states_[at(block)].awake = false;
    auto& list = awake_[states_[at(block)].starved ? 1 : 0];
    list[picked_] = list.back();  // only the picked block can fall asleep
    list.pop_back();
  }

  [[nodiscard]] bool can_run(std::int32_t block, const State& state) {
    const auto& entry = blocks_[block];
    const Instruction& step = entry.block->steps[at(state.next)];
    if (state.loaded) return true;
    const std::size_t first = blocks_.first(at(entry.rank));
    for (const StepRef& wait : step.dependencies) {
      State& other = states_[first + at(wait.thread_block)];
      if (other.next > wait.step) continue;
      other.waiters.push_back(block);
      return false;
    }
    if (receives(step.opcode) && messages_[at(entry.receives)].empty()) return false;
    return !sends(step.opcode) || std::ssize(messages_[at(entry.sends)]) < slots_;
  }

  void load(std::int32_t block, const Instruction& step, State& state) {
    state.registers.clear();
    if (step.opcode == Opcode::Nop) return;
    const auto& entry = blocks_[block];
    if (receives(step.opcode)) {
      auto& queue = messages_[at(entry.receives)];
      state.registers = std::move(queue.front());
      queue.pop_front();
      wake(blocks_.connections()[at(entry.receives)].sender);
      if (std::ssize(state.registers) != step.count) {
        problems_.add([&] {
          return fmt::format("count mismatch: {} expects {} chunks, the message has {}",
                             name(block), step.count, state.registers.size());
        });
        state.registers.resize(at(step.count), kNothing);
      }
    } else {
      const double* source = memory_.places(entry.rank, step.source);
      state.registers.assign(source, source + step.count);
    }
    if (reduces(step.opcode)) {
      const double* other =
          memory_.places(entry.rank, step.opcode == Opcode::Reduce ? step.target : step.source);
      for (std::size_t k = 0; k < state.registers.size(); ++k) state.registers[k] += other[k];
    }
  }

  void store(std::int32_t block, const Instruction& step, State& state) {
    const auto& entry = blocks_[block];
    if (writes_target(step.opcode)) {
      std::copy(state.registers.begin(), state.registers.end(),
                memory_.places(entry.rank, step.target));
    }
    if (sends(step.opcode)) {
      messages_[at(entry.sends)].push_back(state.registers);
      wake(blocks_.connections()[at(entry.sends)].receiver);
    }
  }

  [[nodiscard]] std::string name(std::int32_t block) const {
    return describe_step(program_, blocks_[block].rank, blocks_[block].id, states_[at(block)].next);
  }

  void check_end() {
    bool stuck = false;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (finished(i)) continue;
      stuck = true;
      if (!kernels_.begun(static_cast<std::int32_t>(i))) continue;  // waits for a reported block
      problems_.add([&] {
        return fmt::format("deadlock: {} cannot run", name(static_cast<std::int32_t>(i)));
      });
    }
    if (stuck && !problems_.any()) problems_.add([] { return verifier::closed_gates(); });
    if (stuck) return;  // wrong outputs would only be a consequence
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      if (messages_[i].empty()) continue;
      const auto& connection = blocks_.connections()[i];
      problems_.add([&] {
        return fmt::format("{} messages from rank {} to rank {} on channel {}{} are never received",
                           messages_[i].size(), connection.source, connection.target,
                           connection.channel, verifier::in_kernel(connection.kernel));
      });
    }
    const auto report = [this](const auto& describe) { problems_.add(describe); };
    memory_.check_outputs(report);
    memory_.check_free_outputs(free_outputs_, report);
  }

  const ThreadBlockProgram& program_;
  const verifier::BlockIndex& blocks_;
  std::int32_t slots_;
  std::mt19937_64 random_;
  bool run_ahead_;
  verifier::KernelOrder kernels_;
  NumberMemory memory_;
  std::vector<double>& free_outputs_;
  std::vector<State> states_;                              ///< by block
  std::vector<std::deque<std::vector<double>>> messages_;  ///< by connection
  std::size_t picked_ = 0;              ///< index into the list of the picked block
  std::vector<std::int32_t> awake_[2];  ///< blocks; [1]: starved blocks
  verifier::Problems problems_;
};

}  // namespace

std::string ExecuteReport::to_string() const {
  std::string text;
  for (const std::string& problem : problems) text += problem + "\n";
  return text;
}

ExecuteReport execute(const ThreadBlockProgram& program, const ExecuteOptions& options) {
  if (options.slots < 1 || options.slots > kMostSlots) {
    throw UserError(fmt::format("{} slots; expected 1 to {}", options.slots, kMostSlots));
  }
  if (options.interleavings < 1) {
    throw UserError(fmt::format("{} interleavings; expected at least 1", options.interleavings));
  }
  const verifier::BlockIndex blocks(program);
  ExecuteReport report;
  std::vector<double> free_outputs;
  while (report.ok && report.interleavings < options.interleavings) {
    VerifyReport outcome =
        Execution(program, blocks, options, report.interleavings, free_outputs).run();
    ++report.interleavings;
    report.ok = outcome.ok;
    report.problems = std::move(outcome.problems);
  }
  return report;
}

}  // namespace cclgym
