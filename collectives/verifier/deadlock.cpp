#include "collectives/verifier/deadlock.hpp"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <vector>

#include "collectives/verifier/kernel_order.hpp"
#include "collectives/verifier/verify_internal.hpp"
#include "core/index.hpp"

namespace cclgym {

namespace {

class OrderExecutor {
 public:
  OrderExecutor(const ThreadBlockProgram& program, std::int32_t slots)
      : blocks_(program),
        kernels_(blocks_, program.gates),
        slots_(slots),
        waiting_messages_(blocks_.connections().size(), 0),
        next_step_(blocks_.size(), 0),
        queued_(blocks_.size(), false),
        waiters_(blocks_.size()) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      for (const Instruction& step : blocks_[i].block->steps) {
        if (step.group == kNoGroup || !sends(step.opcode)) continue;
        groups_[step.group].senders.push_back(static_cast<std::int32_t>(i));
      }
    }
  }

  /// The first block that cannot finish; -1 if all finish.
  std::int32_t run() {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      wake(static_cast<std::int32_t>(i));
    }
    while (!runnable_.empty()) {
      const std::int32_t block = runnable_.front();
      runnable_.pop_front();
      queued_[at(block)] = false;
      run_block(block);
    }
    for (std::size_t i = 0; i < blocks_.size(); ++i) {  // the first begun block of each rank
      if (next_step_[i] < std::ssize(blocks_[i].block->steps)) return static_cast<std::int32_t>(i);
    }
    return -1;
  }

  [[nodiscard]] StepPosition position(std::int32_t block) const {
    return {blocks_[block].rank, blocks_[block].id, next_step_[at(block)]};
  }

 private:
  void wake(std::int32_t block) {
    if (block < 0 || queued_[at(block)] || !kernels_.begun(block)) return;
    queued_[at(block)] = true;
    runnable_.push_back(block);
  }

  void run_block(std::int32_t block) {
    const auto& entry = blocks_[block];
    std::int32_t& next = next_step_[at(block)];
    const std::int32_t begin = next;
    for (; next < std::ssize(entry.block->steps); ++next) {
      const Instruction& step = entry.block->steps[at(next)];
      if (!can_run(block, step)) break;
      if (receives(step.opcode)) {
        --waiting_messages_[at(entry.receives)];
        wake(blocks_.connections()[at(entry.receives)].sender);
      }
      if (sends(step.opcode)) {
        ++waiting_messages_[at(entry.sends)];
        wake(blocks_.connections()[at(entry.sends)].receiver);
      }
    }
    if (next == begin) return;
    for (const std::int32_t waiter : waiters_[at(block)]) wake(waiter);
    waiters_[at(block)].clear();
    if (next == std::ssize(entry.block->steps)) {
      kernels_.finish(block, [this](std::int32_t begun) { wake(begun); });
    }
  }

  [[nodiscard]] bool can_run(std::int32_t block, const Instruction& step) {
    const auto& entry = blocks_[block];
    const std::size_t first = blocks_.first(at(entry.rank));
    for (const StepRef& wait : step.dependencies) {
      const std::size_t other = first + at(wait.thread_block);
      if (next_step_[other] > wait.step) continue;
      waiters_[other].push_back(block);
      return false;
    }
    if (receives(step.opcode) && waiting_messages_[at(entry.receives)] == 0) return false;
    if (!sends(step.opcode)) return true;
    if (slots_ != 0 && waiting_messages_[at(entry.sends)] >= slots_) return false;
    return step.group == kNoGroup || all_could_send(block, groups_.at(step.group));
  }

  /// Messages copied or added by switches move when all messages of the group can.
  struct Group {
    std::vector<std::int32_t> senders;  ///< blocks
    std::vector<std::int32_t> waiting;  ///< senders that are ready
  };
  bool all_could_send(std::int32_t block, Group& group) {
    if (std::ranges::find(group.waiting, block) != group.waiting.end()) {
      return group.waiting.size() == group.senders.size();
    }
    group.waiting.push_back(block);
    if (group.waiting.size() < group.senders.size()) return false;
    for (const std::int32_t other : group.waiting) {
      if (other != block) wake(other);
    }
    return true;
  }

  verifier::BlockIndex blocks_;
  verifier::KernelOrder kernels_;
  std::int32_t slots_;
  std::vector<std::int32_t> waiting_messages_;  ///< by connection
  std::vector<std::int32_t> next_step_;         ///< by block
  std::vector<bool> queued_;
  std::vector<std::vector<std::int32_t>> waiters_;
  std::unordered_map<std::int32_t, Group> groups_;
  std::deque<std::int32_t> runnable_;
};

}  // namespace

std::optional<StepPosition> find_deadlock(const ThreadBlockProgram& program, std::int32_t slots) {
  OrderExecutor executor(program, slots);
  const std::int32_t stuck = executor.run();
  if (stuck < 0) return std::nullopt;
  return executor.position(stuck);
}

}  // namespace cclgym
