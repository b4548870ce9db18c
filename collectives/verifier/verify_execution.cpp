#include <deque>
#include <fmt/format.h>
#include <string_view>
#include <utility>

#include "collectives/verifier/kernel_order.hpp"
#include "collectives/verifier/symbolic_memory.hpp"
#include "collectives/verifier/verify_internal.hpp"
#include "core/index.hpp"

namespace cclgym::verifier {

namespace {

/// Messages of a connection that have been sent and not yet received.
struct Queue {
  std::deque<std::int32_t> counts;
  std::deque<ValueId> values;
  std::int64_t sent = 0;
  std::int64_t received = 0;
};

class Executor {
 public:
  /// `log` is null if values need not be recorded.
  Executor(const ThreadBlockProgram& program, const BlockIndex& blocks, std::int32_t slots,
           Problems& problems, ValueLog* log)
      : program_(program),
        blocks_(blocks),
        slots_(slots),
        problems_(problems),
        log_(log),
        memory_(program.contract, scratch_chunks(program)),
        queues_(blocks.connections().size()),
        next_step_(blocks.size(), 0),
        queued_(blocks.size(), false),
        waiters_(blocks.size()),
        kernels_(blocks, program.gates) {}

  std::vector<ExecutedStep> run();

 private:
  struct Waiter {
    std::int32_t block;
    std::int32_t step;  ///< step that the awaited block must finish
  };

  void wake(std::int32_t block) {
    if (block < 0 || queued_[at(block)] || !kernels_.begun(block)) return;
    queued_[at(block)] = true;
    runnable_.push_back(block);
  }
  void run_block(std::int32_t block);
  [[nodiscard]] bool can_run(std::int32_t block, const Instruction& step);
  void execute(std::int32_t block, const Instruction& step);
  void receive(std::int32_t block, const Instruction& step);
  void send(std::int32_t block);
  ValueId read(std::int32_t block, const BufferSlice& slice, std::int32_t offset);
  [[nodiscard]] const StepRef* unmet_dependency(std::int32_t block, const Instruction& step) const;
  [[nodiscard]] bool finished(std::int32_t block) const {
    return next_step_[at(block)] == std::ssize(blocks_[block].block->steps);
  }
  [[nodiscard]] std::string name(std::int32_t block) const {
    const auto& entry = blocks_[block];
    return describe_step(program_, entry.rank, entry.id, next_step_[at(block)]);
  }
  void report_deadlock();
  /// Reason why the block cannot continue, and true if the event it waits for can never happen.
  [[nodiscard]] std::pair<std::string, bool> reason(std::int32_t block) const;
  void report_unreceived();

  const ThreadBlockProgram& program_;
  const BlockIndex& blocks_;
  std::int32_t slots_;
  Problems& problems_;
  ValueLog* log_;
  SymbolicMemory memory_;
  std::vector<Queue> queues_;                 ///< by connection
  std::vector<std::int32_t> next_step_;       ///< by block
  std::vector<bool> queued_;                  ///< by block: true if it is in runnable_
  std::vector<std::vector<Waiter>> waiters_;  ///< by block: the blocks that wait for its steps
  KernelOrder kernels_;
  std::deque<std::int32_t> runnable_;
  std::vector<ExecutedStep> execution_;
  std::vector<ValueId> values_;  ///< working memory for the current step
};

std::vector<ExecutedStep> Executor::run() {
  execution_.reserve(static_cast<std::size_t>(program_.instructions()));
  if (log_ != nullptr) {
    for (std::size_t place = 0; place < memory_.layout().size(); ++place) {
      log_->initial.push_back(memory_.read(place));
    }
    log_->first.assign(1, 0);
  }
  for (std::size_t i = 0; i < blocks_.size(); ++i) wake(static_cast<std::int32_t>(i));
  while (!runnable_.empty()) {
    const std::int32_t block = runnable_.front();
    runnable_.pop_front();
    queued_[at(block)] = false;
    run_block(block);
  }
  if (std::ssize(execution_) < program_.instructions()) {
    report_deadlock();  // wrong outputs would only be a consequence
    return std::move(execution_);
  }
  report_unreceived();
  std::vector<std::string> texts;
  const std::size_t wrong = memory_.check_outputs(texts, problems_.room());
  problems_.add_all(std::move(texts), wrong);
  return std::move(execution_);
}

void Executor::run_block(std::int32_t block) {
  const auto& steps = blocks_[block].block->steps;
  std::int32_t& next = next_step_[at(block)];
  const std::int32_t begin = next;
  while (next < std::ssize(steps) && can_run(block, steps[at(next)])) {
    execute(block, steps[at(next)]);
    execution_.push_back({block, next});
    if (log_ != nullptr) log_->first.push_back(log_->values.size());
    ++next;
  }
  if (next == begin) return;
  auto& waiters = waiters_[at(block)];
  std::erase_if(waiters, [this, next](const Waiter& waiter) {
    if (waiter.step >= next) return false;
    wake(waiter.block);
    return true;
  });
  if (finished(block)) {
    kernels_.finish(block, [this](std::int32_t begun) { wake(begun); });
  }
}

const StepRef* Executor::unmet_dependency(std::int32_t block, const Instruction& step) const {
  const std::size_t first = blocks_.first(at(blocks_[block].rank));
  for (const StepRef& wait : step.dependencies) {
    if (next_step_[first + at(wait.thread_block)] <= wait.step) return &wait;
  }
  return nullptr;
}

bool Executor::can_run(std::int32_t block, const Instruction& step) {
  const auto& entry = blocks_[block];
  if (const StepRef* wait = unmet_dependency(block, step)) {
    const std::size_t other = blocks_.first(at(entry.rank)) + at(wait->thread_block);
    waiters_[other].push_back({block, wait->step});
    return false;
  }
  // A blocked receiver is woken by the send, a blocked sender by the receive.
  if (receives(step.opcode) && queues_[at(entry.receives)].counts.empty()) return false;
  return !sends(step.opcode) || slots_ == 0 || std::ssize(queues_[at(entry.sends)].counts) < slots_;
}

ValueId Executor::read(std::int32_t block, const BufferSlice& slice, std::int32_t offset) {
  const Location location{blocks_[block].rank, slice.buffer, slice.index + offset};
  const ValueId value = memory_.read(memory_.layout().place(location));
  if (log_ != nullptr) log_->values.push_back(value);
  if (value != kUninitialisedValue) return value;
  problems_.add([&] {
    return fmt::format("uninitialised data: {} reads {}, which holds nothing", name(block),
                       describe_location(location));
  });
  return kPoisonedValue;
}

void Executor::execute(std::int32_t block, const Instruction& step) {
  if (step.opcode == Opcode::Nop) return;
  values_.clear();
  if (receives(step.opcode)) {
    receive(block, step);
  } else {
    for (std::int32_t k = 0; k < step.count; ++k) values_.push_back(read(block, step.source, k));
  }
  if (reduces(step.opcode)) {
    const BufferSlice& other = step.opcode == Opcode::Reduce ? step.target : step.source;
    for (std::int32_t k = 0; k < step.count; ++k) {
      values_[at(k)] = memory_.sum(values_[at(k)], read(block, other, k));
    }
  }
  if (writes_target(step.opcode)) {
    if (log_ != nullptr) {
      log_->values.insert(log_->values.end(), values_.begin(), values_.end());
    }
    const std::size_t target =
        memory_.layout().place(blocks_[block].rank, step.target.buffer, step.target.index);
    for (std::size_t k = 0; k < values_.size(); ++k) memory_.write(target + k, values_[k]);
  }
  if (sends(step.opcode)) send(block);
}

void Executor::receive(std::int32_t block, const Instruction& step) {
  const std::int32_t connection = blocks_[block].receives;
  Queue& queue = queues_[at(connection)];
  const std::int32_t count = queue.counts.front();
  queue.counts.pop_front();
  if (count != step.count) {
    problems_.add([&] {
      return fmt::format("count mismatch: {} expects {} chunks in message {}, which has {}",
                         name(block), step.count, queue.received, count);
    });
  }
  for (std::int32_t k = 0; k < count; ++k) {
    if (k < step.count) values_.push_back(queue.values.front());
    queue.values.pop_front();
  }
  values_.resize(at(step.count), kPoisonedValue);
  ++queue.received;
  wake(blocks_.connections()[at(connection)].sender);
}

void Executor::send(std::int32_t block) {
  const std::int32_t connection = blocks_[block].sends;
  Queue& queue = queues_[at(connection)];
  queue.counts.push_back(static_cast<std::int32_t>(values_.size()));
  queue.values.insert(queue.values.end(), values_.begin(), values_.end());
  ++queue.sent;
  wake(blocks_.connections()[at(connection)].receiver);
}

std::pair<std::string, bool> Executor::reason(std::int32_t block) const {
  const auto& entry = blocks_[block];
  const Instruction& step = entry.block->steps[at(next_step_[at(block)])];
  if (const StepRef* wait = unmet_dependency(block, step)) {
    const bool own = wait->thread_block == entry.id;
    return {fmt::format("waits for thread block {}, step {}{}", wait->thread_block, wait->step,
                        own ? ", which is no earlier step of its own" : ""),
            own};
  }
  if (receives(step.opcode)) {
    const Queue& queue = queues_[at(entry.receives)];
    if (queue.counts.empty()) {
      const auto& connection = blocks_.connections()[at(entry.receives)];
      if (connection.sender < 0)
        return {fmt::format("unmatched, that rank has no sending thread block{}",
                            in_kernel(connection.kernel)),
                true};
      const bool never = finished(connection.sender);
      return {fmt::format("{} message {}, {} were sent",
                          never ? "unmatched, waits for" : "waits for", queue.received, queue.sent),
              never};
    }
  }
  const auto& connection = blocks_.connections()[at(entry.sends)];
  return {fmt::format("waits for one of the {} slots of the connection", slots_),
          connection.receiver < 0 || finished(connection.receiver)};
}

void Executor::report_deadlock() {
  // Report first the blocks whose event can never happen, which are the cause, then the blocks that
  // wait for each other. Kernels that have not begun only wait for these.
  for (const bool hopeless : {true, false}) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const auto block = static_cast<std::int32_t>(i);
      if (finished(block) || !kernels_.begun(block)) continue;
      const auto [text, never] = reason(block);
      if (never != hopeless) continue;
      problems_.add([&, &why = text] { return fmt::format("deadlock: {}: {}", name(block), why); });
    }
  }
  if (!problems_.any()) problems_.add([] { return closed_gates(); });
}

void Executor::report_unreceived() {
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    if (queues_[i].counts.empty()) continue;
    const auto& connection = blocks_.connections()[i];
    problems_.add([&] {
      return fmt::format(
          "unmatched send: rank {} sends {} messages to rank {} on channel {}{}, {} are received",
          connection.source, queues_[i].sent, connection.target, connection.channel,
          in_kernel(connection.kernel), queues_[i].received);
    });
  }
}

}  // namespace

std::vector<ExecutedStep> check_execution(const ThreadBlockProgram& program,
                                          const BlockIndex& blocks, std::int32_t slots,
                                          Problems& problems) {
  return Executor(program, blocks, slots, problems, nullptr).run();
}

ValueLog log_values(const ThreadBlockProgram& program, const BlockIndex& blocks,
                    std::int32_t slots) {
  ValueLog log;
  Problems known(0);
  Executor(program, blocks, slots, known, &log).run();
  return log;
}

}  // namespace cclgym::verifier
