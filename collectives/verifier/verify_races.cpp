#include <algorithm>
#include <deque>
#include <span>
#include <unordered_map>

#include "collectives/verifier/verify_internal.hpp"
#include "core/index.hpp"

namespace cclgym::verifier {

namespace {

/// Known completed steps of each block of one GPU: entry b covers steps [0, clock[b]).
using Clock = std::vector<std::int32_t>;

void merge(Clock& into, const Clock& from) {
  if (from.empty()) return;
  if (into.empty()) {
    into = from;
    return;
  }
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

/// Computes happens-before on one GPU by vector clocks, over a sequence of executed steps: either
/// the GPU's own steps, where messages order nothing, or the steps of all ranks, where they do.
/// Each access of a place is compared with the last write and the reads since, as in FastTrack
/// (Flanagan and Freund, PLDI 2009): without a race so far, the writes of a place are totally
/// ordered, so older accesses need not be kept.
class RaceCheck {
 public:
  RaceCheck(const BlockIndex& blocks, const MemoryLayout& layout, std::int32_t rank,
            bool follow_messages)
      : blocks_(blocks),
        layout_(layout),
        rank_(rank),
        follow_messages_(follow_messages),
        first_(blocks.first(at(rank))),
        width_(blocks.first(at(rank) + 1) - first_),
        clocks_(follow_messages ? blocks.size() : width_),
        messages_(follow_messages ? blocks.connections().size() : 0),
        last_write_(layout.begin(rank + 1) - layout.begin(rank)),
        reads_(last_write_.size()),
        racy_(last_write_.size(), false) {}

  /// Follows the execution; true if there are races.
  bool run(std::span<const ExecutedStep> execution);

  /// The places with races, in ascending order.
  [[nodiscard]] std::vector<std::size_t> racy_places() const;
  /// The GPU's steps; only if messages are followed.
  [[nodiscard]] const std::vector<OrderedStep>& steps() const { return steps_; }

 private:
  struct Access {
    std::int32_t block = -1;  ///< on the rank
    std::int32_t step = 0;
  };

  /// Index of a block in clocks_.
  [[nodiscard]] std::size_t slot(std::int32_t block) const {
    return follow_messages_ ? at(block) : at(block) - first_;
  }
  [[nodiscard]] bool ordered(const Access& earlier, const Clock& clock, std::int32_t block) const {
    return earlier.block == -1 || earlier.block == block || clock[at(earlier.block)] > earlier.step;
  }
  void find_released_steps(std::span<const ExecutedStep> execution);
  void begin_block(const BlockIndex::Entry& entry, Clock& clock);
  void acquire(const ExecutedStep& executed, const Instruction& step);
  void release(const ExecutedStep& executed, const Instruction& step);
  void access(const ExecutedStep& executed, const Instruction& step);
  void access_place(std::size_t place, bool write, const Access& now);

  [[nodiscard]] static std::uint64_t key(std::int32_t block, std::int32_t step) {
    return static_cast<std::uint64_t>(block) << 32U | static_cast<std::uint64_t>(step);
  }

  const BlockIndex& blocks_;
  const MemoryLayout& layout_;
  std::int32_t rank_;
  bool follow_messages_;
  std::size_t first_;  ///< the rank's blocks are [first_, first_ + width_)
  std::size_t width_;
  std::vector<Clock> clocks_;                          ///< empty: no step is known
  std::vector<std::deque<Clock>> messages_;            ///< by connection: the senders' clocks
  Clock ended_;                                        ///< clock of the rank's completed kernels
  std::size_t ended_blocks_ = 0;                       ///< number of its blocks covered by ended_
  std::unordered_map<std::uint64_t, Clock> released_;  ///< clocks of steps that others wait for
  std::vector<Access> last_write_;                     ///< by place of the rank
  std::vector<std::vector<Access>> reads_;             ///< by place, since the last write
  std::vector<bool> racy_;                             ///< by place of the rank
  std::vector<OrderedStep> steps_;
};

void RaceCheck::find_released_steps(std::span<const ExecutedStep> execution) {
  for (const ExecutedStep& executed : execution) {
    const auto& entry = blocks_[executed.block];
    const auto first = static_cast<std::int32_t>(blocks_.first(at(entry.rank)));
    for (const StepRef& wait : entry.block->steps[at(executed.step)].dependencies) {
      released_.try_emplace(key(first + wait.thread_block, wait.step));
    }
  }
}

bool RaceCheck::run(std::span<const ExecutedStep> execution) {
  find_released_steps(execution);
  for (std::size_t i = 0; i < execution.size(); ++i) {
    const ExecutedStep& executed = execution[i];
    const auto& entry = blocks_[executed.block];
    const Instruction& step = entry.block->steps[at(executed.step)];
    acquire(executed, step);
    if (entry.rank == rank_) {
      access(executed, step);
      if (follow_messages_) {
        steps_.push_back({entry.id, executed.step, i, clocks_[slot(executed.block)]});
      }
    }
    release(executed, step);
  }
  return std::ranges::find(racy_, true) != racy_.end();
}

std::vector<std::size_t> RaceCheck::racy_places() const {
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < racy_.size(); ++place) {
    if (racy_[place]) places.push_back(layout_.begin(rank_) + place);
  }
  return places;
}

void RaceCheck::begin_block(const BlockIndex::Entry& entry, Clock& clock) {
  // Blocks of earlier kernels are done, so their clocks are final.
  for (; blocks_[first_ + ended_blocks_].block->kernel < entry.block->kernel; ++ended_blocks_) {
    merge(ended_, clocks_[slot(static_cast<std::int32_t>(first_ + ended_blocks_))]);
  }
  merge(clock, ended_);
}

void RaceCheck::acquire(const ExecutedStep& executed, const Instruction& step) {
  const auto& entry = blocks_[executed.block];
  Clock& clock = clocks_[slot(executed.block)];
  if (entry.rank == rank_ && clock.empty()) clock.assign(width_, 0);
  // Messages stay within their kernel, so on other ranks the order of kernels adds nothing.
  if (entry.rank == rank_ && entry.block->kernel > 0 && executed.step == 0) {
    begin_block(entry, clock);
  }
  const auto first = static_cast<std::int32_t>(blocks_.first(at(entry.rank)));
  for (const StepRef& wait : step.dependencies) {
    merge(clock, released_.at(key(first + wait.thread_block, wait.step)));
  }
  if (follow_messages_ && receives(step.opcode)) {
    auto& queue = messages_[at(entry.receives)];
    merge(clock, queue.front());
    queue.pop_front();
  }
}

void RaceCheck::release(const ExecutedStep& executed, const Instruction& step) {
  const auto& entry = blocks_[executed.block];
  Clock& clock = clocks_[slot(executed.block)];
  if (entry.rank == rank_) clock[at(entry.id)] = executed.step + 1;
  if (!released_.empty()) {
    const auto wanted = released_.find(key(executed.block, executed.step));
    if (wanted != released_.end()) wanted->second = clock;
  }
  if (follow_messages_ && sends(step.opcode)) messages_[at(entry.sends)].push_back(clock);
}

void RaceCheck::access(const ExecutedStep& executed, const Instruction& step) {
  const Access now{blocks_[executed.block].id, executed.step};
  const auto each = [&](const BufferSlice& slice, bool write) {
    const std::size_t place =
        layout_.place(rank_, slice.buffer, slice.index) - layout_.begin(rank_);
    for (std::size_t k = 0; k < at(step.count); ++k) access_place(place + k, write, now);
  };
  if (reads_source(step.opcode)) each(step.source, false);
  if (writes_target(step.opcode)) each(step.target, true);  // covers a reduction's read
}

void RaceCheck::access_place(std::size_t place, bool write, const Access& now) {
  const Clock& clock = clocks_[slot(static_cast<std::int32_t>(first_) + now.block)];
  auto& reads = reads_[place];
  const auto races = [&](const Access& earlier) { return !ordered(earlier, clock, now.block); };
  if (races(last_write_[place]) || (write && std::ranges::any_of(reads, races))) {
    racy_[place] = true;
  }
  if (write) {
    last_write_[place] = now;
    reads.clear();
    return;
  }
  for (Access& read : reads) {
    if (read.block == now.block) {
      read = now;
      return;
    }
  }
  reads.push_back(now);
}

}  // namespace

void check_races(const ThreadBlockProgram& program, const BlockIndex& blocks,
                 const std::vector<ExecutedStep>& execution, std::int32_t slots,
                 Problems& problems) {
  ValueLog log;
  const MemoryLayout layout(program.contract, scratch_chunks(program));
  const std::size_t ranks = program.gpus.size();
  // Sorts the execution by rank; the steps of a rank stay in order.
  std::vector<std::size_t> first(ranks + 1, 0);
  for (const ExecutedStep& executed : execution) ++first[at(blocks[executed.block].rank) + 1];
  for (std::size_t rank = 0; rank < ranks; ++rank) first[rank + 1] += first[rank];
  std::vector<ExecutedStep> by_rank(execution.size());
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  for (const ExecutedStep& executed : execution) {
    by_rank[next[at(blocks[executed.block].rank)]++] = executed;
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (program.gpus[rank].thread_blocks.size() < 2) continue;
    const auto number = static_cast<std::int32_t>(rank);
    const std::span<const ExecutedStep> own(by_rank.data() + first[rank],
                                            first[rank + 1] - first[rank]);
    if (!RaceCheck(blocks, layout, number, false).run(own)) continue;
    RaceCheck races(blocks, layout, number, true);
    if (!races.run(execution)) continue;
    if (log.first.empty()) log = log_values(program, blocks, slots);
    check_racy_places(program, number, races.steps(), races.racy_places(), log, problems);
  }
}

}  // namespace cclgym::verifier
