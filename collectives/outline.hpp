// The outline of a thread-block program: what it costs to run, without what it does to the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collectives/contract.hpp"
#include "collectives/ir.hpp"

namespace cclgym {

/// A step of another thread block of the same GPU that must be done first. Iteration i of a loop
/// waits for step `step + i * stride`.
struct OutlineWait {
  std::int32_t thread_block = 0;
  std::int32_t step = 0;
  std::int32_t stride = 0;
  friend auto operator<=>(const OutlineWait&, const OutlineWait&) = default;
};

/// An instruction without its places.
struct OutlineStep {
  Opcode opcode = Opcode::Nop;
  std::int32_t count = 1;  ///< chunks
  std::uint32_t first_wait =
      0;  ///< index into ProgramOutline::waits; those of the next step follow
  std::int32_t group = kNoGroup;  ///< Instruction::group; steps of loops have none
};

/// `body` steps that a thread block goes through `times` times.
struct OutlineLoop {
  std::int32_t first_step = 0;  ///< of the block, counted as it runs them
  std::uint32_t first = 0;      ///< index into ProgramOutline::steps
  std::int32_t body = 0;
  std::int32_t times = 1;
};

struct OutlineBlock {
  std::int32_t send_peer = -1;
  std::int32_t recv_peer = -1;
  std::int32_t channel = 0;
  std::int32_t kernel = 0;
  std::int32_t steps = 0;        ///< that it runs: over all its loops, body * times
  std::uint32_t first_loop = 0;  ///< index into ProgramOutline::loops; those of the next follow
};

/// A program with its loops folded: the steps of a ring over n ranks are a handful, however large n
/// is. It says which steps there are, how much they send, and what they wait for; not which chunks
/// of which buffers they touch. Every program has an outline (outline_of); the simulator lowers
/// nothing else.
///
/// Blocks are numbered over all ranks, rank after rank. Built in that order; finish() when done.
class ProgramOutline {
 public:
  ProgramOutline(std::string program_name, Contract program_contract,
                 const CostTraits& program_traits)
      : name(std::move(program_name)),
        contract(std::move(program_contract)),
        traits(program_traits) {}

  // --- building ---
  /// The blocks from here on belong to the next rank, from 0 on.
  void begin_rank() { first_block_.push_back(static_cast<std::uint32_t>(blocks.size())); }
  /// `steps`, loops and steps of it are filled in as they come.
  void begin_block(const OutlineBlock& block);
  /// The steps from here on are the body of a loop; times = 1: straight code.
  void begin_loop(std::int32_t times);
  void add_step(Opcode opcode, std::int32_t count, std::span<const OutlineWait> step_waits = {},
                std::int32_t group = kNoGroup);
  void finish();

  // --- reading ---
  [[nodiscard]] int ranks() const { return static_cast<int>(first_block_.size()) - 1; }
  /// The blocks of a rank are [first_block(rank), first_block(rank + 1)).
  [[nodiscard]] std::uint32_t first_block(int rank) const {
    return first_block_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] const OutlineBlock& block(int rank, int thread_block) const {
    return blocks[first_block(rank) + static_cast<std::uint32_t>(thread_block)];
  }
  [[nodiscard]] std::span<const OutlineLoop> loops_of(std::uint32_t block) const {
    return {loops.data() + blocks[block].first_loop, loops.data() + blocks[block + 1].first_loop};
  }
  [[nodiscard]] std::span<const OutlineWait> waits_of(std::uint32_t step) const {
    return {waits.data() + steps[step].first_wait, waits.data() + steps[step + 1].first_wait};
  }
  /// The loop in which the block runs its step number `step`.
  [[nodiscard]] const OutlineLoop& loop_at(std::uint32_t block, std::int32_t step) const;
  /// As which number the block runs step `step`, an index into `steps`, in an iteration of its
  /// loop.
  [[nodiscard]] std::int32_t number_of(std::uint32_t block, std::uint32_t step,
                                       std::int32_t iteration) const;
  /// What the block runs as its step number `step`.
  [[nodiscard]] const OutlineStep& step_at(std::uint32_t block, std::int32_t step) const;

  [[nodiscard]] std::int64_t instructions() const;  ///< that all ranks run
  [[nodiscard]] int kernels() const;                ///< launches a GPU, at least 1
  /// The most thread blocks that a GPU has in one kernel, which must all be resident at once.
  [[nodiscard]] std::int64_t most_resident_blocks() const;
  [[nodiscard]] std::int32_t longest_message() const;  ///< chunks, at least 1
  [[nodiscard]] bool has_loops() const;                ///< is anything gone through twice?
  /// The same program without loops: every step stands for itself.
  [[nodiscard]] ProgramOutline unrolled() const;

  std::string name;
  Contract contract;
  CostTraits traits;
  std::int32_t channels = 1;
  std::vector<OutlineBlock> blocks;  ///< and one more, which ends the last one's loops
  std::vector<OutlineLoop> loops;
  std::vector<OutlineStep> steps;  ///< and one more, which ends the last one's waits
  std::vector<OutlineWait> waits;

 private:
  std::vector<std::uint32_t> first_block_;  ///< by rank
};

/// The outline of a program. `fold`: are steps that repeat in one block made loops? Found are
/// bodies of up to 4 steps that repeat at least 8 times, each iteration waiting for steps of the
/// same blocks that advance evenly. Cost: linear in the steps.
[[nodiscard]] ProgramOutline outline_of(const ThreadBlockProgram& program, bool fold = true);

/// "rank 3, thread block 1, step 4: recvReduceCopy from rank 2 on channel 0": for error messages.
[[nodiscard]] std::string describe_step(const ProgramOutline& program, int rank, int thread_block,
                                        int step);

}  // namespace cclgym
