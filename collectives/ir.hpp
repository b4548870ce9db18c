// The thread-block IR: the steps that every GPU's thread blocks execute. It is the last of the
// three IRs (chunk DAG -> instruction DAG -> thread blocks) and the one that is verified,
// simulated, exported and imported.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/contract.hpp"

namespace cclgym {

/// Operation of one step of a thread block on `count` chunks. The compiler's fusion pass makes the
/// fused forms of a receive followed by a send.
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
[[nodiscard]] bool sends(Opcode opcode);          ///< true if it sends to the send peer
[[nodiscard]] bool receives(Opcode opcode);       ///< true if it receives from the recv peer
[[nodiscard]] bool reduces(Opcode opcode);        ///< true if it adds
[[nodiscard]] bool reads_source(Opcode opcode);   ///< true if it reads `source`
[[nodiscard]] bool writes_target(Opcode opcode);  ///< true if it writes `target`

/// Group of messages that no switch copies or adds.
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
  std::vector<StepRef> dependencies;  ///< on other thread blocks only
  /// The messages of a group are one transfer that starts when all of them can start, and ends for
  /// all at once: from one rank to several others, copied by the switches on the route, or from
  /// several ranks to one, added by the switches. The data sent, received and added is the same as
  /// without a group. Never fused.
  std::int32_t group = kNoGroup;
};

/// Upper bound on the kernels of a program.
inline constexpr std::int32_t kMostKernels = 256;

/// A thread block has at most one send peer and one receive peer, on one channel; its steps run in
/// order. Messages on a connection (source rank, target rank, channel) are received in the order in
/// which they are sent.
///
/// A program may consist of several kernels, launched one after another on every GPU's stream: the
/// blocks of kernel k of a GPU start when all blocks of kernels < k of the same GPU are done.
/// Kernels do not wait across GPUs. A connection may be used by blocks of several kernels, but
/// within one kernel by at most one block at either end. A message is sent and received in the same
/// kernel.
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
  /// Blocks in the order of kernels. A thread block's id is its index here.
  std::vector<ThreadBlock> thread_blocks;
};

/// Software whose kernels run a program: the costs of a launch and a step depend on it.
enum class Runtime : std::uint8_t {
  Nccl,         ///< a built-in collective of NCCL
  Interpreter,  ///< MSCCL's interpreter, which reads the steps of any program
};
[[nodiscard]] std::string_view to_string(Runtime runtime);

/// Properties of a program, besides its steps, that a cost model charges for.
struct CostTraits {
  Runtime runtime = Runtime::Interpreter;
  /// True if its messages between nodes pay ProtocolCost::tree_latency_s, as NCCL's trees do.
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
  [[nodiscard]] int kernels() const;  ///< launches per GPU, at least 1: the highest kernel + 1
  /// Maximum number of thread blocks of one GPU in one kernel, which must all be resident at once.
  [[nodiscard]] std::int64_t most_resident_blocks() const;
  /// True if switches copy or add messages (Instruction::group).
  [[nodiscard]] bool uses_switches() const;
};

/// "rank 3, thread block 1, step 4: recvReduceCopy from rank 2 on channel 0": for error messages.
[[nodiscard]] std::string describe_step(const ThreadBlockProgram& program, int rank,
                                        int thread_block, int step);

}  // namespace cclgym
