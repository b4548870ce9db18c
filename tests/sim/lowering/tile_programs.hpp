// Small hand-written programs for the tests of tiles and slots.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collectives/ir.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym::test {

/// A program of unsplit chunks that is used only for timing, so its data does not matter.
class ProgramByHand {
 public:
  ProgramByHand(int ranks, int chunks) : program_(std::make_shared<ThreadBlockProgram>()) {
    program_->name = "by hand";
    program_->contract = Contract::make(CollectiveKind::Broadcast, ranks, chunks);
    program_->gpus.resize(static_cast<std::size_t>(ranks));
    for (GpuProgram& gpu : program_->gpus) gpu.input_chunks = gpu.output_chunks = chunks;
  }
  /// Adds a thread block with these steps to a rank; returns its index.
  int add_block(int rank, int recv_peer, int send_peer, std::vector<Instruction> steps) {
    ThreadBlock block;
    block.recv_peer = recv_peer;
    block.send_peer = send_peer;
    block.steps = std::move(steps);
    auto& blocks = program_->gpus[static_cast<std::size_t>(rank)].thread_blocks;
    blocks.push_back(std::move(block));
    return static_cast<int>(blocks.size()) - 1;
  }
  [[nodiscard]] std::shared_ptr<const ThreadBlockProgram> get() const { return program_; }

 private:
  std::shared_ptr<ThreadBlockProgram> program_;
};

inline Instruction step(Opcode opcode, std::vector<StepRef> dependencies = {}) {
  Instruction instruction;
  instruction.opcode = opcode;
  instruction.dependencies = std::move(dependencies);
  return instruction;
}

/// GPUs in a row. Link k joins GPU k to GPU k + 1 with bandwidth k.
inline std::shared_ptr<const Fabric> row_fabric(const std::vector<double>& bandwidths_Bps,
                                                double latency_s) {
  FabricBuilder builder("row");
  for (std::size_t gpu = 0; gpu <= bandwidths_Bps.size(); ++gpu) {
    builder.add_node({.name = "gpu" + std::to_string(gpu)});
  }
  for (std::size_t link = 0; link < bandwidths_Bps.size(); ++link) {
    builder.add_duplex_link({.source = static_cast<NodeId>(link),
                             .target = static_cast<NodeId>(link) + 1,
                             .latency_s = latency_s,
                             .unit_bandwidth_Bps = bandwidths_Bps[link]});
  }
  return builder.build();
}

}  // namespace cclgym::test
