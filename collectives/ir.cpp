#include "collectives/ir.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace cclgym {

std::string_view to_string(Opcode opcode) {
  switch (opcode) {
    case Opcode::Send:
      return "send";
    case Opcode::Recv:
      return "recv";
    case Opcode::Copy:
      return "copy";
    case Opcode::Reduce:
      return "reduce";
    case Opcode::RecvReduceCopy:
      return "recvReduceCopy";
    case Opcode::RecvCopySend:
      return "recvCopySend";
    case Opcode::RecvReduceSend:
      return "recvReduceSend";
    case Opcode::RecvReduceCopySend:
      return "recvReduceCopySend";
    case Opcode::Nop:
      return "nop";
    case Opcode::DeviceCopy:
      return "deviceCopy";
  }
  return "?";
}

std::string_view to_string(Runtime runtime) {
  switch (runtime) {
    case Runtime::Nccl:
      return "NCCL";
    case Runtime::Interpreter:
      return "interpreter";
    case Runtime::Sccl:
      break;
  }
  return "SCCL";
}

std::string_view to_string(Initiator initiator) {
  return initiator == Initiator::Push ? "push" : "pull";
}

std::string_view to_string(CopyEngine engine) {
  return engine == CopyEngine::Kernel ? "kernel" : "dma";
}

std::string_view to_string(Transport transport) {
  return transport == Transport::Library ? "library" : "mpi";
}

std::string_view to_string(Reducer reducer) { return reducer == Reducer::Gpu ? "gpu" : "host"; }

std::string_view to_string(NicUse use) {
  switch (use) {
    case NicUse::Fabric:
      return "fabric";
    case NicUse::RoundRobin:
      return "round-robin";
    case NicUse::TopologyAware:
      return "topology-aware";
    case NicUse::SingleNic:
      break;
  }
  return "single-nic";
}

bool sends(Opcode opcode) {
  return opcode == Opcode::Send || opcode == Opcode::RecvCopySend ||
         opcode == Opcode::RecvReduceSend || opcode == Opcode::RecvReduceCopySend;
}

bool receives(Opcode opcode) {
  return opcode == Opcode::Recv || opcode == Opcode::RecvReduceCopy ||
         opcode == Opcode::RecvCopySend || opcode == Opcode::RecvReduceSend ||
         opcode == Opcode::RecvReduceCopySend;
}

bool reduces(Opcode opcode) {
  return opcode == Opcode::Reduce || opcode == Opcode::RecvReduceCopy ||
         opcode == Opcode::RecvReduceSend || opcode == Opcode::RecvReduceCopySend;
}

bool reads_source(Opcode opcode) {
  return opcode == Opcode::Send || opcode == Opcode::Copy || opcode == Opcode::DeviceCopy ||
         reduces(opcode);
}

bool writes_target(Opcode opcode) {
  return opcode != Opcode::Send && opcode != Opcode::RecvReduceSend && opcode != Opcode::Nop;
}

std::int64_t ThreadBlockProgram::instructions() const {
  std::int64_t total = 0;
  for (const GpuProgram& gpu : gpus) {
    for (const ThreadBlock& block : gpu.thread_blocks) {
      total += static_cast<std::int64_t>(block.steps.size());
    }
  }
  return total;
}

std::int64_t ThreadBlockProgram::thread_blocks() const {
  std::int64_t total = 0;
  for (const GpuProgram& gpu : gpus) total += static_cast<std::int64_t>(gpu.thread_blocks.size());
  return total;
}

int ThreadBlockProgram::kernels() const {
  int count = 1;
  for (const GpuProgram& gpu : gpus) {
    for (const ThreadBlock& block : gpu.thread_blocks) count = std::max(count, block.kernel + 1);
  }
  return count;
}

std::int64_t ThreadBlockProgram::most_resident_blocks() const {
  std::int64_t most = 0;
  for (const GpuProgram& gpu : gpus) {
    std::int64_t blocks = 0;
    std::int32_t kernel = 0;
    for (const ThreadBlock& block : gpu.thread_blocks) {
      blocks = block.kernel == kernel ? blocks + 1 : 1;
      kernel = block.kernel;
      most = std::max(most, blocks);
    }
  }
  return most;
}

bool ThreadBlockProgram::uses_switches() const {
  for (const GpuProgram& gpu : gpus) {
    for (const ThreadBlock& block : gpu.thread_blocks) {
      for (const Instruction& step : block.steps) {
        if (step.group != kNoGroup) return true;
      }
    }
  }
  return false;
}

std::string describe_step(const ThreadBlockProgram& program, int rank, int thread_block, int step) {
  const ThreadBlock& block = program.gpus[static_cast<std::size_t>(rank)]
                                 .thread_blocks[static_cast<std::size_t>(thread_block)];
  const Opcode opcode = block.steps[static_cast<std::size_t>(step)].opcode;
  const std::string kernel = block.kernel > 0 ? fmt::format(" of kernel {}", block.kernel) : "";
  std::string text = fmt::format("rank {}, thread block {}{}, step {}: {}", rank, thread_block,
                                 kernel, step, to_string(opcode));
  if (receives(opcode)) text += fmt::format(" from rank {}", block.recv_peer);
  if (sends(opcode)) text += fmt::format(" to rank {}", block.send_peer);
  if (receives(opcode) || sends(opcode)) text += fmt::format(" on channel {}", block.channel);
  return text;
}

}  // namespace cclgym
