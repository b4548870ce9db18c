#include "collectives/outline.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "core/index.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kLongestBody = 4;
constexpr std::size_t kFewestTimes = 8;

// Computes how far each wait advances from step `earlier` to step `later`; false if the steps
// differ in anything else.
bool strides(const Instruction& earlier, const Instruction& later,
             std::vector<std::int32_t>& result) {
  if (earlier.group != kNoGroup || later.group != kNoGroup) return false;
  if (earlier.opcode != later.opcode || earlier.count != later.count ||
      earlier.dependencies.size() != later.dependencies.size()) {
    return false;
  }
  for (std::size_t i = 0; i < earlier.dependencies.size(); ++i) {
    if (earlier.dependencies[i].thread_block != later.dependencies[i].thread_block) return false;
    result.push_back(later.dependencies[i].step - earlier.dependencies[i].step);
  }
  return true;
}

// Number of consecutive repetitions of steps [first, first + body) in which all waits advance
// evenly. Stores their strides in `stride`.
std::size_t repetitions(std::span<const Instruction> steps, std::size_t first, std::size_t body,
                        std::vector<std::int32_t>& stride) {
  std::vector<std::int32_t> next;
  std::size_t times = 1;
  for (; first + (times + 1) * body <= steps.size(); ++times) {
    next.clear();
    bool alike = true;
    for (std::size_t i = 0; i < body && alike; ++i) {
      const std::size_t step = first + times * body + i;
      alike = strides(steps[step - body], steps[step], next);
    }
    if (times == 1) stride = next;
    if (!alike || next != stride) break;
  }
  return times;
}

class Outliner {
 public:
  Outliner(ProgramOutline& outline, std::span<const Instruction> steps)
      : outline_(outline), steps_(steps) {}

  void run(bool fold) {
    std::size_t straight = 0;  // first step that is not in the outline yet
    std::size_t first = 0;
    while (fold && first + kFewestTimes <= steps_.size()) {
      std::size_t body = 0;
      std::size_t covered = 0;
      for (std::size_t length = 1; length <= kLongestBody; ++length) {
        const std::size_t times = repetitions(steps_, first, length, trial_);
        if (times < kFewestTimes || times * length <= covered) continue;
        body = length;
        covered = times * length;
        stride_.swap(trial_);
      }
      if (body == 0) {
        ++first;
        continue;
      }
      add_straight(straight, first);
      add_loop(first, body, covered / body);
      straight = first += covered;
    }
    add_straight(straight, steps_.size());
  }

 private:
  void add_straight(std::size_t begin, std::size_t end) {
    if (begin == end) return;
    outline_.begin_loop(1);
    for (std::size_t i = begin; i < end; ++i) add_step(steps_[i], {});
  }

  void add_loop(std::size_t first, std::size_t body, std::size_t times) {
    outline_.begin_loop(static_cast<std::int32_t>(times));
    std::span<const std::int32_t> strides = stride_;
    for (std::size_t i = 0; i < body; ++i) {
      const std::size_t waits = steps_[first + i].dependencies.size();
      add_step(steps_[first + i], strides.first(waits));
      strides = strides.subspan(waits);
    }
  }

  // `strides`: by wait; empty outside loops.
  void add_step(const Instruction& step, std::span<const std::int32_t> strides) {
    waits_.clear();
    for (std::size_t i = 0; i < step.dependencies.size(); ++i) {
      const StepRef& dependency = step.dependencies[i];
      waits_.push_back(
          {dependency.thread_block, dependency.step, strides.empty() ? 0 : strides[i]});
    }
    outline_.add_step(step.opcode, step.count, waits_, step.group, step.answers);
  }

  ProgramOutline& outline_;
  std::span<const Instruction> steps_;
  std::vector<std::int32_t> stride_;  // by wait of the current loop
  std::vector<std::int32_t> trial_;
  std::vector<OutlineWait> waits_;
};

}  // namespace

void ProgramOutline::begin_block(const OutlineBlock& block) {
  blocks.push_back(block);
  blocks.back().steps = 0;
  blocks.back().first_loop = static_cast<std::uint32_t>(loops.size());
  channels = std::max(channels, block.channel + 1);
}

void ProgramOutline::begin_loop(std::int32_t times) {
  loops.push_back({blocks.back().steps, static_cast<std::uint32_t>(steps.size()), 0, times});
}

void ProgramOutline::add_step(Opcode opcode, std::int32_t count,
                              std::span<const OutlineWait> step_waits, std::int32_t group,
                              std::int32_t answers) {
  steps.push_back({opcode, count, static_cast<std::uint32_t>(waits.size()), group, answers});
  waits.insert(waits.end(), step_waits.begin(), step_waits.end());
  ++loops.back().body;
  blocks.back().steps += loops.back().times;
}

void ProgramOutline::finish() {
  first_block_.push_back(static_cast<std::uint32_t>(blocks.size()));
  blocks.push_back({.first_loop = static_cast<std::uint32_t>(loops.size())});
  steps.push_back({.first_wait = static_cast<std::uint32_t>(waits.size())});
}

const OutlineLoop& ProgramOutline::loop_at(std::uint32_t block, std::int32_t step) const {
  const auto own = loops_of(block);
  return *std::prev(std::upper_bound(
      own.begin(), own.end(), step,
      [](std::int32_t number, const OutlineLoop& loop) { return number < loop.first_step; }));
}

std::int32_t ProgramOutline::number_of(std::uint32_t block, std::uint32_t step,
                                       std::int32_t iteration) const {
  const auto own = loops_of(block);
  const OutlineLoop& loop = *std::prev(std::upper_bound(
      own.begin(), own.end(), step,
      [](std::uint32_t index, const OutlineLoop& candidate) { return index < candidate.first; }));
  return loop.first_step + iteration * loop.body + static_cast<std::int32_t>(step - loop.first);
}

const OutlineStep& ProgramOutline::step_at(std::uint32_t block, std::int32_t step) const {
  const OutlineLoop& loop = loop_at(block, step);
  return steps[loop.first + at((step - loop.first_step) % loop.body)];
}

std::int64_t ProgramOutline::instructions() const {
  std::int64_t total = 0;
  for (const OutlineBlock& block : blocks) total += block.steps;
  return total;
}

int ProgramOutline::kernels() const {
  int count = 1;
  for (const OutlineBlock& block : blocks) count = std::max(count, block.kernel + 1);
  return count;
}

std::int64_t ProgramOutline::launched_blocks() const {
  return alike_channels *
         (traits.runtime == Runtime::Nccl ? std::int64_t{channels} : most_resident_blocks());
}

std::int64_t ProgramOutline::most_resident_blocks() const {
  std::int64_t most = 0;
  for (int rank = 0; rank < ranks(); ++rank) {
    std::int64_t resident = 0;
    std::int32_t kernel = 0;
    for (std::uint32_t b = first_block(rank); b < first_block(rank + 1); ++b) {
      resident = blocks[b].kernel == kernel ? resident + 1 : 1;
      kernel = blocks[b].kernel;
      most = std::max(most, resident);
    }
  }
  return most;
}

std::int32_t ProgramOutline::longest_message() const {
  std::int32_t longest = 1;
  for (const OutlineStep& step : steps) {
    if (sends(step.opcode)) longest = std::max(longest, step.count);
  }
  return longest;
}

bool ProgramOutline::has_loops() const {
  return std::any_of(loops.begin(), loops.end(),
                     [](const OutlineLoop& loop) { return loop.times > 1; });
}

ProgramOutline ProgramOutline::unrolled() const {
  ProgramOutline result(name, contract, traits);
  result.steps.reserve(static_cast<std::size_t>(instructions()) + 1);
  result.gates = gates;
  result.alike_channels = alike_channels;
  std::vector<OutlineWait> moved;
  for (int rank = 0; rank < ranks(); ++rank) {
    result.begin_rank();
    for (std::uint32_t b = first_block(rank); b < first_block(rank + 1); ++b) {
      result.begin_block(blocks[b]);
      if (blocks[b].steps > 0) result.begin_loop(1);
      for (const OutlineLoop& loop : loops_of(b)) {
        for (std::int32_t i = 0; i < loop.times; ++i) {
          for (std::uint32_t s = loop.first; s < loop.first + at(loop.body); ++s) {
            moved.clear();
            for (const OutlineWait& wait : waits_of(s)) {
              moved.push_back({wait.thread_block, wait.step + i * wait.stride, 0});
            }
            result.add_step(steps[s].opcode, steps[s].count, moved, steps[s].group,
                            steps[s].answers);
          }
        }
      }
    }
  }
  result.finish();
  return result;
}

ProgramOutline outline_of(const ThreadBlockProgram& program, bool fold) {
  ProgramOutline outline(program.name, program.contract, program.traits);
  for (const GpuProgram& gpu : program.gpus) {
    outline.begin_rank();
    for (const ThreadBlock& block : gpu.thread_blocks) {
      outline.begin_block({.send_peer = block.send_peer,
                           .recv_peer = block.recv_peer,
                           .channel = block.channel,
                           .kernel = block.kernel});
      Outliner(outline, block.steps).run(fold);
    }
  }
  outline.finish();
  outline.channels = program.channels;
  outline.gates = program.gates;
  return outline;
}

std::string describe_step(const ProgramOutline& program, int rank, int thread_block, int step) {
  const OutlineBlock& block = program.block(rank, thread_block);
  const Opcode opcode =
      program.step_at(program.first_block(rank) + static_cast<std::uint32_t>(thread_block), step)
          .opcode;
  const std::string kernel = block.kernel > 0 ? fmt::format(" of kernel {}", block.kernel) : "";
  std::string text = fmt::format("rank {}, thread block {}{}, step {}: {}", rank, thread_block,
                                 kernel, step, to_string(opcode));
  if (receives(opcode)) text += fmt::format(" from rank {}", block.recv_peer);
  if (sends(opcode)) text += fmt::format(" to rank {}", block.send_peer);
  if (receives(opcode) || sends(opcode)) text += fmt::format(" on channel {}", block.channel);
  return text;
}

}  // namespace cclgym
