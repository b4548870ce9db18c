// An independent oracle for the tests: runs thread-block programs on numbers instead of symbols, in
// a random order of execution. Shares only the contract with the compiler and the verifier.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "collectives/ir.hpp"
#include "collectives/program.hpp"

namespace cclgym::test {

/// Buffers of all ranks as 64-bit numbers; sums are modulo 2^64. Every place starts with its own
/// random number: an input chunk where the contract has one, garbage elsewhere.
class NumericMemory {
 public:
  NumericMemory(const Contract& contract, const std::vector<int>& scratch_chunks,
                std::uint64_t seed);

  [[nodiscard]] std::uint64_t& at(const Location& location);
  /// True if every output holds the sum of the chunks that the contract requires.
  [[nodiscard]] bool outputs_right();
  friend bool operator==(const NumericMemory& a, const NumericMemory& b) {
    return a.buffers_ == b.buffers_;
  }

 private:
  using Buffers = std::array<std::vector<std::uint64_t>, 3>;
  const Contract* contract_;
  std::vector<Buffers> buffers_;  ///< by rank; a buffer that lies inside another one stays empty
  std::vector<std::vector<std::uint64_t>> inputs_;  ///< input chunks by rank
};

enum class Outcome : std::uint8_t {
  Right,
  WrongData,  ///< an output is wrong, or the counts of a message and its receive differ
  Stuck,      ///< not all steps ran, or a message was left over
};

/// Runs the program once. Half of the seeds choose each next block at random. The others give the
/// blocks random priorities and always run the first block that can continue, so that some blocks
/// run as far ahead of the others as the program allows.
Outcome interpret(const ThreadBlockProgram& program, NumericMemory& memory, std::uint64_t seed);

/// Executes the operations one after another.
void execute_in_order(const Program& program, NumericMemory& memory);

[[nodiscard]] std::vector<int> scratch_of(const ThreadBlockProgram& program);

}  // namespace cclgym::test
