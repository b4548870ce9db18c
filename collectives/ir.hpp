// The thread-block IR: what every GPU's thread blocks execute. The last of the three IRs (chunk DAG
// -> instruction DAG -> thread blocks), the one that is verified, simulated, exported and imported.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/contract.hpp"

namespace cclgym {

/// What one step of a thread block does with `count` chunks. The fused forms are what the
/// compiler's fusion pass makes of a receive followed by a send.
enum class Opcode : std::uint8_t {
  Send,                ///< src -> send peer
  Recv,                ///< recv peer -> dst
  Copy,                ///< src -> dst, local
  Reduce,              ///< dst = src + dst, local
  RecvReduceCopy,      ///< recv peer + src -> dst
  RecvCopySend,        ///< recv peer -> dst, and on to the send peer
  RecvReduceSend,      ///< recv peer + src -> send peer, not stored
  RecvReduceCopySend,  ///< recv peer + src -> dst, and on to the send peer
  Nop,                 ///< only waits for its dependencies
};

[[nodiscard]] std::string_view to_string(Opcode opcode);
[[nodiscard]] bool sends(Opcode opcode);          ///< does it send to the send peer?
[[nodiscard]] bool receives(Opcode opcode);       ///< does it receive from the recv peer?
[[nodiscard]] bool reduces(Opcode opcode);        ///< does it add?
[[nodiscard]] bool reads_source(Opcode opcode);   ///< is `source` read?
[[nodiscard]] bool writes_target(Opcode opcode);  ///< is `target` written?

/// Of a message that no switch copies or adds.
inline constexpr std::int32_t kNoGroup = -1;

/// A run of chunks in a buffer of the executing GPU.
struct BufferSlice {
  Buffer buffer = Buffer::Input;
  std::int32_t index = 0;
  friend bool operator==(const BufferSlice&, const BufferSlice&) = default;
};

/// A step of another thread block of the same GPU that must be done first.
struct StepRef {
  std::int32_t thread_block = 0;
  std::int32_t step = 0;
  friend auto operator<=>(const StepRef&, const StepRef&) = default;
};

struct Instruction {
  Opcode opcode = Opcode::Nop;
  BufferSlice source;                 ///< read iff reads_source(opcode)
  BufferSlice target;                 ///< written iff writes_target(opcode)
  std::int32_t count = 1;             ///< chunks
  std::vector<StepRef> dependencies;  ///< cross-thread-block only; steps of one block run in order
  /// Messages of one group are one transfer that starts when all of them could, and ends for all at
  /// once: one rank's to several others, which the switches on the way copy, or several ranks' to
  /// one, which they add up. What is sent, received and added is as without a group. Never fused.
  std::int32_t group = kNoGroup;
};

/// More kernels than any program has.
inline constexpr std::int32_t kMostKernels = 256;

/// At most one send peer and one receive peer, on one channel; steps run in order. Messages on a
/// connection (source rank, target rank, channel) are received in the order in which they are sent.
///
/// A program may be several kernels, launched one after another on every GPU's stream: the blocks
/// of kernel k of a GPU start when all blocks of kernels < k of that same GPU are done. Nothing
/// waits across GPUs. A connection may be used by blocks of several kernels, within one kernel by
/// at most one block at either end. What is sent in a kernel is received in the same kernel.
struct ThreadBlock {
  std::int32_t send_peer = -1;  ///< rank, -1: sends nothing
  std::int32_t recv_peer = -1;  ///< rank, -1: receives nothing
  std::int32_t channel = 0;
  std::vector<Instruction> steps;
  std::int32_t kernel = 0;  ///< launch that the block belongs to, 0 to kMostKernels - 1
};

struct GpuProgram {
  std::int32_t input_chunks = 0;
  std::int32_t output_chunks = 0;
  std::int32_t scratch_chunks = 0;
  /// A thread block's id is its index here. Kernel after kernel.
  std::vector<ThreadBlock> thread_blocks;
};

/// Whose kernels carry a program out: what a launch and a step cost depends on it.
enum class Runtime : std::uint8_t {
  Nccl,         ///< a collective that NCCL has built in
  Interpreter,  ///< MSCCL's interpreter, which reads the steps of any program
};
[[nodiscard]] std::string_view to_string(Runtime runtime);

/// Properties of a program, beside its steps, that a cost model charges for.
struct CostTraits {
  Runtime runtime = Runtime::Interpreter;
  /// True if its messages between servers pay ProtocolCost::tree_latency_s, as NCCL's trees do.
  bool tree_latency = false;
  friend bool operator==(const CostTraits&, const CostTraits&) = default;
};

/// A compiled program for all ranks.
struct ThreadBlockProgram {
  std::string name;  ///< e.g. "ring"
  Contract contract;
  std::int32_t channels = 1;
  std::vector<GpuProgram> gpus;  ///< by rank
  CostTraits traits{};

  [[nodiscard]] std::int64_t instructions() const;
  [[nodiscard]] std::int64_t thread_blocks() const;
  [[nodiscard]] int kernels() const;  ///< launches a GPU, at least 1: the highest kernel + 1
  /// The most thread blocks that a GPU has in one kernel, which must all be resident at once.
  [[nodiscard]] std::int64_t most_resident_blocks() const;
  /// Is anything copied or added by switches (Instruction::group)?
  [[nodiscard]] bool uses_switches() const;
};

/// "rank 3, thread block 1, step 4: recvReduceCopy from rank 2 on channel 0": for error messages.
[[nodiscard]] std::string describe_step(const ThreadBlockProgram& program, int rank,
                                        int thread_block, int step);

}  // namespace cclgym
