// The outline of a thread-block program: its structure and costs, without its effect on the data.
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

/// An instruction without its buffer locations.
struct OutlineStep {
  Opcode opcode = Opcode::Nop;
  std::int32_t count = 1;  ///< chunks
  std::uint32_t first_wait =
      0;  ///< index into ProgramOutline::waits; those of the next step follow
  std::int32_t group = kNoGroup;    ///< Instruction::group; steps of loops have none
  std::int32_t answers = kNoGroup;  ///< Instruction::answers
};

/// `body` steps that a thread block runs `times` times.
struct OutlineLoop {
  std::int32_t first_step = 0;  ///< number within the block, in execution order
  std::uint32_t first = 0;      ///< index into ProgramOutline::steps
  std::int32_t body = 0;
  std::int32_t times = 1;
};

struct OutlineBlock {
  std::int32_t send_peer = -1;
  std::int32_t recv_peer = -1;
  std::int32_t channel = 0;
  std::int32_t kernel = 0;
  std::int32_t steps = 0;        ///< executed in total: sum of body * times over its loops
  std::uint32_t first_loop = 0;  ///< index into ProgramOutline::loops; those of the next follow
};

/// A program with its loops folded: a ring over n ranks has a handful of steps for any n. It lists
/// the steps with their message sizes and waits, but not the chunks and buffers that they touch.
/// Every program has an outline (outline_of); the simulator lowers nothing else.
///
/// Blocks are numbered, and added, rank by rank; finish() must be called at the end.
class ProgramOutline {
 public:
  ProgramOutline(std::string program_name, Contract program_contract,
                 const CostTraits& program_traits)
      : name(std::move(program_name)),
        contract(std::move(program_contract)),
        traits(program_traits) {}

  // --- building ---
  /// The following blocks belong to the next rank, starting at 0.
  void begin_rank() { first_block_.push_back(static_cast<std::uint32_t>(blocks.size())); }
  /// The block's `steps`, loops and steps are filled in as they are added.
  void begin_block(const OutlineBlock& block);
  /// The following steps are the body of a loop; times = 1: straight-line code.
  void begin_loop(std::int32_t times);
  void add_step(Opcode opcode, std::int32_t count, std::span<const OutlineWait> step_waits = {},
                std::int32_t group = kNoGroup, std::int32_t answers = kNoGroup);
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
  /// The loop in which the block runs step number `step`.
  [[nodiscard]] const OutlineLoop& loop_at(std::uint32_t block, std::int32_t step) const;
  /// Step number under which the block runs `step`, an index into `steps`, in an iteration of its
  /// loop.
  [[nodiscard]] std::int32_t number_of(std::uint32_t block, std::uint32_t step,
                                       std::int32_t iteration) const;
  /// The step that the block runs as step number `step`.
  [[nodiscard]] const OutlineStep& step_at(std::uint32_t block, std::int32_t step) const;

  [[nodiscard]] std::int64_t instructions() const;  ///< executed by all ranks
  [[nodiscard]] int kernels() const;                ///< launches per GPU, at least 1
  /// Maximum number of thread blocks of one GPU in one kernel, which must all be resident at once.
  [[nodiscard]] std::int64_t most_resident_blocks() const;
  /// Thread blocks that are launched on such a GPU at once, those of alike channels included. NCCL
  /// launches one block per channel, which divides its warps among the peers.
  [[nodiscard]] std::int64_t launched_blocks() const;
  [[nodiscard]] std::int32_t longest_message() const;  ///< chunks, at least 1
  [[nodiscard]] bool has_loops() const;                ///< true if a loop runs more than once
  /// The same program without loops.
  [[nodiscard]] ProgramOutline unrolled() const;

  std::string name;
  Contract contract;
  CostTraits traits;
  std::int32_t channels = 1;
  /// Channels of the program that each channel here stands for: they make the same steps between
  /// the same ranks, and have equal parts of the data.
  std::int32_t alike_channels = 1;
  /// The numbers that these channels have in the program differ by a multiple of this.
  std::int32_t alike_period = 1;
  std::vector<OutlineBlock> blocks;  ///< with an end marker for the loops of the last block
  std::vector<OutlineLoop> loops;
  std::vector<OutlineStep> steps;  ///< with an end marker for the waits of the last step
  std::vector<OutlineWait> waits;
  std::vector<KernelGate> gates;

 private:
  std::vector<std::uint32_t> first_block_;  ///< by rank
};

/// The outline of a program. `fold`: turns repeated steps of a block into loops: bodies of up to 4
/// steps, repeated at least 8 times, whose iterations wait for evenly advancing steps of the same
/// blocks. Cost: linear in the steps.
[[nodiscard]] ProgramOutline outline_of(const ThreadBlockProgram& program, bool fold = true);

/// "rank 3, thread block 1, step 4: recvReduceCopy from rank 2 on channel 0": for error messages.
[[nodiscard]] std::string describe_step(const ProgramOutline& program, int rank, int thread_block,
                                        int step);

}  // namespace cclgym
