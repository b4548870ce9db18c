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
  DeviceCopy,          ///< src -> dst, local, by a copy kernel of the whole GPU
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
  /// Group that adds the data which the messages of this group copy to its senders: the switches
  /// send the sum back as soon as they have it, so that both groups are one transfer.
  std::int32_t answers = kNoGroup;
};

/// Upper bound on the kernels of a program.
inline constexpr std::int32_t kMostKernels = 256;

/// A thread block has at most one send peer and one receive peer, on one channel; its steps run in
/// order. Messages on a connection (source rank, target rank, channel) are received in the order in
/// which they are sent.
///
/// A program may consist of several kernels, launched one after another on every GPU's stream: the
/// blocks of kernel k of a GPU start when all blocks of kernels < k of the same GPU are done.
/// Kernels wait across GPUs only where the program has a gate (KernelGate). A connection may be
/// used by blocks of several kernels, but within one kernel by at most one block at either end. A
/// message is sent and received in the same kernel.
struct ThreadBlock {
  std::int32_t send_peer = -1;  ///< rank, -1: sends nothing
  std::int32_t recv_peer = -1;  ///< rank, -1: receives nothing
  std::int32_t channel = 0;
  std::vector<Instruction> steps;
  std::int32_t kernel = 0;  ///< launch that the block belongs to, 0 to kMostKernels - 1
};

/// A wait across GPUs that is no message: kernel `kernel` of `rank` starts when that kernel, and
/// all earlier ones, of rank `after` are done, as if a host launched it then.
struct KernelGate {
  std::int32_t rank = 0;
  std::int32_t kernel = 0;
  std::int32_t after = 0;  ///< another rank
  friend auto operator<=>(const KernelGate&, const KernelGate&) = default;
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
  Sccl,         ///< a kernel that SCCL generates for the program: nothing is interpreted
};
[[nodiscard]] std::string_view to_string(Runtime runtime);

/// Side that moves the data of a message inside a node (SCCL, section 4).
enum class Initiator : std::uint8_t {
  Push,  ///< the sender writes
  Pull,  ///< the receiver reads: its requests share the links with the answers
};
[[nodiscard]] std::string_view to_string(Initiator initiator);

/// Hardware that moves the data of a message inside a node (SCCL, section 4).
enum class CopyEngine : std::uint8_t {
  Kernel,  ///< threads of the kernel load and store
  Dma,     ///< a DMA engine, to which the host gives each message (cudaMemcpy)
};
[[nodiscard]] std::string_view to_string(CopyEngine engine);

/// Software that moves messages between nodes.
enum class Transport : std::uint8_t {
  Library,  ///< the collective library's own, such as NCCL's proxy
  Mpi,      ///< MPI point to point, which the host calls for each message (PCCL, section IV-B)
};
[[nodiscard]] std::string_view to_string(Transport transport);

/// Processor that adds the data of a message between nodes to the receiver's.
enum class Reducer : std::uint8_t {
  Gpu,
  Host,  ///< after a copy to its memory, as Cray MPICH does (PCCL, section III)
};
[[nodiscard]] std::string_view to_string(Reducer reducer);

/// NICs of a program's messages between nodes.
enum class NicUse : std::uint8_t {
  Fabric,         ///< as the fabric binds them
  RoundRobin,     ///< GPU k of a node uses NIC k modulo their number
  TopologyAware,  ///< each GPU uses the least loaded of its nearest NICs
  SingleNic,      ///< all GPUs of a node use its first NIC
};
[[nodiscard]] std::string_view to_string(NicUse use);

/// Properties of a program, besides its steps, that a cost model charges for.
struct CostTraits {
  Runtime runtime = Runtime::Interpreter;
  /// True if its messages between nodes pay ProtocolCost::tree_latency_s, as NCCL's trees do.
  bool tree_latency = false;
  Initiator initiator = Initiator::Push;
  CopyEngine copy = CopyEngine::Kernel;
  /// True if messages go to their place in the receiver's buffers, not through slots of a FIFO.
  bool direct = false;
  Transport transport = Transport::Library;
  Reducer reducer = Reducer::Gpu;
  NicUse nic = NicUse::Fabric;
  friend bool operator==(const CostTraits&, const CostTraits&) = default;
};

/// A compiled program for all ranks.
struct ThreadBlockProgram {
  std::string name;  ///< e.g. "ring"
  Contract contract;
  std::int32_t channels = 1;
  std::vector<GpuProgram> gpus;  ///< by rank
  CostTraits traits{};
  std::vector<KernelGate> gates{};

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
