// Fixtures for tests of programs of several kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/ir.hpp"
#include "collectives/library/algorithm_library.hpp"
#include "collectives/verifier/numeric_oracle.hpp"
#include "support/index.hpp"

namespace cclgym::test {

/// A contract without requirements, for which the verifier only checks that every order gives the
/// same result.
inline Contract anything(int ranks, int input, int output) {
  return Contract::custom("anything", ranks, std::vector<int>(ix(ranks), input),
                          std::vector<int>(ix(ranks), output),
                          [](int, int) { return std::nullopt; });
}

/// The program with kernels `kernel` - 1 and `kernel` merged.
inline ThreadBlockProgram without_boundary(ThreadBlockProgram program, int kernel) {
  for (GpuProgram& gpu : program.gpus) {
    for (ThreadBlock& block : gpu.thread_blocks) {
      if (block.kernel >= kernel) --block.kernel;
    }
  }
  return program;
}

inline std::vector<Opcode> opcodes(const ThreadBlock& block) {
  std::vector<Opcode> result;
  for (const Instruction& step : block.steps) result.push_back(step.opcode);
  return result;
}

/// True if the program fails in one of a few random orders.
inline bool is_harmful(const ThreadBlockProgram& program, std::uint64_t seed, int orders) {
  for (int i = 0; i < orders; ++i) {
    const std::uint64_t order = seed * 64 + static_cast<std::uint64_t>(i);
    NumericMemory memory(program.contract, scratch_of(program), order);
    if (interpret(program, memory, order) != Outcome::Right) return true;
  }
  return false;
}

inline AlgorithmRequest composed(CollectiveKind kind, int servers, int gpus, int channels) {
  AlgorithmRequest request;
  request.collective = kind;
  request.ranks = servers * gpus;
  request.ranks_per_server = gpus;
  request.channels = channels;
  return request;
}

}  // namespace cclgym::test
